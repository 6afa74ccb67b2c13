/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that is not its process's leader executes a program: it takes the
 * leader's tid, and the leader dies of it.
 */
#include "workload.h"

enum { THREAD };

static int leader, program;

static void execute(int self)
{
	atomic_store(&wl->numbers[THREAD], self);
	wl_await_blocked(leader, SYS_pause, WL_ANY_ARGUMENT);
	wl_sleep(wl_random(1000, 3000000));
	wl_execute(self, program);
}

static void lead(int self)
{
	leader = self;
	wl_thread(self, execute);
	wl->tasks[self].before = wl_now();
	for (;;)
		pause();
}

static void run(int self)
{
	uint64_t before, born;
	struct wl_wait *wait;
	int thread;

	program = wl_new_task();
	leader = wl_fork(self, lead);
	wl_await(&wl->tasks[program].ready, 1);
	thread = wl->numbers[THREAD];
	before = wl->tasks[thread].before;
	born = wl->tasks[program].born;
	wl_edge("exec", thread, program, before, "")->at_max = born;
	/* The leader is killed; its end is what the executing thread waits for, if it still must.
	 */
	wl_edge("signal", thread, leader, before, "")->at_max = born;
	wait = wl_wait(leader, PAUSE_KIND, "pause", "");
	wl_wait_times(wait, wl->tasks[leader].before, before, born);
	wait->ended_by = thread;
	wl_edge("exit", leader, thread, before, "")->at_max = born;
	wl->edges[wl->edge_count - 1].optional = true;
	wl_reap(self, program);
}

int main(int argc, char **argv)
{
	int self, rounds;

	wl_continue(argc, argv);
	self = wl_begin(argc, argv, "execthread");
	rounds = wl_random(2, 4);
	for (int round = 0; round < rounds; round++)
		run(self);
	wl_print();
	return 0;
}
