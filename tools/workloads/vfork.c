/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * vfork: the parent sleeps until the child executes a program or ends. Also by
 * posix_spawn, where it cannot be known that the parent sleeps in time.
 */
#include <spawn.h>

#include "workload.h"

/* In the child, which borrows the parent's memory: only what leaves no trace in it. */
static void become(int task, int parent, bool execute)
{
	struct wl_task *child = &wl->tasks[task];

	int tid;

	wl_own_ids(&child->pid, &tid);
	child->tid = tid;
	child->born = wl_now();
	wl_await_blocked(parent, SYS_vfork, WL_ANY_ARGUMENT);
	if (execute)
		wl_execute(task, task);
	child->leaving = wl_now();
	_exit(0);
}

static void log_vfork(int parent, int child, uint64_t before, uint64_t at_min, uint64_t at_max)
{
	struct wl_wait *wait = wl_wait(parent, "vfork", "vfork", "");

	wl_edge("vfork", child, parent, at_min, "")->at_max = at_max;
	wl_wait_times(wait, before, at_min, at_max);
	wait->ended_by = child;
}

static void run_vfork(int self, bool execute)
{
	int child = wl_new_task();
	uint64_t before = wl_now(), after;
	pid_t pid = vfork();

	if (pid == 0)
		become(child, self, execute);
	after = wl_now();
	if (pid < 0)
		wl_die("vfork: %s", strerror(errno));
	if (execute) {
		uint64_t forked = wl->tasks[child].before;

		wl_await(&wl->tasks[child].ready, 1);
		wl_edge("fork", self, child, before, "")->at_max = forked;
		wl_edge("exec", child, child, forked, "")->at_max = wl->tasks[child].born;
		log_vfork(self, child, before, forked, after);
		wl_reap(self, child);
		return;
	}
	wl_edge("fork", self, child, before, "")->at_max = wl->tasks[child].born;
	log_vfork(self, child, before, wl->tasks[child].leaving, after);
	/* It may be dead already when its parent waits for it. */
	waitpid(pid, NULL, 0);
	wl_edge("exit", child, self, wl->tasks[child].leaving, "")->optional = true;
}

static void run_spawn(int self)
{
	int child = wl_new_task();
	char task[16], log[16];
	char *arguments[] = {"/proc/self/exe", "--continue", task, log, NULL};
	char *environment[] = {NULL};
	uint64_t before, after;
	struct wl_edge *edge;
	pid_t pid;

	snprintf(task, sizeof(task), "%d", child);
	snprintf(log, sizeof(log), "%d", wl_log_fd);
	before = wl_now();
	errno = posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environment);
	after = wl_now();
	if (errno)
		wl_die("posix_spawn: %s", strerror(errno));
	wl_await(&wl->tasks[child].ready, 1);
	wl_edge("fork", self, child, before, "")->at_max = wl->tasks[child].born;
	wl_edge("exec", child, child, before, "")->at_max = wl->tasks[child].born;
	edge = wl_edge("vfork", child, self, before, "");
	edge->at_max = after;
	edge->optional = true;
	wl_reap(self, child);
}

int main(int argc, char **argv)
{
	int self, rounds;

	wl_continue(argc, argv);
	self = wl_begin(argc, argv, "vfork");
	rounds = wl_random(3, 6);
	for (int round = 0; round < rounds; round++) {
		if (round % 3 == 2)
			run_spawn(self);
		else
			run_vfork(self, round % 3 == 0);
	}
	wl_print();
	return 0;
}
