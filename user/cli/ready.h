/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells a service manager, or a script that waits like one, that the program is
 * at work: the protocol of sd_notify(3), without its library.
 */
#ifndef CLEW_CLI_READY_H
#define CLEW_CLI_READY_H

/* Sends READY=1 to the datagram socket that $NOTIFY_SOCKET names, if it does. Nobody listening is
 * no error. */
void clew_tell_ready(void);

#endif
