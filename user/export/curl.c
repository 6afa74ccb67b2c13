/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loads libcurl. */
#include "export/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static struct curl_library library;
static bool loaded;

static bool find(void *handle, const char *name, void *function)
{
	return (*(void **)function = dlsym(handle, name)) != NULL;
}

static void load(void)
{
	CURLcode (*global_init)(long flags);
	void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

	loaded = handle && find(handle, "curl_global_init", &global_init) &&
		 find(handle, "curl_easy_init", &library.easy_init) &&
		 find(handle, "curl_easy_setopt", &library.set) &&
		 find(handle, "curl_easy_perform", &library.perform) &&
		 find(handle, "curl_easy_getinfo", &library.get) &&
		 find(handle, "curl_easy_cleanup", &library.cleanup) &&
		 find(handle, "curl_easy_strerror", &library.error) &&
		 find(handle, "curl_slist_append", &library.append) &&
		 find(handle, "curl_slist_free_all", &library.free_all) &&
		 global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

const struct curl_library *curl_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return loaded ? &library : NULL;
}
