/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Asks other hosts for an incident's time, by a command of the configuration: at most one at a
 * time, and not for ever. Its output is the file peers.txt of the incident.
 */
#ifndef CLEW_CLI_DAEMON_DAEMON_PEERS_H
#define CLEW_CLI_DAEMON_DAEMON_PEERS_H

#include <sys/types.h>

#include "cli/daemon/daemon_incident.h"

/*
 * Begins to ask for an incident that has been made. *pid: the process that asks, 0: none does. If
 * one does, peers.txt says so.
 */
void daemon_peers_ask(const struct daemon_request *request, pid_t *pid);

#endif
