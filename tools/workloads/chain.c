/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A chain of different waits: one reads a pipe whose writer waits for a mutex
 * whose holder sleeps.
 */
#include "workload.h"

enum { LOCKED, READING, LOCKING };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int reader, writer, holder, ends[2];
static uint64_t asleep, work, worked, after;

static void hold(int self)
{
	struct wl_act act;

	pthread_mutex_lock(&mutex);
	atomic_store(&wl->numbers[LOCKED], 1);
	wl_await(&wl->numbers[READING], 1);
	wl_await_blocked(reader, SYS_read, ends[0]);
	wl_await(&wl->numbers[LOCKING], 1);
	wl_await_blocked(writer, SYS_futex, (unsigned long)&mutex);
	wl_sleep(asleep);
	act = wl_act(self, writer);
	pthread_mutex_unlock(&mutex);
	wl_add_holder(wl_acted(&act, "unlock", "futex", "futex", "futex"), self, act.at_min,
		      wl_now());
}

static void write_after_lock(int self)
{
	struct wl_act act;

	wl_await(&wl->numbers[LOCKED], 1);
	wl->tasks[self].before = wl_now();
	atomic_store(&wl->numbers[LOCKING], 1);
	pthread_mutex_lock(&mutex);
	worked = wl_own_time();
	wl_spin(work);
	worked = wl_own_time() - worked;
	act = wl_act(self, reader);
	WL_CHECK(write(ends[1], "x", 1));
	wl_acted(&act, "pipe", "pipe", "read", "pipe");
	pthread_mutex_unlock(&mutex);
}

static void read_it(int self)
{
	char byte;

	wl_await(&wl->numbers[LOCKED], 1);
	wl->tasks[self].before = wl_now();
	atomic_store(&wl->numbers[READING], 1);
	WL_CHECK(read(ends[0], &byte, 1));
	after = wl_now();
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "chain");
	struct wl_charge *charge;
	struct wl_fact *fact;

	WL_CHECK(pipe(ends));
	asleep = wl_random(5, 20) * 1000000;
	work = wl_random(1, 3) * 1000000;
	reader = wl_thread(self, read_it);
	writer = wl_thread(self, write_after_lock);
	holder = wl_thread(self, hold);
	wl_join(self, reader);
	wl_join(self, writer);
	wl_join(self, holder);
	fact = wl_fact(reader, wl->tasks[reader].before, after);
	charge =
		wl_charge(fact, holder, "sleep", asleep - asleep / 50 - 200000, after - fact->from);
	charge->chain[0] = reader;
	charge->chain[1] = writer;
	charge->chain[2] = holder;
	charge->chain_count = 3;
	charge = wl_charge(fact, writer, "running", worked / 2, after - fact->from);
	charge->chain[0] = reader;
	charge->chain_count = 1;
	wl_print();
	return 0;
}
