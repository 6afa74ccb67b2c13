/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages between the opener and its helper process, and the helper's functions. */
#ifndef CLEW_OPENER_INTERNAL_H
#define CLEW_OPENER_INTERNAL_H

#include <limits.h>

#include "opener/opener.h"

#define OPENER_SOCKET 0 /* the helper's descriptor; it has no other one */

enum opener_request_kind {
	OPENER_MAPPED,
	OPENER_NAMED,
	OPENER_BELOW,
	OPENER_READ,
	OPENER_PROCESS,
	OPENER_GLOB
};

/* Its descriptor, if it has one, comes with it. As much of the text is sent as there is. */
struct opener_request {
	uint32_t kind;
	uint32_t parts; /* or the file of a process */
	int32_t pid;
	uint32_t major, minor;
	uint64_t start, end;
	uint64_t inode, generation;
	uint64_t size; /* of a file that is read */
	char text[PATH_MAX];
};

/* The file that was found or copied comes with it. */
struct opener_reply {
	int32_t result; /* 0 or -errno; -EINPROGRESS: it goes on, and another reply follows */
	uint32_t reserved;
	uint64_t cpu_time; /* ns, of the helper so far */
	struct clew_opened opened;
	char path[PATH_MAX];
};

/* Does what a request asks for. `descriptor`: -1 none, the caller's. *ret_descriptor: -1 none.
 * `progress`: called now and then; it may be NULL. */
void opener_serve(const struct opener_request *request, int descriptor, void (*progress)(void),
		  struct opener_reply *ret_reply, int *ret_descriptor);

/* Finds the file of a mapping, of a path, or of a path below a process's root. 0 or -errno. */
int opener_find(const struct opener_request *request, int proc, struct opener_reply *reply);
/* Copies parts of a file to memory. `path`: O_PATH. A descriptor or -errno. */
int opener_copy(int path, uint64_t size, unsigned parts, void (*progress)(void));
/* Copies all that can be read of a descriptor, `most` bytes at most. A descriptor or -errno. */
int opener_copy_stream(int from, size_t most);
/* Paths that fit a pattern. A descriptor or -errno. */
int opener_glob(const char *pattern);
#endif
