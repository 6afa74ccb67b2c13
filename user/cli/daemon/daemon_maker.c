/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that makes incidents. Each one is made by a child of its own, which is killed if it
 * takes too long.
 */
#include "cli/daemon/daemon_maker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/thread.h"
#include "cli/daemon/daemon_child.h"
#include "cli/daemon/daemon_incident.h"
#include "cli/daemon/daemon_peers.h"
#include "cli/front/fail.h"
#include "daemon/incident.h"
#include "daemon/place.h"

#define PATIENCE 60 /* s for an incident */

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
		daemon_child_yield();
		_exit(daemon_incident_make(request) ? 1 : 0);
	}
	made = pid > 0 && daemon_child_await(pid, PATIENCE);
	clew_incidents_trim(request->incidents, request->quota, request->quota_count);
	return made;
}

/* Waits for the next request, and meanwhile for the process that asks peers. False: no more come.
 */
static bool next(int asked, pid_t *peers, struct daemon_request *request)
{
	struct pollfd waited[2] = {{.fd = asked, .events = POLLIN}, {.fd = -1, .events = POLLIN}};

	if (*peers)
		waited[1].fd = (int)syscall(SYS_pidfd_open, *peers, 0);
	while (poll(waited, 2, -1) >= 0 && !waited[0].revents) {
		waitpid(*peers, NULL, 0);
		*peers = 0;
		close(waited[1].fd);
		waited[1].fd = -1;
		/* Their captures count as well. */
		clew_incidents_trim(request->incidents, request->quota, request->quota_count);
	}
	if (waited[1].fd >= 0)
		close(waited[1].fd);
	return recv(asked, request, sizeof(*request), 0) == sizeof(*request);
}

static void serve(int asked)
{
	struct daemon_request request;
	pid_t peers = 0;
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
	while (next(asked, &peers, &request)) {
		struct clew_made result = {.slow = request.firing.slow, .made = make(&request)};

		result.wall = request.wall;
		strcpy(result.rule, request.firing.rule);
		strcpy(result.id, request.id);
		if (send(asked, &result, sizeof(result), MSG_NOSIGNAL) < 0)
			break;
		if (result.made)
			daemon_peers_ask(&request, &peers);
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
	snprintf(request.peers, sizeof(request.peers), "%s", config->peers ?: "");
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
