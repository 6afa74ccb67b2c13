/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asking other hosts for what they kept of an incident's time. */
#include "cli/daemon/daemon_peers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/command_line.h"
#include "cli/daemon/daemon_child.h"
#include "cli/front/fail.h"

#define PATIENCE 120 /* s for the command */
#define SECOND	 1000000000ull

/* A moment as each host understands it. */
static void print_utc(const struct daemon_request *request, uint64_t at, char *text, size_t size)
{
	uint64_t wall = request->wall - (request->firing.slow.at - at);
	time_t seconds = (time_t)(wall / SECOND);
	char date[24];
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, size, "%s.%09lluZ", date, (unsigned long long)(wall % SECOND));
}

static char **make_words(const struct daemon_request *request, const char *folder)
{
	char from[48], to[48], **words = NULL;
	const char *const values[] = {"{from}", from, "{to}", to, "{incident}", folder, NULL};
	size_t count = 0;

	print_utc(request, daemon_incident_from(request), from, sizeof(from));
	print_utc(request, request->firing.slow.at, to, sizeof(to));
	if (command_line_add(&words, &count, request->peers) == 0 &&
	    command_line_fill(words, values) == 0)
		return words;
	command_line_free(words);
	return NULL;
}

/* Runs the command, and waits for it. */
static void run(const struct daemon_request *request, const char *folder, int output)
{
	char **words = make_words(request, folder);
	int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid = words ? fork() : -1;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		signal(SIGPIPE, SIG_DFL);
		dup2(none, STDIN_FILENO);
		dup2(output, STDOUT_FILENO);
		dup2(output, STDERR_FILENO);
		execv(words[0], words);
		dprintf(STDERR_FILENO, "clew: %s: %s\n", words[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0)
		dprintf(output, "clew: the peers were not asked: no process or no memory\n");
	else if (!daemon_child_await(pid, PATIENCE))
		dprintf(output, "clew: the command failed, or took longer than %d s\n", PATIENCE);
}

void daemon_peers_ask(const struct daemon_request *request, pid_t *pid)
{
	char folder[2200], path[2300];
	int output;

	if (!request->peers[0])
		return;
	snprintf(folder, sizeof(folder), "%s/%s", request->incidents, request->id);
	snprintf(path, sizeof(path), "%s/peers.txt", folder);
	output = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (output < 0) {
		clew_fail(0, "%s: %s: the peers are not asked", path, strerror(errno));
		return;
	}
	if (*pid) {
		dprintf(output, "clew: the peers were not asked: they were being asked for the "
				"incident before\n");
	} else {
		*pid = fork();
		if (!*pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			daemon_child_yield();
			run(request, folder, output);
			_exit(0);
		}
		if (*pid < 0) {
			dprintf(output, "clew: the peers were not asked: %s\n", strerror(errno));
			*pid = 0;
		}
	}
	close(output);
}
