/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A deadlock of two threads and two mutexes. Ends the process some time after it
 * is established; variant stay: never. Variant timed: the first one gives up after a time and
 * lets go of its mutex, which the other one then gets.
 */
#include "workload.h"

#define FAR 20000000000ull /* later than the process's end */

enum { LOCKED };

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int members[2];
static bool timed;
static uint64_t until, gave_up, let_go;

static void embrace(int self)
{
	int me = self == members[1];
	struct timespec time;

	pthread_mutex_lock(&mutexes[me]);
	atomic_fetch_add(&wl->numbers[LOCKED], 1);
	wl_await(&wl->numbers[LOCKED], 2);
	if (me == 1)
		wl_await_blocked(members[0], SYS_futex, (unsigned long)&mutexes[1]);
	wl->tasks[self].before = wl_now();
	if (me == 1 || !timed) {
		pthread_mutex_lock(&mutexes[!me]);
		return;
	}
	until = wl->tasks[self].before + wl_random(15, 40) * 1000000;
	time = (struct timespec){.tv_sec = (time_t)(until / 1000000000),
				 .tv_nsec = (long)(until % 1000000000)};
	if (!pthread_mutex_clocklock(&mutexes[!me], CLOCK_MONOTONIC, &time))
		wl_die("the mutex was free");
	gave_up = wl_now();
	pthread_mutex_unlock(&mutexes[me]);
	let_go = wl_now();
}

static void print_timed(void)
{
	struct wl_wait *first = wl_wait(members[0], "futex", "futex", "futex"),
		       *second = wl_wait(members[1], "futex", "futex", "futex");
	uint64_t before = wl->tasks[members[1]].before;

	wl_wait_times(first, wl->tasks[members[0]].before, until, gave_up);
	first->start_max = before;
	wl_add_holder(first, members[1], until, gave_up);
	wl_wait_times(second, before, gave_up, let_go);
	second->start_max = until;
	second->ended_by = members[0];
	wl_add_holder(second, members[0], gave_up, let_go);
	wl_edge("unlock", members[0], members[1], gave_up, "futex")->at_max = let_go;
	wl_print();
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "deadlock");
	uint64_t blocked, now;

	members[1] = WL_NOBODY;
	members[0] = self + 1;
	members[1] = self + 2;
	timed = strcmp(wl->variant, "timed") == 0;
	for (int i = 0; i < 2; i++)
		wl_thread(self, embrace);
	if (timed) {
		for (int i = 0; i < 2; i++)
			wl_join(self, members[i]);
		print_timed();
		return 0;
	}
	for (int i = 0; i < 2; i++)
		wl_await_blocked(members[i], SYS_futex, (unsigned long)&mutexes[!i]);
	blocked = wl_now();
	wl_sleep(wl_random(5, 30) * 1000000);
	now = wl_now();
	for (int i = 0; i < 2; i++) {
		struct wl_wait *wait = wl_wait(members[i], "futex", "futex", "futex");
		struct wl_edge *edge = wl_edge("signal", self, members[i], now, "");
		struct wl_fact *fact = wl_fact(members[i], blocked, now);

		/* The end of the process kills both. */
		edge->optional = true;
		edge->at_max = now + FAR;
		wl_wait_times(wait, wl->tasks[members[i]].before, now, now + FAR);
		wait->start_max = blocked;
		wl_add_holder(wait, members[!i], now, now + FAR);
		wl_charge(fact, WL_NOBODY, "futex", now - blocked, now - blocked)->cycle = true;
	}
	wl_print();
	if (strcmp(wl->variant, "stay") == 0)
		for (;;)
			pause();
	_exit(0);
}
