/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process beside the daemon that keeps a history of what operations took. It reads each segment
 * once it has ended, at the lowest priority, and writes the sums of each period. It is forked
 * before the daemon has threads or anything of the kernel's.
 */
#ifndef CLEW_CLI_DAEMON_DAEMON_HISTORY_H
#define CLEW_CLI_DAEMON_DAEMON_HISTORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/config.h"

/* *ret_pid: 0 if the configuration has no history. `background`: its messages go to the log. 0 or,
 * after clew_fail(), an exit status. */
int daemon_history_begin(const struct clew_config *config, bool background, pid_t *ret_pid);
/* True, once, if the process has ended, which it should not. */
bool daemon_history_is_gone(pid_t *pid);
/* Has it write what it has of the current period, and ends it. */
void daemon_history_end(pid_t pid);

#endif
