/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes groups, moves processes, and has a process that undoes it. */
#include "delay/group.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"

#define EMPTYING   500 /* rounds of 10 ms: processes may fork meanwhile */
#define GENERATION 64  /* deeper descendants are left where they are */

/* ---- files ---- */

static int write_line(const char *directory, const char *file, const char *line)
{
	char path[DELAY_GROUP_PATH + 64];
	ssize_t written;
	int fd, r;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	written = write(fd, line, strlen(line));
	r = written < 0 ? -errno : 0;
	close(fd);
	return r;
}

int delay_group_write(const struct delay_group *group, const char *file, const char *line)
{
	return write_line(group->path, file, line);
}

int delay_group_read(const struct delay_group *group, const char *file, char *text, size_t size)
{
	char path[DELAY_GROUP_PATH + 64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group->path, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, size - 1);
	text[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return got < 0 ? -errno : 0;
}

/* ---- where ---- */

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ',' || at[-1] == ' ') &&
		    (!at[length] || strchr(", \n", at[length])))
			return true;
	return false;
}

/* Finds where a controller is mounted. *ret_unified: in version 2. */
static int find_mount(const char *controller, char *directory, size_t size, bool *ret_unified)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char room[4096];
	int r = -ENOENT;

	while (mounts && r < 0 && getmntent_r(mounts, &entry, room, sizeof(room))) {
		char path[4096 + 32], list[1024] = "";
		FILE *file;

		*ret_unified = !strcmp(entry.mnt_type, "cgroup2");
		if (*ret_unified) {
			snprintf(path, sizeof(path), "%s/cgroup.controllers", entry.mnt_dir);
			file = fopen(path, "re");
			if (file && !fgets(list, sizeof(list), file))
				list[0] = '\0';
			if (file)
				fclose(file);
		} else if (!strcmp(entry.mnt_type, "cgroup")) {
			snprintf(list, sizeof(list), "%s", entry.mnt_opts);
		}
		if (has_word(list,
			     !*ret_unified && !strcmp(controller, "io") ? "blkio" : controller)) {
			snprintf(directory, size, "%s", entry.mnt_dir);
			r = 0;
		}
	}
	if (mounts)
		endmntent(mounts);
	return r;
}

/* The path of a process's group below the mount. */
static int find_group(pid_t pid, const char *controller, bool unified, char *ret_path, size_t size)
{
	char file[64], line[DELAY_GROUP_PATH];
	FILE *groups;
	int r = -ESRCH;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	groups = fopen(file, "re");
	while (groups && r < 0 && fgets(line, sizeof(line), groups)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		list++;
		path[strcspn(path, "\n")] = '\0';
		if (unified ? *list : !has_word(list, controller))
			continue;
		snprintf(ret_path, size, "%s", strcmp(path, "/") ? path : "");
		r = 0;
	}
	if (groups)
		fclose(groups);
	return r;
}

/* ---- processes ---- */

static int move(const char *directory, pid_t pid)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)pid);
	return write_line(directory, "cgroup.procs", number);
}

/* Moves the children of all threads of a process that are in its group, and theirs. */
static void move_children(const struct delay_group *group, const char *controller, const char *home,
			  pid_t pid, unsigned depth)
{
	char path[64];
	FILE *children;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	children = depth < GENERATION ? fopen(path, "re") : NULL;
	while (children && fscanf(children, "%d", &child) == 1) {
		char its[DELAY_GROUP_PATH];

		if (find_group(child, controller, group->unified, its, sizeof(its)) < 0)
			continue;
		if (!strcmp(its, home))
			move(group->path, child);
		move_children(group, controller, home, child, depth + 1);
	}
	if (children)
		fclose(children);
}

/* Moves all processes back until there are none, and removes the group. */
static void undo(const struct delay_group *group)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	char path[DELAY_GROUP_PATH + 64];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group->path);
	for (unsigned i = 0; i < EMPTYING; i++) {
		FILE *processes = fopen(path, "re");
		int pid;

		while (processes && fscanf(processes, "%d", &pid) == 1)
			move(group->home, pid);
		if (processes)
			fclose(processes);
		if (rmdir(group->path) == 0 || errno == ENOENT)
			return;
		nanosleep(&pause, NULL);
	}
}

/* ---- the guard ---- */

/* Waits until the other end of the pipe is closed, and undoes all. */
static void guard(const struct delay_group *group, int alive)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	descriptors_keep(alive);
	setsid();
	prctl(PR_SET_NAME, "clew-quota");
	while (read(alive, &byte, 1) < 0 && errno == EINTR)
		;
	undo(group);
	_exit(0);
}

static int start_guard(struct delay_group *group)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	group->guard = fork();
	if (!group->guard) {
		close(ends[1]);
		guard(group, ends[0]);
	}
	close(ends[0]);
	if (group->guard < 0) {
		close(ends[1]);
		return -errno;
	}
	group->alive = ends[1];
	return 0;
}

/* ---- all of it ---- */

/* The directory in which the group is made. Version 2: its groups are to have the controller. */
static int choose_place(struct delay_group *group, const char *controller, char *place, size_t size)
{
	char line[64], list[256] = "";
	struct delay_group above = {};
	char *slash;

	snprintf(place, size, "%s", group->home);
	if (!group->unified)
		return 0;
	/* Only the root has both processes and groups. */
	slash = strrchr(place, '/');
	if (access(group->home, F_OK) == 0 && slash) {
		char type[DELAY_GROUP_PATH + 32];

		snprintf(type, sizeof(type), "%s/cgroup.type", group->home);
		if (access(type, F_OK) == 0)
			*slash = '\0';
	}
	snprintf(above.path, sizeof(above.path), "%s", place);
	delay_group_read(&above, "cgroup.subtree_control", list, sizeof(list));
	if (has_word(list, controller))
		return 0;
	snprintf(line, sizeof(line), "+%s", controller);
	return delay_group_write(&above, "cgroup.subtree_control", line);
}

int delay_group_make(const char *controller, pid_t pid, struct delay_group *ret_group,
		     struct clew_message *message)
{
	const char *name = controller;
	char mount[1024], home[2048], place[DELAY_GROUP_HOME];
	struct delay_group group = {.alive = -1};
	int r = find_mount(controller, mount, sizeof(mount), &group.unified);

	*ret_group = group;
	if (r < 0)
		return clew_say(message, -ENOTSUP,
				"no control groups with %s are mounted: mount them, or leave out "
				"--quota",
				controller);
	if (!group.unified && !strcmp(controller, "io"))
		name = "blkio";
	r = find_group(pid, name, group.unified, home, sizeof(home));
	if (r < 0)
		return clew_say(message, -EINVAL, "no process %d: give the pid of one that runs",
				(int)pid);
	snprintf(group.home, sizeof(group.home), "%s%s", mount, home);
	r = choose_place(&group, name, place, sizeof(place));
	snprintf(group.path, sizeof(group.path), "%s/clew-try-%d", place, (int)getpid());
	if (r == 0 && mkdir(group.path, 0755) < 0)
		r = -errno;
	if (r == 0) {
		r = start_guard(&group);
		if (r < 0)
			rmdir(group.path);
	}
	if (r == 0)
		r = move(group.path, pid);
	if (r < 0) {
		delay_group_end(&group);
		return clew_say(message, r,
				"no control group in %s: %s: run as root on a machine "
				"whose groups can be changed",
				place, strerror(-r));
	}
	move_children(&group, name, home, pid, 0);
	*ret_group = group;
	return 0;
}

void delay_group_end(struct delay_group *group)
{
	if (group->alive >= 0) {
		close(group->alive);
		while (waitpid(group->guard, NULL, 0) < 0 && errno == EINTR)
			;
	}
	group->alive = -1;
	group->path[0] = '\0';
}
