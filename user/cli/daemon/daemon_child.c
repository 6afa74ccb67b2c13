/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Children that work for an incident. */
#include "cli/daemon/daemon_child.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory_left.h"
#include "cli/front/fail.h"

bool daemon_child_await(pid_t pid, unsigned seconds)
{
	uint64_t until = clock_read(CLOCK_MONOTONIC) + seconds * 1000000000ull;
	const struct timespec pause = {.tv_nsec = 10000000};
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_read(CLOCK_MONOTONIC) > until) {
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void daemon_child_yield(void)
{
	int r = memory_yield();

	if (r < 0)
		clew_fail(0, "an incident may take memory that the recording needs: %s",
			  strerror(-r));
}
