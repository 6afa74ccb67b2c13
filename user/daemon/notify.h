/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notifies a service manager of what the program does, by the protocol of
 * sd_notify(3), without its library.
 */
#ifndef CLEW_DAEMON_NOTIFY_H
#define CLEW_DAEMON_NOTIFY_H

#include <stdint.h>

/*
 * Sends a line such as READY=1 to the datagram socket that $NOTIFY_SOCKET names, if it is set.
 * It is not an error if nobody listens. Where the socket is full it waits for a second, but not
 * with WATCHDOG=1, which is sent again and again.
 */
void clew_notify(const char *state);

/* The time within which the manager wants WATCHDOG=1, ns, by $WATCHDOG_USEC; 0: never. */
uint64_t clew_notify_watchdog(void);

#endif
