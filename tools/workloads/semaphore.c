/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A semaphore: each post wakes one of several who wait, first come first. Nobody holds it. */
#include <semaphore.h>

#include "workload.h"

#define MOST 4

enum { ROUND, RETURNED, WHO };

static sem_t semaphore;
static int waiters[MOST], count, rounds;

static void wait_for_it(int self)
{
	for (int round = 1; round <= rounds; round++) {
		wl_await(&wl->numbers[ROUND], round);
		wl->tasks[self].before = wl_now();
		while (sem_wait(&semaphore) < 0)
			;
		atomic_store(&wl->numbers[WHO], self);
		atomic_fetch_add(&wl->numbers[RETURNED], 1);
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "semaphore");

	count = wl_random(2, MOST);
	rounds = wl_random(3, 8);
	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < count; i++)
		waiters[i] = wl_thread(self, wait_for_it);
	for (int round = 1; round <= rounds; round++) {
		atomic_store(&wl->numbers[RETURNED], 0);
		atomic_store(&wl->numbers[ROUND], round);
		for (int i = 0; i < count; i++)
			wl_await_blocked(waiters[i], SYS_futex, (unsigned long)&semaphore);
		for (int i = 0; i < count; i++) {
			uint64_t at_min = wl_now(), at_max;
			struct wl_wait *wait;
			int woken;

			sem_post(&semaphore);
			at_max = wl_now();
			wl_await(&wl->numbers[RETURNED], i + 1);
			woken = wl->numbers[WHO];
			wl_edge("wake", self, woken, at_min, "futex")->at_max = at_max;
			wait = wl_wait(woken, "futex", "futex", "futex");
			wl_wait_times(wait, wl->tasks[woken].before, at_min, at_max);
			wait->ended_by = self;
		}
	}
	for (int i = 0; i < count; i++)
		wl_join(self, waiters[i]);
	wl_print();
	return 0;
}
