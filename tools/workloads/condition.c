/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A condition variable: signalled with the mutex free, signalled and broadcast
 * with the mutex held, where those who wake must wait for it once more.
 */
#include "workload.h"

#define MOST 4

enum { ROUND, WAITING, RETURNED, TURN };
enum { SIGNAL_FREE, SIGNAL_HELD, BROADCAST_HELD, WAYS };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int waiters[MOST], count, rounds;
static int turns[MOST]; /* who took the mutex, in order */
static uint64_t relock[MOST], release_min[MOST + 1], release_max[MOST + 1];

static void wait_for_it(int self)
{
	int me = self - waiters[0];

	for (int round = 1; round <= rounds; round++) {
		int turn;

		wl_await(&wl->numbers[ROUND], round);
		wl_await(&wl->numbers[WAITING], me);
		if (me > 0)
			wl_await_blocked(waiters[me - 1], SYS_futex, WL_ANY_ARGUMENT);
		pthread_mutex_lock(&mutex);
		atomic_fetch_add(&wl->numbers[WAITING], 1);
		wl->tasks[self].before = wl_now();
		pthread_cond_wait(&condition, &mutex);
		turn = atomic_fetch_add(&wl->numbers[TURN], 1);
		turns[turn] = me;
		wl_spin(wl_random(1000, 100000));
		release_min[turn + 1] = wl_now();
		pthread_mutex_unlock(&mutex);
		release_max[turn + 1] = wl_now();
		atomic_fetch_add(&wl->numbers[RETURNED], 1);
	}
}

static void log_mutex_wait(int self, int turn)
{
	int waiter = waiters[turns[turn]], previous = turn ? waiters[turns[turn - 1]] : self;
	struct wl_wait *wait = wl_wait(waiter, "futex", "futex", "futex");

	wl_edge("unlock", previous, waiter, release_min[turn], "futex")->at_max = release_max[turn];
	wl_wait_times(wait, relock[turns[turn]], release_min[turn], release_max[turn]);
	wait->start_max = release_min[0];
	wait->ended_by = previous;
	for (int i = 0; i <= turn; i++)
		wl_add_holder(wait, i ? waiters[turns[i - 1]] : self, release_min[i],
			      release_max[i]);
}

static int at_mutex(void)
{
	int blocked = 0;

	for (int i = 0; i < count; i++)
		blocked +=
			wl_is_blocked(wl->tasks[waiters[i]].tid, SYS_futex, (unsigned long)&mutex);
	return blocked;
}

static void hold_and_release(int self, int woken)
{
	uint64_t deadline = 0;

	while (at_mutex() < woken)
		wl_nap(&deadline, "waiters at the mutex");
	wl_sleep(wl_random(100000, 2000000));
	release_min[0] = wl_now();
	pthread_mutex_unlock(&mutex);
	release_max[0] = wl_now();
	wl_await(&wl->numbers[RETURNED], woken);
	for (int turn = 0; turn < woken; turn++)
		log_mutex_wait(self, turn);
}

static void log_condition_wait(int self, int waiter, uint64_t before, uint64_t at_min,
			       uint64_t at_max)
{
	struct wl_wait *wait = wl_wait(waiter, "futex", "futex", "futex");

	wl_wait_times(wait, before, at_min, at_max);
	wait->ended_by = self;
}

static void broadcast(int self)
{
	struct wl_edge *edge;
	uint64_t at_min, at_max;

	pthread_mutex_lock(&mutex);
	at_min = wl_now();
	pthread_cond_broadcast(&condition);
	at_max = wl_now();
	edge = wl_edge("wake", self, waiters[0], at_min, "futex");
	edge->at_max = at_max;
	edge->to_count = count;
	for (int i = 0; i < count; i++) {
		edge->to[i] = waiters[i];
		relock[i] = at_min;
		log_condition_wait(self, waiters[i], wl->tasks[waiters[i]].before, at_min, at_max);
	}
	hold_and_release(self, count);
}

static void signal_one(int self, bool held)
{
	uint64_t at_min, at_max;

	atomic_store(&wl->numbers[TURN], 0);
	atomic_store(&wl->numbers[RETURNED], 0);
	if (held)
		pthread_mutex_lock(&mutex);
	at_min = wl_now();
	pthread_cond_signal(&condition);
	at_max = wl_now();
	for (int i = 0; i < count; i++)
		relock[i] = at_min;
	if (held)
		hold_and_release(self, 1);
	else
		wl_await(&wl->numbers[RETURNED], 1);
	wl_edge("wake", self, waiters[turns[0]], at_min, "futex")->at_max = at_max;
	log_condition_wait(self, waiters[turns[0]], wl->tasks[waiters[turns[0]]].before, at_min,
			   at_max);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "condition");

	count = wl_random(2, MOST);
	rounds = wl_random(3, 8);
	for (int i = 0; i < count; i++)
		waiters[i] = self + 1 + i;
	for (int i = 0; i < count; i++)
		wl_thread(self, wait_for_it);
	for (int round = 1; round <= rounds; round++) {
		int way = round <= WAYS ? round - 1 : (int)wl_random(0, WAYS - 1);

		atomic_store(&wl->numbers[WAITING], 0);
		atomic_store(&wl->numbers[TURN], 0);
		atomic_store(&wl->numbers[RETURNED], 0);
		atomic_store(&wl->numbers[ROUND], round);
		wl_await(&wl->numbers[WAITING], count);
		for (int i = 0; i < count; i++)
			wl_await_blocked(waiters[i], SYS_futex, WL_ANY_ARGUMENT);
		if (way == BROADCAST_HELD)
			broadcast(self);
		else
			for (int i = 0; i < count; i++)
				signal_one(self, way == SIGNAL_HELD);
	}
	for (int i = 0; i < count; i++)
		wl_join(self, waiters[i]);
	wl_print();
	return 0;
}
