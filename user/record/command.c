/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command that is recorded from its first instruction on: it is forked before
 * the recording starts, and waits at a pipe until the programs are enabled.
 */
#include "record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int check_file(const char *path)
{
	struct stat status;

	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) || stat(path, &status))
		return -errno;
	return S_ISREG(status.st_mode) ? 0 : -EACCES;
}

/* Looks where execvp() does, and reports the error that it would. */
int clew_child_check(const char *program)
{
	const char *places = getenv("PATH");
	char usual[256], path[PATH_MAX];
	bool refused = false;
	int r;

	if (!program[0])
		return -ENOENT;
	if (strchr(program, '/'))
		return check_file(program);
	if (!places)
		places = confstr(_CS_PATH, usual, sizeof(usual)) ? usual : "";
	for (;;) {
		int length = (int)strcspn(places, ":");

		if (snprintf(path, sizeof(path), "%.*s%s%s", length, places, length ? "/" : "",
			     program) < (int)sizeof(path)) {
			r = check_file(path);
			if (!r)
				return 0;
			refused |= r == -EACCES;
		}
		if (!places[length])
			return refused ? -EACCES : -ENOENT;
		places += length + 1;
	}
}

static void child_main(char **argv, const sigset_t *mask, int go, int failed)
{
	char byte;
	int error;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int clew_child_make(char **argv, const sigset_t *mask, struct clew_child *ret_child)
{
	int go[2], failed[2], error;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(failed, O_CLOEXEC)) {
		error = -errno;
		close(go[0]);
		close(go[1]);
		return error;
	}
	pid = fork();
	error = pid < 0 ? -errno : 0;
	if (pid == 0) {
		close(go[1]);
		close(failed[0]);
		child_main(argv, mask, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	if (error) {
		close(go[1]);
		close(failed[0]);
		return error;
	}
	*ret_child = (struct clew_child){.pid = pid, .go = go[1], .failed = failed[0]};
	return 0;
}

int clew_child_run(struct clew_child *child)
{
	int error = 0;
	ssize_t got;

	if (write(child->go, "", 1) != 1)
		error = errno;
	close(child->go);
	do
		got = read(child->failed, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	close(child->failed);
	if (error)
		waitpid(child->pid, NULL, 0);
	return -error;
}

void clew_child_drop(struct clew_child *child)
{
	close(child->go);
	close(child->failed);
	waitpid(child->pid, NULL, 0);
}

int clew_child_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
