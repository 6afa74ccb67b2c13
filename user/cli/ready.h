/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notifies a service manager that the program is ready, by the protocol of
 * sd_notify(3), without its library.
 */
#ifndef CLEW_CLI_READY_H
#define CLEW_CLI_READY_H

/*
 * Sends READY=1 to the datagram socket that $NOTIFY_SOCKET names, if it is set.
 * It is not an error if nobody listens.
 */
void clew_tell_ready(void);

#endif
