/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol is one datagram to a Unix socket; a name that begins with @ is in
 * the abstract namespace.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/notify.h"

void clew_notify(const char *state)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = 1};
	/* The next one comes soon; any other is sent once. */
	const bool repeats = !strcmp(state, "WATCHDOG=1");
	size_t length = name ? strlen(name) : 0;
	int descriptor;

	if (length < 2 || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, name, length);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (descriptor < 0)
		return;
	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	sendto(descriptor, state, strlen(state), MSG_NOSIGNAL | (repeats ? MSG_DONTWAIT : 0),
	       (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + length);
	close(descriptor);
}

uint64_t clew_notify_watchdog(void)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!period || (pid && atoi(pid) != getpid()))
		return 0;
	return strtoull(period, NULL, 10) * 1000;
}
