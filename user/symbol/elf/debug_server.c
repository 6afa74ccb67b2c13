/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loads libdebuginfod, and asks by it. */
#include "symbol/elf/debug_server.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct library {
	debuginfod_client *(*begin)(void);
	int (*find)(debuginfod_client *client, const unsigned char *id, int size, char **ret_path);
	void (*end)(debuginfod_client *client);
} library;
static bool loaded;

struct debug_servers {
	debuginfod_client *client;
	int failed; /* why they are not asked any more, -errno; 0: they are */
};

static bool find(void *handle, const char *name, void *function)
{
	return (*(void **)function = dlsym(handle, name)) != NULL;
}

static void load(void)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	loaded = handle && find(handle, "debuginfod_begin", &library.begin) &&
		 find(handle, "debuginfod_find_debuginfo", &library.find) &&
		 find(handle, "debuginfod_end", &library.end);
}

int debug_servers_new(struct debug_servers **ret_servers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	struct debug_servers *servers;

	if (!urls || !urls[strspn(urls, " ")])
		return -EDESTADDRREQ;
	pthread_once(&once, load);
	if (!loaded)
		return -ELIBACC;
	servers = calloc(1, sizeof(*servers));
	if (servers)
		servers->client = library.begin();
	if (!servers || !servers->client) {
		free(servers);
		return -ENOMEM;
	}
	*ret_servers = servers;
	return 0;
}

int debug_servers_find(struct debug_servers *servers, const uint8_t *id, size_t size)
{
	int r;

	if (servers->failed)
		return servers->failed;
	r = library.find(servers->client, id, (int)size, NULL);
	if (r < 0 && r != -ENOENT)
		servers->failed = r;
	return r;
}

void debug_servers_free(struct debug_servers *servers)
{
	if (!servers)
		return;
	library.end(servers->client);
	free(servers);
}
