/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The classic case of two spans: both start together and contend for one lock,
 * which the second wins; the first is suspended until the second, at 5 ms, lets go.
 */
#include "workload.h"

enum { STARTED, LOCKED, LOCKING };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int first, second;
static uint64_t from, to, worked;

static void lose(int self)
{
	wl_await(&wl->numbers[STARTED], 1);
	while (!atomic_load(&wl->numbers[LOCKED]))
		;
	from = wl->tasks[self].before = wl_now();
	atomic_store(&wl->numbers[LOCKING], 1);
	pthread_mutex_lock(&mutex);
	to = wl_now();
	pthread_mutex_unlock(&mutex);
}

static void win(int self)
{
	struct wl_act act;
	uint64_t start;

	wl_await(&wl->numbers[STARTED], 1);
	pthread_mutex_lock(&mutex);
	atomic_store(&wl->numbers[LOCKED], 1);
	wl_await(&wl->numbers[LOCKING], 1);
	wl_await_blocked(first, SYS_futex, (unsigned long)&mutex);
	start = wl_own_time();
	wl_spin(5000000);
	worked = wl_own_time() - start;
	act = wl_act(self, first);
	pthread_mutex_unlock(&mutex);
	wl_add_holder(wl_acted(&act, "unlock", "futex", "futex", "futex"), self, act.at_min,
		      wl_now());
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "twospan");
	struct wl_charge *charge;
	struct wl_fact *fact;

	first = wl_thread(self, lose);
	second = wl_thread(self, win);
	atomic_store(&wl->numbers[STARTED], 1);
	wl_join(self, first);
	wl_join(self, second);
	fact = wl_fact(first, from, to);
	charge = wl_charge(fact, second, "running", worked - worked / 20 - 100000, to - from);
	charge->chain[0] = first;
	charge->chain_count = 1;
	wl_print();
	return 0;
}
