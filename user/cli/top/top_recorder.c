/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A recorder beside clew top. */
#include "cli/top/top_recorder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/fail.h"
#include "cli/front/screen.h"
#include "cli/front/write.h"

/* Segments are kept that long, in periods, to be saved; unread ones, too, if this program cannot
 * keep up. Read ones take no more memory than that, and no more than half of what is free. */
#define MOST_PERIODS 15
#define MOST_BYTES   (256ull << 20)

#define MEMORY	   "/dev/shm" /* the recording is no load for a disk there */
#define ELSEWHERE  "/tmp"
#define BEGINNING  "clew-top."
#define LEAST_FREE (64ull << 20)
#define LEFT_AFTER 60 /* s */

/* Waits for a child that ends soon, whatever signals come. */
static int await(pid_t pid, int *ret_status)
{
	pid_t ended;

	while ((ended = waitpid(pid, ret_status, 0)) < 0 && errno == EINTR)
		;
	return ended == pid ? 0 : -1;
}

/* ---- the folder ---- */

/* Removes folders of programs that were killed: no recorder has the lock on them, or is about to
 * take it. */
static void remove_left(const char *directory)
{
	DIR *folders = opendir(directory);
	struct dirent *entry;
	char path[sizeof(MEMORY) + NAME_MAX + 1];

	while (folders && (entry = readdir(folders))) {
		struct stat status;
		int folder;

		if (strncmp(entry->d_name, BEGINNING, strlen(BEGINNING)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* In these directories nobody else can put a link in the place of an own folder. */
		if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
		    status.st_mtime + LEFT_AFTER < time(NULL) &&
		    flock(folder, LOCK_EX | LOCK_NB) == 0)
			clew_remove_folder(path);
		if (folder >= 0)
			close(folder);
	}
	if (folders)
		closedir(folders);
}

/* The free bytes of a directory's file system. */
static uint64_t free_in(const char *directory)
{
	struct statvfs status;

	return access(directory, W_OK) || statvfs(directory, &status) < 0
		       ? 0
		       : (uint64_t)status.f_bavail * status.f_frsize;
}

static int make_folder(struct top_recorder *recorder)
{
	const char *directory;
	uint64_t most;

	remove_left(MEMORY);
	remove_left(ELSEWHERE);
	directory = free_in(MEMORY) < LEAST_FREE ? ELSEWHERE : MEMORY;
	most = free_in(directory) / 2;
	recorder->most = most < MOST_BYTES ? most : MOST_BYTES;
	snprintf(recorder->folder, sizeof(recorder->folder), "%s/" BEGINNING "XXXXXX", directory);
	if (!mkdtemp(recorder->folder))
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: make room there", recorder->folder,
				 strerror(errno));
	recorder->descriptor = open(recorder->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int is_segment(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".clew");
}

/* Removes the oldest segments that were read, if there are too many, but not the last one. */
static void trim(const struct top_recorder *recorder)
{
	struct dirent **segments;
	int count = scandirat(recorder->descriptor, ".", &segments, is_segment, alphasort),
	    kept = 0;
	uint64_t bytes = 0;

	for (int i = count - 1; i >= 0; i--) {
		const char *name = segments[i]->d_name;
		struct stat status = {};

		if (strcmp(name, recorder->last) <= 0) {
			fstatat(recorder->descriptor, name, &status, AT_SYMLINK_NOFOLLOW);
			bytes += (uint64_t)status.st_size;
			if (kept++ && (kept > MOST_PERIODS || bytes > recorder->most))
				unlinkat(recorder->descriptor, name, 0);
		}
		free(segments[i]);
	}
	if (count >= 0)
		free(segments);
}

/* ---- the recorder ---- */

/* Signals do in the child what they do by default, those too that came since the fork. */
static void default_signals(const sigset_t *mask)
{
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Runs `clew record` in the child; only returns if it cannot. `mask`: of signals, before the fork,
 * for which it blocked all. */
static void record(const struct top_recorder *recorder, uint64_t period, int errors, pid_t parent,
		   const sigset_t *mask)
{
	char rotate[40], keep[40];
	const char *arguments[16] = {"clew",   "record", "--rotate", rotate,
				     "--keep", keep,	 "-o",	     recorder->folder};
	size_t count = 8;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(rotate, sizeof(rotate), "%lluns", (unsigned long long)period);
	snprintf(keep, sizeof(keep), "%lluns", (unsigned long long)(MOST_PERIODS * period));
	if (recorder->outside) {
		arguments[count++] = "--outside";
		arguments[count++] = recorder->outside;
	}
	if (recorder->runtimes) {
		arguments[count++] = "--runtime";
		arguments[count++] = recorder->runtimes;
	}
	/* It ends with this program, whatever way that ends. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return;
	default_signals(mask);
	/* Keys are not for it. */
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	execv("/proc/self/exe", (char **)arguments);
}

int top_recorder_begin(struct top_recorder *recorder, uint64_t period, const char *outside,
		       const char *runtimes)
{
	const pid_t parent = getpid();
	sigset_t all, mask;
	int errors[2], status;

	*recorder = (struct top_recorder){.pid = -1,
					  .errors = -1,
					  .descriptor = -1,
					  .outside = outside,
					  .runtimes = runtimes};
	status = make_folder(recorder);
	if (status)
		return status;
	if (pipe2(errors, O_CLOEXEC | O_NONBLOCK) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: try again", strerror(errno));
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	recorder->pid = fork();
	if (!recorder->pid) {
		record(recorder, period, errors[1], parent, &mask);
		_exit(CLEW_EXIT_SYSTEM);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(errors[1]);
	recorder->errors = errors[0];
	if (recorder->pid < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: try again", strerror(errno));
	return 0;
}

/* The first two segments behind the last one that was given, by name; NULL: none. */
static void find_segments(const struct top_recorder *recorder, char **ret_first, char **ret_second)
{
	DIR *folder = opendir(recorder->folder);
	struct dirent *entry;

	*ret_first = *ret_second = NULL;
	while (folder && (entry = readdir(folder))) {
		const char *name = entry->d_name;

		if (!is_segment(entry) || (recorder->last && strcmp(name, recorder->last) <= 0))
			continue;
		if (!*ret_first || strcmp(name, *ret_first) < 0) {
			free(*ret_second);
			*ret_second = *ret_first;
			*ret_first = strdup(name);
		} else if (!*ret_second || strcmp(name, *ret_second) < 0) {
			free(*ret_second);
			*ret_second = strdup(name);
		}
	}
	if (folder)
		closedir(folder);
}

/* Passes on what the recorder said; true if it said something. */
static bool pass_errors(struct top_recorder *recorder)
{
	char buffer[1024];
	ssize_t got = read(recorder->errors, buffer, sizeof(buffer));

	if (got <= 0)
		return false;
	fwrite(buffer, 1, (size_t)got, stderr);
	return true;
}

static int ended(struct top_recorder *recorder)
{
	int status;

	if (waitpid(recorder->pid, &status, WNOHANG) != recorder->pid)
		return 0;
	recorder->pid = -1;
	/* On the screen of clew top nobody would see it. */
	clew_screen_end();
	if (!pass_errors(recorder))
		clew_fail(CLEW_EXIT_SYSTEM, "the recorder ended: start again");
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : CLEW_EXIT_SYSTEM;
}

/* True once the recorder has finished a segment: it has unlocked the file. */
static bool is_whole(const struct top_recorder *recorder, const char *name)
{
	int folder = open(recorder->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
	bool whole = file >= 0 && flock(file, LOCK_SH | LOCK_NB) == 0;

	if (file >= 0)
		close(file);
	close(folder);
	return whole;
}

int top_recorder_next(struct top_recorder *recorder, char **ret_path)
{
	char *first, *second;
	int status = ended(recorder);

	*ret_path = NULL;
	if (status)
		return status;
	find_segments(recorder, &first, &second);
	if (first && second && is_whole(recorder, first)) {
		free(recorder->last);
		recorder->last = first;
		first = NULL;
		if (asprintf(ret_path, "%s/%s", recorder->folder, recorder->last) < 0)
			*ret_path = NULL;
		trim(recorder);
	}
	free(first);
	free(second);
	return 0;
}

/* Runs `clew snapshot` in the child; only returns if it cannot. */
static void snapshot(const struct top_recorder *recorder, const char *name, int output)
{
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execl("/proc/self/exe", "clew", "snapshot", recorder->folder, "-o", name, NULL);
}

/* The first line that comes from a pipe until it is closed. */
static void read_line(int pipe_end, char *ret_line, size_t size)
{
	size_t got = 0;
	char rest[256];
	ssize_t more;

	while ((more = read(pipe_end, got + 1 < size ? ret_line + got : rest,
			    got + 1 < size ? size - got - 1 : sizeof(rest))) > 0 ||
	       (more < 0 && errno == EINTR))
		got += got + 1 < size && more > 0 ? (size_t)more : 0;
	ret_line[got] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
}

void top_recorder_save(const struct top_recorder *recorder, char *ret_message, size_t size)
{
	const time_t now = time(NULL);
	char name[64], said[160] = "";
	int output[2], status;
	pid_t pid;

	strftime(name, sizeof(name), "clew-top-%Y%m%dT%H%M%S.clew", localtime(&now));
	if (pipe2(output, O_CLOEXEC) < 0) {
		snprintf(ret_message, size, "clew: %s: try again", strerror(errno));
		return;
	}
	pid = fork();
	if (!pid) {
		snapshot(recorder, name, output[1]);
		_exit(CLEW_EXIT_SYSTEM);
	}
	close(output[1]);
	read_line(output[0], said, sizeof(said));
	close(output[0]);
	if (pid > 0 && await(pid, &status) == 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		snprintf(ret_message, size, "saved: ask clew why %s --slowest", name);
	else
		snprintf(ret_message, size, "%s",
			 *said ? said : "clew: nothing was saved: try again");
}

void top_recorder_end(struct top_recorder *recorder)
{
	if (recorder->pid > 0) {
		int status;

		kill(recorder->pid, SIGINT);
		await(recorder->pid, &status);
	}
	if (recorder->errors >= 0)
		close(recorder->errors);
	clew_remove_folder(recorder->folder);
	if (recorder->descriptor >= 0)
		close(recorder->descriptor);
	free(recorder->last);
}
