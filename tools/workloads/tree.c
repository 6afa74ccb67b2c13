/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A tree of processes: children fork grandchildren, some execute a program; each is waited for. */
#include "workload.h"

static void become_program(int self)
{
	/* The program is the same task under a new identity. */
	atomic_store(&wl->tasks[self].ready, 0);
	wl_execute(self, self);
}

static void stay(int self)
{
	wl_spin(wl_random(1000, 300000));
	(void)self;
}

static void start(int self, bool execute)
{
	int child;

	if (!execute) {
		wl_reap(self, wl_fork(self, stay));
		return;
	}
	child = wl_fork(self, become_program);
	/* It introduces itself twice: before and after; `before` tells that the first time is over.
	 */
	for (uint64_t deadline = 0; !wl->tasks[child].before || !wl->tasks[child].ready ||
				    wl->tasks[child].born < wl->tasks[child].before;)
		wl_nap(&deadline, "a program to begin");
	wl_edge("exec", child, child, wl->tasks[child].before, "")->at_max = wl->tasks[child].born;
	wl_reap(self, child);
}

static void branch(int self)
{
	int count = wl_random(1, 3);

	for (int i = 0; i < count; i++)
		start(self, wl_random(0, 1));
}

int main(int argc, char **argv)
{
	int self, count;

	wl_continue(argc, argv);
	self = wl_begin(argc, argv, "tree");
	count = wl_random(2, 4);
	start(self, true);
	for (int i = 0; i < count; i++)
		wl_reap(self, wl_fork(self, branch));
	wl_print();
	return 0;
}
