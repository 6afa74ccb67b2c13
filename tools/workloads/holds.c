/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes locks of all sorts of POSIX threads, and measures how long it has each: from the return of
 * the function that takes it to the call of the one that releases it (at least), and from the call
 * of the first to the return of the second (at most).
 *
 * Prints a JSON object: by lock, its address, takes, refusals, and ns held.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define QUIET  500
#define NESTED 50
#define READS  300
#define WRITES 50
#define TRIES  40
#define TURNS  20
#define OTHERS 30

struct held {
	uint64_t takes, shared, refused, least, most, longest;
	uint64_t called, taken; /* ns, of the hold that is under way */
};

static pthread_mutex_t quiet_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t nested_lock, robust_lock, inherit_lock;
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tried_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void calls(struct held *held)
{
	held->called = now();
}

static void takes(struct held *held)
{
	held->taken = now();
	held->takes++;
}

/* `before`: when the function that releases it was called. */
static void released(struct held *held, uint64_t before)
{
	uint64_t least = before - held->taken;

	held->least += least;
	held->most += now() - held->called;
	held->longest = least > held->longest ? least : held->longest;
}

static void mutex_take(pthread_mutex_t *mutex, struct held *held)
{
	calls(held);
	pthread_mutex_lock(mutex);
	takes(held);
}

static void mutex_release(pthread_mutex_t *mutex, struct held *held)
{
	uint64_t before = now();

	pthread_mutex_unlock(mutex);
	released(held, before);
}

static void take_quietly(pthread_mutex_t *mutex, struct held *held, int count)
{
	for (int i = 0; i < count; i++) {
		mutex_take(mutex, held);
		if (i == count / 2)
			usleep(150000);
		mutex_release(mutex, held);
	}
}

static void take_nested(struct held *held)
{
	for (int i = 0; i < NESTED; i++) {
		mutex_take(&nested_lock, held);
		pthread_mutex_lock(&nested_lock);
		pthread_mutex_unlock(&nested_lock);
		usleep(100);
		mutex_release(&nested_lock, held);
	}
}

static void take_table(struct held *held)
{
	for (int i = 0; i < READS + WRITES; i++) {
		uint64_t before;

		calls(held);
		if (i < READS)
			pthread_rwlock_rdlock(&table_lock);
		else
			pthread_rwlock_wrlock(&table_lock);
		takes(held);
		held->shared += i < READS;
		before = now();
		pthread_rwlock_unlock(&table_lock);
		released(held, before);
	}
}

static void *try_it(void *context)
{
	struct held *held = context;

	for (int i = 0; i < TRIES; i++)
		held->refused += pthread_mutex_trylock(&tried_lock) == EBUSY;
	return NULL;
}

static void take_tried(struct held *held)
{
	pthread_t other;

	mutex_take(&tried_lock, held);
	pthread_create(&other, NULL, try_it, held);
	pthread_join(other, NULL);
	mutex_release(&tried_lock, held);
}

/* Two threads take turns: each has the lock but while it waits for the other one's signal. */
static void *take_turns(void *context)
{
	struct held *held = context;
	int mine = held->refused != 0;

	held->refused = 0;
	mutex_take(&turn_lock, held);
	for (int i = 0; i < TURNS; i++) {
		while (turn != mine) {
			uint64_t before = now();

			released(held, before);
			calls(held);
			pthread_cond_wait(&turned, &turn_lock);
			takes(held);
		}
		usleep(500);
		turn = !mine;
		pthread_cond_signal(&turned);
	}
	mutex_release(&turn_lock, held);
	return NULL;
}

static void print(const char *name, const void *address, const struct held *held, const char *end)
{
	printf("\"%s\": {\"address\": %ju, \"takes\": %ju, \"shared\": %ju, \"refused\": %ju, "
	       "\"least\": %ju, \"most\": %ju, \"longest\": %ju}%s",
	       name, (uintmax_t)(uintptr_t)address, (uintmax_t)held->takes, (uintmax_t)held->shared,
	       (uintmax_t)held->refused, (uintmax_t)held->least, (uintmax_t)held->most,
	       (uintmax_t)held->longest, end);
}

static void make_lock(pthread_mutex_t *mutex, int type, int robust, int protocol)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

int main(void)
{
	struct held quiet = {}, nested = {}, table = {}, tried = {}, robust = {}, inherit = {};
	struct held turns[2] = {{}, {.refused = 1}};
	pthread_t threads[2];

	make_lock(&nested_lock, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
	make_lock(&robust_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	make_lock(&inherit_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	take_quietly(&quiet_lock, &quiet, QUIET);
	take_quietly(&robust_lock, &robust, OTHERS);
	take_quietly(&inherit_lock, &inherit, OTHERS);
	take_nested(&nested);
	take_table(&table);
	take_tried(&tried);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take_turns, &turns[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	turns[0].takes += turns[1].takes;
	turns[0].least += turns[1].least;
	turns[0].most += turns[1].most;
	usleep(200000); /* so that its variables can be found */
	printf("{");
	print("quiet_lock", &quiet_lock, &quiet, ", ");
	print("robust_lock", &robust_lock, &robust, ", ");
	print("inherit_lock", &inherit_lock, &inherit, ", ");
	print("nested_lock", &nested_lock, &nested, ", ");
	print("table_lock", &table_lock, &table, ", ");
	print("tried_lock", &tried_lock, &tried, ", ");
	print("turn_lock", &turn_lock, &turns[0], "}\n");
	return 0;
}
