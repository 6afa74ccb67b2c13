/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's socket: a client sends one line and gets one answer, each a message of a
 * SOCK_SEQPACKET. The socket is its owner's alone. A client that neither sends nor reads costs
 * nothing and is dropped after some seconds.
 */
#ifndef CLEW_DAEMON_CONTROL_H
#define CLEW_DAEMON_CONTROL_H

#include <stddef.h>

#include "base/message.h"

#define CLEW_CONTROL_MOST 65536 /* bytes of an answer */

struct clew_control;

/* Makes the socket; one that is there is replaced. 0 or -errno with a message. */
int clew_control_new(const char *path, struct clew_control **ret_control,
		     struct clew_message *message);

/*
 * Serves what has come, without waiting. `answer` returns the answer to a request, to be freed;
 * NULL: there is none.
 */
void clew_control_serve(struct clew_control *control,
			char *(*answer)(void *context, const char *request), void *context);

/* Removes the socket. NULL is ignored. */
void clew_control_free(struct clew_control *control);

/* For a client: *ret_answer is to be freed. 0 or -errno. */
int clew_control_ask(const char *path, const char *request, char **ret_answer);

#endif
