/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Children that work for an incident, and what they may take from the recording. */
#ifndef CLEW_CLI_DAEMON_DAEMON_CHILD_H
#define CLEW_CLI_DAEMON_DAEMON_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Waits for a child, at most for that many seconds; then it is killed, with its group. True: it
 * ended by itself and well.
 */
bool daemon_child_await(pid_t pid, unsigned seconds);

/* Where memory is short, the calling process goes before the one that records. */
void daemon_child_yield(void);

#endif
