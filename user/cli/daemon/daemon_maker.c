/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that makes incidents. Each one is made by a child of its own, which is killed if it
 * takes too long.
 */
#include "cli/daemon/daemon_maker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/memory_left.h"
#include "base/thread.h"
#include "cli/daemon/daemon_incident.h"
#include "cli/front/fail.h"
#include "daemon/incident.h"
#include "daemon/place.h"

#define PATIENCE 60 /* s for an incident */

/* Waits for a child, at most for that time. True: it ended by itself and well. */
static bool await(pid_t pid)
{
	uint64_t until = clock_read(CLOCK_MONOTONIC) + PATIENCE * 1000000000ull;
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

/* Where memory is short, what explains goes before what records. */
static void give_memory_first(void)
{
	int r = memory_yield();

	if (r < 0)
		clew_fail(0, "an incident may take memory that the recording needs: %s",
			  strerror(-r));
}

static bool make(struct daemon_request *request)
{
	pid_t pid;
	bool made;

	if (clew_place_make(request->incidents) < 0 || daemon_incident_name(request))
		return false;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		give_memory_first();
		_exit(daemon_incident_make(request) ? 1 : 0);
	}
	made = pid > 0 && await(pid);
	clew_incidents_trim(request->incidents, request->quota, request->quota_count);
	return made;
}

static void serve(int asked)
{
	struct daemon_request request;
	sigset_t none;

	/* It has neither the daemon's lock nor its sockets, lest they outlive the daemon. */
	descriptors_keep(asked);
	/* It ends with the daemon, which gets the signals of the terminal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "clew-incidents");
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpriority(PRIO_PROCESS, 0, 19);
	while (recv(asked, &request, sizeof(request), 0) == sizeof(request)) {
		struct clew_made result = {.slow = request.firing.slow, .made = make(&request)};

		result.wall = request.wall;
		strcpy(result.rule, request.firing.rule);
		strcpy(result.id, request.id);
		if (send(asked, &result, sizeof(result), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

int daemon_maker_begin(struct daemon_maker *maker, bool background)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: try again", strerror(errno));
	maker->pid = fork();
	if (!maker->pid) {
		close(ends[0]);
		if (background)
			clew_place_log();
		serve(ends[1]);
	}
	close(ends[1]);
	maker->socket = ends[0];
	maker->pending = 0;
	if (maker->pid < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: raise the limit of processes",
				 strerror(errno));
	return 0;
}

bool daemon_maker_ask(struct daemon_maker *maker, const struct clew_config *config,
		      const struct clew_firing *firing)
{
	struct daemon_request request = {.firing = *firing,
					 .quota = config->quota.bytes,
					 .quota_count = config->quota_count};

	if (maker->pending == DAEMON_MAKER_MOST)
		return false;
	snprintf(request.ring, sizeof(request.ring), "%s", config->ring);
	snprintf(request.incidents, sizeof(request.incidents), "%s", config->incidents);
	if (send(maker->socket, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return false;
	maker->pending++;
	return true;
}

bool daemon_maker_result(struct daemon_maker *maker, struct clew_made *ret_made)
{
	if (recv(maker->socket, ret_made, sizeof(*ret_made), MSG_DONTWAIT) != sizeof(*ret_made))
		return false;
	maker->pending--;
	return true;
}

bool daemon_maker_is_gone(struct daemon_maker *maker)
{
	if (maker->pid <= 0 || waitpid(maker->pid, NULL, WNOHANG) == 0)
		return false;
	maker->pid = -1;
	return true;
}

void daemon_maker_end(struct daemon_maker *maker)
{
	close(maker->socket);
	if (maker->pid > 0) {
		/* At its own priority it would take long to end on a busy machine. */
		store_thread_hurry_other(maker->pid);
		kill(maker->pid, SIGKILL);
		waitpid(maker->pid, NULL, 0);
	}
	maker->pid = -1;
}
