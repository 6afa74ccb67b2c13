/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An object that was waited for, as strings: what object.h prints. */
#ifndef CLEW_WORDS_DESCRIBE_H
#define CLEW_WORDS_DESCRIBE_H

#include "trace/wait_key.h"
#include <netinet/in.h>

#define OBJECT_ANY_PID (-1)

struct endpoint {
	char text[CLEW_UNIX_PATH_SIZE + INET6_ADDRSTRLEN + 16];
};

/* Strings are the trace's or constants; NULL where there is none or nothing is known. */
struct object_description {
	const char *kind;
	char name[CLEW_PATH_SIZE + 256]; /* what people call it; not yet safe to print */
	const struct clew_file_record *file;
	const char *path;
	const char *family, *protocol; /* of a socket */
	struct endpoint local, peer;   /* "" unknown */
	int64_t pid;		       /* of a child in the initial namespace; 0: unknown */
	const struct clew_block_request *request;
	const char *function;		   /* of a timer, a work item; symbol of a lock */
	const char *operation;		   /* of a futex */
	uint64_t expires;		   /* of a timer, ns; 0: unknown */
	const struct clew_lock_name *lock; /* what a kernel lock belongs to */
};

/* Describes an object; `sleep` is the wait that it belongs to, or NULL. False: there is no object,
 * and the wait has no name of its own. */
bool object_describe(const struct clew_trace *trace, const struct clew_object *object,
		     const struct clew_sleep *sleep, struct object_description *ret);
/* The same of an object that was met at a moment, in ns; `sleep` may be NULL. */
bool object_describe_then(const struct clew_trace *trace, const struct clew_object *object,
			  const struct clew_sleep *sleep, uint64_t at,
			  struct object_description *ret);

/* The address of a socket, or of its peer. */
void describe_endpoint(const struct clew_socket_record *socket, bool peer, struct endpoint *ret);

/* True if all that is known of a wait's object is that it is the epoll of the wait's call. */
bool clew_waits_for_epoll(const struct clew_sleep *sleep);

/* The word for CLEW_LOCK_* flags. */
const char *clew_lock_type_name(uint32_t type);

#endif
