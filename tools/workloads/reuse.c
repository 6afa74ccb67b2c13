/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes that live one after the other under the same tid. */
#include <linux/sched.h>

#include "workload.h"

static int ends[2];

static void read_one(int self)
{
	char byte;

	wl->tasks[self].before = wl_now();
	WL_CHECK(read(ends[0], &byte, 1));
}

/* Like fork, but the child's tid is chosen. */
static int fork_as(int self, int tid)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD, .set_tid = (unsigned long)&tid, .set_tid_size = 1};
	int child = wl_new_task();
	uint64_t before = wl_now();
	long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

	if (pid < 0 && (errno == EPERM || errno == ENOSYS || errno == EINVAL))
		wl_skip("clone3 with set_tid is refused");
	WL_CHECK(pid);
	if (pid == 0) {
		wl_introduce(child);
		read_one(child);
		wl_leave(child, SYS_wait4);
		_exit(0);
	}
	wl_edge("fork", self, child, before, "");
	wl_await(&wl->tasks[child].ready, 1);
	return child;
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "reuse"), rounds = wl_random(3, 6), tid = 0;

	WL_CHECK(pipe(ends));
	for (int round = 0; round < rounds; round++) {
		int child = round ? fork_as(self, tid) : wl_fork(self, read_one);
		struct wl_act act;

		tid = wl->tasks[child].pid;
		wl_await_blocked(child, SYS_read, ends[0]);
		act = wl_act(self, child);
		WL_CHECK(write(ends[1], "x", 1));
		wl_acted(&act, "pipe", "pipe", "read", "pipe");
		wl_reap(self, child);
	}
	wl_print();
	return 0;
}
