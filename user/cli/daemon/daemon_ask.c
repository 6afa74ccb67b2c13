/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions to the daemon. */
#include "cli/daemon/daemon_ask.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/front/fail.h"
#include "daemon/control.h"
#include "daemon/place.h"
#include "record/segments.h"

#define STOP_PATIENCE                                                                              \
	60000 /* ms: the last segment is written, and what is explained is given up                \
	       */

/* A daemon that was killed leaves its ring. */
static int fail_alone(void)
{
	char *ring = clew_place_ring();
	int status =
		ring && clew_segments_there(ring)
			? clew_fail(CLEW_EXIT_INPUT,
				    "no daemon runs, but the ring of the last one is there: "
				    "`clew join %s` makes a capture of it",
				    ring)
			: clew_fail(CLEW_EXIT_INPUT, "no daemon runs: start one by clew daemon");

	free(ring);
	return status;
}

static int fail_to_find(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM, "the daemon cannot be found: become root");
}

int clew_daemon_ask(const char *request, char **ret_answer)
{
	char path[4096];
	int pid = clew_place_daemon(), r;

	if (pid < 0)
		return pid == -ESRCH ? fail_alone() : fail_to_find();
	clew_place_path("control", path, sizeof(path));
	r = clew_control_ask(path, request, ret_answer);
	if (r < 0)
		return clew_fail(
			CLEW_EXIT_SYSTEM, "the daemon, process %d, does not answer: %s: %s", pid,
			strerror(-r), r == -EACCES ? "become root" : "see whether it is stopped");
	return 0;
}

/* Ends the process and waits for that. 0 or -errno; -ETIME: it goes on. */
static int end_process(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), r;
	struct pollfd ended = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return -errno;
	/* Unless it has ended meanwhile, and another process has its number. */
	r = clew_place_daemon() != pid ? 0
				       : (int)syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
	if (r < 0)
		r = -errno;
	else
		while ((r = poll(&ended, 1, STOP_PATIENCE)) < 0 && errno == EINTR)
			;
	close(fd);
	return r > 0 ? 0 : r < 0 ? r : -ETIME;
}

int clew_daemon_stop(void)
{
	int pid = clew_place_daemon(), r;

	if (pid < 0)
		return pid == -ESRCH ? clew_fail(CLEW_EXIT_NEGATIVE,
						 "no daemon runs: nothing is to be stopped")
				     : fail_to_find();
	r = end_process(pid);
	if (r == -ETIME)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "the daemon, process %d, does not end: kill -KILL %d ends it, and "
				 "leaves its ring",
				 pid, pid);
	if (r < 0 && r != -ESRCH)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "the daemon, process %d, cannot be stopped: %s: %s", pid,
				 strerror(-r), r == -EPERM ? "become root" : "try again");
	fprintf(stderr, "clew: the daemon, process %d, has ended\n", pid);
	return 0;
}
