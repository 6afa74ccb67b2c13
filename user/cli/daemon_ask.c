/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions to the daemon. See daemon_ask.h. */
#include "cli/daemon_ask.h"

#include <errno.h>
#include <string.h>

#include "cli/fail.h"
#include "daemon/control.h"
#include "daemon/place.h"

int clew_daemon_ask(const char *request, char **ret_answer)
{
	char path[4096];
	int pid = clew_place_daemon(), r;

	if (pid < 0)
		return clew_fail(pid == -ESRCH ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM,
				 pid == -ESRCH ? "no daemon runs: start one by clew daemon"
					       : "the daemon cannot be found: become root");
	clew_place_path("control", path, sizeof(path));
	r = clew_control_ask(path, request, ret_answer);
	if (r < 0)
		return clew_fail(
			CLEW_EXIT_SYSTEM, "the daemon, process %d, does not answer: %s: %s", pid,
			strerror(-r), r == -EACCES ? "become root" : "see whether it is stopped");
	return 0;
}
