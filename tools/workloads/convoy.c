/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A convoy: several waiters behind a holder that sleeps with the lock held. The
 * last one's time is the holder's sleep.
 */
#include "workload.h"

#define MOST 5

enum { LOCKED, COUNT };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int holder, waiters[MOST], count;
static uint64_t asleep;
static uint64_t release_min[MOST + 1], release_max[MOST + 1], after[MOST];

static void await_waiter(int place)
{
	wl_await(&wl->numbers[COUNT], place + 1);
	wl_await_blocked(waiters[place], SYS_futex, (unsigned long)&mutex);
}

static void release(int place)
{
	release_min[place] = wl_now();
	pthread_mutex_unlock(&mutex);
	release_max[place] = wl_now();
}

static void hold(int self)
{
	(void)self;
	pthread_mutex_lock(&mutex);
	atomic_store(&wl->numbers[LOCKED], 1);
	await_waiter(count - 1);
	wl_sleep(asleep);
	release(0);
}

static void wait_for_it(int self)
{
	int place = 0;

	wl_await(&wl->numbers[LOCKED], 1);
	while (waiters[place] != self)
		place++;
	if (place > 0)
		await_waiter(place - 1);
	wl->tasks[self].before = wl_now();
	atomic_store(&wl->numbers[COUNT], place + 1);
	pthread_mutex_lock(&mutex);
	wl_spin(wl_random(1000, 300000));
	release(place + 1);
	after[place] = wl_now();
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "convoy");
	struct wl_charge *charge;
	struct wl_fact *fact;

	count = wl_random(3, MOST);
	asleep = wl_random(5, 20) * 1000000;
	for (int i = 0; i < count; i++)
		waiters[i] = wl_thread(self, wait_for_it);
	holder = wl_thread(self, hold);
	wl_join(self, holder);
	for (int i = 0; i < count; i++)
		wl_join(self, waiters[i]);
	for (int i = 0; i < count; i++) {
		int previous = i ? waiters[i - 1] : holder;
		struct wl_wait *wait = wl_wait(waiters[i], "futex", "futex", "futex");

		wl_edge("unlock", previous, waiters[i], release_min[i], "futex")->at_max =
			release_max[i];
		wl_wait_times(wait, wl->tasks[waiters[i]].before, release_min[i], release_max[i]);
		wait->start_max = release_min[0];
		wait->ended_by = previous;
		for (int j = 0; j <= i; j++)
			wl_add_holder(wait, j ? waiters[j - 1] : holder, release_min[j],
				      release_max[j]);
	}
	fact = wl_fact(waiters[count - 1], wl->tasks[waiters[count - 1]].before, after[count - 1]);
	charge = wl_charge(fact, holder, "sleep", asleep - asleep / 50 - 200000,
			   release_max[0] - fact->from);
	charge->chain[0] = waiters[count - 1];
	charge->chain[1] = holder;
	charge->chain_count = 2;
	wl_print();
	return 0;
}
