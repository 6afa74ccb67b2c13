/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A barrier: the last to arrive releases all others at once, one cause with n effects. */
#include "workload.h"

#define MOST 6

enum { ROUND, LAST, ARRIVING, LEFT };

static pthread_barrier_t barrier;
static int members[MOST], count, rounds;

static void release(int self)
{
	uint64_t before[MOST], at_min, at_max;
	struct wl_edge *edge;

	wl_await(&wl->numbers[ARRIVING], count - 1);
	for (int i = 0; i < count; i++)
		if (members[i] != self)
			wl_await_blocked(members[i], SYS_futex, WL_ANY_ARGUMENT);
	for (int i = 0; i < count; i++)
		before[i] = wl->tasks[members[i]].before;
	at_min = wl_now();
	pthread_barrier_wait(&barrier);
	at_max = wl_now();
	edge = wl_edge("wake", self, self, at_min, "futex");
	edge->at_max = at_max;
	edge->to_count = 0;
	for (int i = 0; i < count; i++) {
		struct wl_wait *wait;

		if (members[i] == self)
			continue;
		edge->to[edge->to_count++] = members[i];
		wait = wl_wait(members[i], "futex", "futex", "futex");
		wl_wait_times(wait, before[i], at_min, at_max);
		wait->ended_by = self;
	}
}

static void meet(int self)
{
	for (int round = 1; round <= rounds; round++) {
		wl_await(&wl->numbers[ROUND], round);
		if (members[wl->numbers[LAST]] == self) {
			release(self);
		} else {
			wl_sleep(wl_random(1000, 500000));
			wl->tasks[self].before = wl_now();
			atomic_fetch_add(&wl->numbers[ARRIVING], 1);
			pthread_barrier_wait(&barrier);
		}
		atomic_fetch_add(&wl->numbers[LEFT], 1);
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "barrier");

	count = wl_random(3, MOST);
	rounds = wl_random(4, 10);
	pthread_barrier_init(&barrier, NULL, count);
	for (int i = 0; i < count; i++)
		members[i] = wl_thread(self, meet);
	for (int round = 1; round <= rounds; round++) {
		atomic_store(&wl->numbers[LAST], wl_random(0, count - 1));
		atomic_store(&wl->numbers[ARRIVING], 0);
		atomic_store(&wl->numbers[LEFT], 0);
		atomic_store(&wl->numbers[ROUND], round);
		wl_await(&wl->numbers[LEFT], count);
	}
	for (int i = 0; i < count; i++)
		wl_join(self, members[i]);
	wl_print();
	return 0;
}
