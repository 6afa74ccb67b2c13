/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A read-write lock: a writer releases several readers, a reader a writer, and a
 * writer a writer. Only a writer is a holder.
 */
#include "workload.h"

#define MOST 4

enum { READERS, OUT };
enum { READ = 1, WRITE = 2, END = -1 }; /* in wl_task.step */
enum { WRITER_READERS, READER_WRITER, WRITER_WRITER, WAYS };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int members[MOST], count;

static void take(int self)
{
	int order;

	while ((order = wl_await_order(&wl->tasks[self].step)) != END) {
		wl->tasks[self].before = wl_now();
		if (order == READ)
			pthread_rwlock_rdlock(&lock);
		else
			pthread_rwlock_wrlock(&lock);
		atomic_fetch_add(&wl->numbers[OUT], 1);
		/* All are in before the first goes: the last one out wakes nobody. */
		wl_await(&wl->numbers[OUT], wl->numbers[READERS]);
		pthread_rwlock_unlock(&lock);
		atomic_store(&wl->tasks[self].step, 0);
	}
}

static void give(int self, int way)
{
	int waiting = way == WRITER_READERS ? count : 1;
	uint64_t at_min, at_max, before[MOST];
	struct wl_edge *edge;

	if (way == READER_WRITER)
		pthread_rwlock_rdlock(&lock);
	else
		pthread_rwlock_wrlock(&lock);
	atomic_store(&wl->numbers[READERS], waiting);
	atomic_store(&wl->numbers[OUT], 0);
	for (int i = 0; i < waiting; i++)
		atomic_store(&wl->tasks[members[i]].step, way == WRITER_READERS ? READ : WRITE);
	for (int i = 0; i < waiting; i++)
		wl_await_blocked(members[i], SYS_futex, WL_ANY_ARGUMENT);
	wl_sleep(wl_random(100000, 2000000));
	for (int i = 0; i < waiting; i++)
		before[i] = wl->tasks[members[i]].before;
	at_min = wl_now();
	pthread_rwlock_unlock(&lock);
	at_max = wl_now();
	edge = wl_edge(way == READER_WRITER ? "wake|unlock" : "unlock", self, self, at_min,
		       "futex");
	edge->at_max = at_max;
	edge->to_count = waiting;
	for (int i = 0; i < waiting; i++) {
		struct wl_wait *wait = wl_wait(members[i], "futex", "futex", "futex");

		edge->to[i] = members[i];
		wl_wait_times(wait, before[i], at_min, at_max);
		wait->ended_by = self;
		if (way == READER_WRITER)
			wait->holder_count = WL_UNCHECKED;
		else
			wl_add_holder(wait, self, at_min, at_max);
	}
	for (int i = 0; i < waiting; i++)
		wl_await(&wl->tasks[members[i]].step, 0);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "rwlock");
	int rounds;

	count = wl_random(2, MOST);
	rounds = wl_random(3, 9);
	for (int i = 0; i < count; i++)
		members[i] = wl_thread(self, take);
	for (int round = 0; round < rounds; round++)
		give(self, round % WAYS);
	for (int i = 0; i < count; i++) {
		atomic_store(&wl->tasks[members[i]].step, END);
		wl_join(self, members[i]);
	}
	wl_print();
	return 0;
}
