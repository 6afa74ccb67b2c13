/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process beside the daemon that makes incidents, one at a time, at the lowest priority. It is
 * forked before the daemon has threads or anything of the kernel's, and ends with it.
 */
#ifndef CLEW_CLI_DAEMON_DAEMON_MAKER_H
#define CLEW_CLI_DAEMON_DAEMON_MAKER_H

#include <sys/types.h>

#include "daemon/watch.h"

struct daemon_maker {
	pid_t pid;
	int socket;
	unsigned pending; /* incidents that it was asked for */
};

#define DAEMON_MAKER_MOST 8 /* pending ones */

/* `background`: its messages go to the log. 0 or, after clew_fail(), an exit status. */
int daemon_maker_begin(struct daemon_maker *maker, bool background);

/* Asks for an incident. The segments that it needs have ended. False: too many are pending. */
bool daemon_maker_ask(struct daemon_maker *maker, const struct clew_config *config,
		      const struct clew_firing *firing);

/* Takes a result. False: there is none. */
bool daemon_maker_result(struct daemon_maker *maker, struct clew_made *ret_made);

/* True if the process has ended, which it should not. */
bool daemon_maker_is_gone(struct daemon_maker *maker);

void daemon_maker_end(struct daemon_maker *maker);

#endif
