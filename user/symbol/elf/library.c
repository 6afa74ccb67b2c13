/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the loader's cache: a header, entries of fixed size, then the texts that they
 * point to from the header's start. An entry that does not fit into the file is left out. The
 * loader also looks into directories of its own, for libraries that the cache does not have.
 */
#include "symbol/elf/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/machine.h"

#define CACHE	   "/etc/ld.so.cache"
#define CACHE_MOST (64 << 20)
#define MAGIC	   "glibc-ld.so.cache1.1"

struct cache_header {
	char magic[20];
	uint32_t count;
	uint32_t texts_size;
	uint32_t reserved[5];
};

struct cache_entry {
	uint32_t flags;
	uint32_t name, path; /* places of texts */
	uint32_t release;
	uint64_t hardware;
};

static const char *text_at(const char *cache, size_t size, uint32_t at)
{
	return at < size ? cache + at : "";
}

static int search(const char *cache, size_t size, const char *name, char *ret_path, size_t room)
{
	struct cache_header header;
	size_t at = sizeof(header);

	if (size < sizeof(header))
		return -ENOENT;
	memcpy(&header, cache, sizeof(header));
	if (memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0)
		return -ENOENT;
	for (uint32_t i = 0; i < header.count && size - at >= sizeof(struct cache_entry); i++) {
		struct cache_entry entry;

		memcpy(&entry, cache + at, sizeof(entry));
		at += sizeof(entry);
		if (entry.flags == CLEW_MACHINE_CACHE &&
		    !strcmp(text_at(cache, size, entry.name), name)) {
			snprintf(ret_path, room, "%s", text_at(cache, size, entry.path));
			return 0;
		}
	}
	return -ENOENT;
}

static int search_cache(const char *name, char *ret_path, size_t size)
{
	int file = open(CACHE, O_RDONLY | O_CLOEXEC), r;
	struct stat status;
	char *cache;
	ssize_t got;

	if (file < 0)
		return -errno;
	if (fstat(file, &status) < 0 || status.st_size > CACHE_MOST) {
		close(file);
		return -ENOENT;
	}
	cache = malloc((size_t)status.st_size + 1);
	got = cache ? pread(file, cache, (size_t)status.st_size, 0) : 0;
	close(file);
	if (!cache)
		return -ENOMEM;
	cache[got < 0 ? 0 : got] = '\0';
	r = search(cache, got < 0 ? 0 : (size_t)got, name, ret_path, size);
	free(cache);
	return r;
}

/* Debian's directories come first. On other systems /lib may hold 32-bit libraries, so /lib64 comes
 * before it. */
static int search_directories(const char *name, char *ret_path, size_t size)
{
	static const char *const directories[] = {"/lib/" CLEW_MACHINE_LIBRARIES,
						  "/usr/lib/" CLEW_MACHINE_LIBRARIES,
						  "/lib64",
						  "/usr/lib64",
						  "/lib",
						  "/usr/lib"};

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		int length = snprintf(ret_path, size, "%s/%s", directories[i], name);

		if (length > 0 && (size_t)length < size && !access(ret_path, R_OK))
			return 0;
	}
	return -ENOENT;
}

int clew_library_find(const char *name, char *ret_path, size_t size)
{
	int r = search_cache(name, ret_path, size);

	return r < 0 && r != -ENOMEM && !strchr(name, '/')
		       ? search_directories(name, ret_path, size)
		       : r;
}
