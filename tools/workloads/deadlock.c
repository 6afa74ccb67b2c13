/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A deadlock of two threads and two mutexes. Ends the process some time after it
 * is established; variant stay: never.
 */
#include "workload.h"

#define FAR 20000000000ull /* later than the process's end */

enum { LOCKED };

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int members[2];

static void embrace(int self)
{
	int me = self == members[1];

	pthread_mutex_lock(&mutexes[me]);
	atomic_fetch_add(&wl->numbers[LOCKED], 1);
	wl_await(&wl->numbers[LOCKED], 2);
	if (me == 1)
		wl_await_blocked(members[0], SYS_futex, (unsigned long)&mutexes[1]);
	wl->tasks[self].before = wl_now();
	pthread_mutex_lock(&mutexes[!me]);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "deadlock");
	uint64_t blocked, now;

	members[1] = WL_NOBODY;
	members[0] = self + 1;
	members[1] = self + 2;
	for (int i = 0; i < 2; i++)
		wl_thread(self, embrace);
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
