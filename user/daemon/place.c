/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon's directory and its lock. */
#include "daemon/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *directory(void)
{
	const char *named = getenv("CLEW_RUN_DIRECTORY");

	return named && named[0] ? named : "/run/clew";
}

void clew_place_path(const char *name, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "%s/%s", directory(), name);
}

int clew_place_make(const char *path)
{
	char *copy = strdup(path);
	int r = copy ? 0 : -ENOMEM;

	for (char *at = copy; r == 0 && at && *at;) {
		at = strchr(at + 1, '/');
		if (at)
			*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			r = -errno;
		if (at)
			*at = '/';
	}
	free(copy);
	return r;
}

static int read_pid(int file)
{
	char text[16] = "";

	return pread(file, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

int clew_place_lock(int *ret_lock, struct clew_message *message)
{
	char path[4096];
	int r = clew_place_make(directory()), file, pid;

	clew_place_path("lock", path, sizeof(path));
	file = r < 0 ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (file < 0)
		return clew_say(message, r < 0 ? r : -errno, "%s: %s: become root", path,
				strerror(r < 0 ? -r : errno));
	if (flock(file, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		pid = read_pid(file);
		close(file);
		return r == -EBUSY
			       ? clew_say(message, r,
					  "the daemon runs already as process %d, and there is one "
					  "a machine: ask it by clew daemon status",
					  pid)
			       : clew_say(message, r, "%s: %s: make it lockable", path,
					  strerror(-r));
	}
	*ret_lock = file;
	return 0;
}

void clew_place_tell(int lock, pid_t pid)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d\n", (int)pid);

	if (ftruncate(lock, 0) == 0 && pwrite(lock, text, (size_t)length, 0) != length)
		ftruncate(lock, 0);
}

/* Writes a path to a file of the directory. */
static void tell_path(const char *name, const char *told)
{
	char path[4096];
	int file;

	clew_place_path(name, path, sizeof(path));
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (file < 0)
		return;
	if (dprintf(file, "%s\n", told) < 0)
		ftruncate(file, 0);
	close(file);
}

/* The path in a file of the directory, to be freed; NULL: there is none. */
static char *told_path(const char *name)
{
	char path[4096], *told = NULL;
	size_t size = 0;
	FILE *file;

	clew_place_path(name, path, sizeof(path));
	file = fopen(path, "re");
	if (file && (getline(&told, &size, file) <= 1 || told[0] != '/')) {
		free(told);
		told = NULL;
	}
	if (file)
		fclose(file);
	if (told)
		told[strcspn(told, "\n")] = '\0';
	return told;
}

void clew_place_tell_ring(const char *ring)
{
	tell_path("ring-path", ring);
}

char *clew_place_ring(void)
{
	return told_path("ring-path");
}

void clew_place_tell_history(const char *history)
{
	char path[4096];

	if (history) {
		tell_path("history-path", history);
		return;
	}
	clew_place_path("history-path", path, sizeof(path));
	unlink(path);
}

char *clew_place_history(void)
{
	return told_path("history-path");
}

void clew_place_log(void)
{
	int log, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char path[4096];

	clew_place_path("log", path, sizeof(path));
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(log >= 0 ? log : null, STDERR_FILENO);
	close(log);
	close(null);
}

int clew_place_daemon(void)
{
	char path[4096];
	int file, pid = -ESRCH;

	clew_place_path("lock", path, sizeof(path));
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (flock(file, LOCK_SH | LOCK_NB) < 0)
		pid = read_pid(file) ?: -ESRCH;
	close(file);
	return pid;
}
