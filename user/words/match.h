/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When a name that a user types means a thing: the name that answers print, or a part of it by
 * which people know the thing. Patterns are globs whose * also stands for slashes.
 */
#ifndef CLEW_WORDS_MATCH_H
#define CLEW_WORDS_MATCH_H

#include "relate/relate.h"
#include "trace/trace.h"

/* Room for any name that answers print. */
#define CLEW_NAME_SIZE (CLEW_PATH_SIZE + 256)

/* A path, its end behind a slash ("wal/0001", "*.log"), or a directory above it. */
bool clew_match_path(const char *pattern, const char *path);
/* A whole name, or whole words of it: "mmap_lock" and "server-70" of "mmap_lock of server-70". */
bool clew_match_words(const char *pattern, const char *name);
/* The same for any pattern of a list with commas. */
bool clew_match_list(const char *list, const char *name);
/* "kv.get", "get" or the interface "kv"; a list, too. */
bool clew_match_activity(const char *list, const struct clew_activity *activity);

/* True if a wait is for what people call a lock: one of the kernel, a futex, of a file, System V.
 */
bool clew_waits_for_lock(const struct clew_sleep *sleep);
/* The name of such a lock, and of one that a task spun for; "" if it has none. Returns buffer. */
const char *clew_wait_lock(const struct clew_trace *trace, const struct clew_sleep *sleep,
			   char *buffer, size_t size);
const char *clew_spin_lock(const struct clew_trace *trace, const struct clew_spin *spin,
			   char *buffer, size_t size);

/*
 * The path of what a wait is for, as far as its object says: of a file, of a request's or lock's
 * file, of a device or a Unix socket. NULL: it has none. It stays valid until the trace is freed
 * or, of a socket, until `buffer` is overwritten.
 */
const char *clew_wait_path(const struct clew_trace *trace, const struct clew_sleep *sleep,
			   char *buffer, size_t size);

#endif
