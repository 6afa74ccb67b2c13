/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions to the daemon of this machine. */
#ifndef CLEW_CLI_DAEMON_DAEMON_ASK_H
#define CLEW_CLI_DAEMON_DAEMON_ASK_H

/*
 * Asks the daemon: "ring", its directory of segments; "status" or "status json". *ret_answer is to
 * be freed. Returns 0 or, after clew_fail(), an exit status.
 */
int clew_daemon_ask(const char *request, char **ret_answer);

/* Ends the daemon and waits until it has ended. Returns an exit status, 1: none runs. */
int clew_daemon_stop(void);

#endif
