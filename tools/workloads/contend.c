/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One lock that several threads want at random moments and hold for random times. Each
 * thread writes down when it held the lock. Variants: mutex, adaptive, robust, pi, shared,
 * timed (pthread_mutex_timedlock, which gives up), rwlock, word (three states, no owner);
 * woken: one round in which the waiter that a release wakes has no CPU for long, while
 * another one takes the lock.
 */
#include <linux/futex.h>
#include <sched.h>

#include "workload.h"

#define THREADS 6
#define MOST	600

struct hold {
	uint64_t from;
	uint64_t to;
};

/* Plain threads, none of the log's tasks: no workload knows who wakes whom here. */
struct thread {
	pthread_t thread;
	_Atomic int tid;
	int count;
	struct hold holds[MOST];
};

static struct thread threads[THREADS];
static pthread_mutex_t *mutex;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic int word;
static enum { MUTEX, TIMED, RWLOCK, WORD } sort;
static uint64_t ends;

static void futex_call(int operation, int value)
{
	syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void take_word(void)
{
	int found = 0;

	if (atomic_compare_exchange_strong(&word, &found, 1))
		return;
	while (atomic_exchange(&word, 2) != 0)
		futex_call(FUTEX_WAIT, 2);
}

/* False: it gave up. `alone`: the rwlock lets in one writer, else readers. */
static bool take(bool alone)
{
	struct timespec until;

	switch (sort) {
	case TIMED:
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 300000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		return pthread_mutex_timedlock(mutex, &until) == 0;
	case RWLOCK:
		return (alone ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&rwlock) == 0;
	case WORD:
		take_word();
		return true;
	default:
		return pthread_mutex_lock(mutex) == 0;
	}
}

static void let_go(void)
{
	if (sort == RWLOCK)
		pthread_rwlock_unlock(&rwlock);
	else if (sort != WORD)
		pthread_mutex_unlock(mutex);
	else if (atomic_exchange(&word, 0) == 2)
		futex_call(FUTEX_WAKE, 1);
}

static struct thread *introduce(int number)
{
	struct thread *self = &threads[number];
	int pid, tid;

	wl_random_state = wl->seed * 1000003 + (uint64_t)number * 7919 + 1;
	prctl(PR_SET_TIMERSLACK, 1);
	wl_own_ids(&pid, &tid);
	atomic_store(&self->tid, tid);
	return self;
}

static void note(struct thread *self, uint64_t from)
{
	if (self->count == MOST)
		wl_die("too many holds");
	self->holds[self->count++] = (struct hold){.from = from, .to = wl_now()};
}

static void *want(void *argument)
{
	struct thread *self = introduce((int)(intptr_t)argument);

	while (wl_now() < ends && self->count < MOST) {
		bool alone = sort != RWLOCK || wl_random(0, 2) == 0;
		uint64_t from, kind = wl_random(0, 19);

		if (!take(alone))
			continue;
		from = wl_now();
		if (kind < 18)
			wl_spin(wl_random(0, kind < 12 ? 60000 : 600000));
		else
			wl_sleep(300000);
		note(self, from);
		let_go();
		if (wl_random(0, 2))
			wl_spin(wl_random(0, 200000));
		if (wl_random(0, 7) == 0)
			wl_sleep(500000);
	}
	return NULL;
}

/* ---- woken ---- */

enum { FIRST, WOKEN, WAITER, BARGER, HOG }; /* in `threads` */
enum { HELD, QUEUED, HOGGED, RELEASED };    /* in wl->numbers */

static uint64_t lasts;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	WL_CHECK(sched_setaffinity(0, sizeof(set), &set));
}

static void await_at_mutex(int number)
{
	uint64_t deadline = 0;

	while (!wl_is_blocked(threads[number].tid, SYS_futex, (unsigned long)mutex))
		wl_nap(&deadline, "a waiter at the mutex");
}

static void *play_woken(void *argument)
{
	int number = (int)(intptr_t)argument;
	struct thread *self = introduce(number);
	struct sched_param priority = {.sched_priority = 10};
	uint64_t from;

	pin(number == WOKEN || number == HOG);
	switch (number) {
	case HOG:
		wl_await(&wl->numbers[QUEUED], 1);
		WL_CHECK(sched_setscheduler(0, SCHED_FIFO, &priority));
		atomic_store(&wl->numbers[HOGGED], 1);
		wl_spin(lasts * 2);
		return NULL;
	case WOKEN:
		wl_await(&wl->numbers[HELD], 1);
		break;
	case WAITER:
		wl_await(&wl->numbers[HELD], 1);
		await_at_mutex(WOKEN);
		break;
	case BARGER:
		wl_await(&wl->numbers[RELEASED], 1);
		break;
	}
	pthread_mutex_lock(mutex);
	from = wl_now();
	if (number == FIRST) {
		atomic_store(&wl->numbers[HELD], 1);
		await_at_mutex(WAITER);
		atomic_store(&wl->numbers[QUEUED], 1);
		wl_await(&wl->numbers[HOGGED], 1);
	} else {
		wl_spin(number == BARGER ? lasts : 1000000);
	}
	note(self, from);
	pthread_mutex_unlock(mutex);
	if (number == FIRST)
		atomic_store(&wl->numbers[RELEASED], 1);
	return NULL;
}

/* ---- */

static void print_holds(void)
{
	bool more = false;

	printf(",\n\"holds\":[");
	for (int i = 0; i < THREADS; i++) {
		for (int k = 0; k < threads[i].count; k++, more = true)
			printf("%s[%d,%llu,%llu]", more ? "," : "", threads[i].tid,
			       (unsigned long long)threads[i].holds[k].from,
			       (unsigned long long)threads[i].holds[k].to);
	}
	printf("]");
}

static void make_mutex(const char *variant)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	if (strcmp(variant, "adaptive") == 0)
		pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
	else if (strcmp(variant, "robust") == 0)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	else if (strcmp(variant, "pi") == 0)
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	else if (strcmp(variant, "shared") == 0)
		pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	mutex = wl_shared(4096);
	pthread_mutex_init(mutex, &attributes);
}

int main(int argc, char **argv)
{
	bool woken;
	int count = 5;
	uint64_t from;

	wl_begin(argc, argv, "contend");
	woken = strcmp(wl->variant, "woken") == 0;
	if (woken && sysconf(_SC_NPROCESSORS_ONLN) < 2)
		wl_skip("one CPU");
	sort = strcmp(wl->variant, "timed") == 0    ? TIMED
	       : strcmp(wl->variant, "rwlock") == 0 ? RWLOCK
	       : strcmp(wl->variant, "word") == 0   ? WORD
						    : MUTEX;
	make_mutex(wl->variant);
	if (!woken)
		count = (int)wl_random(3, THREADS);
	lasts = wl_random(10, 20) * 1000000;
	from = wl_now();
	ends = from + wl_random(200, 400) * 1000000;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i].thread, NULL, woken ? play_woken : want,
			       (void *)(intptr_t)i);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i].thread, NULL);
	/* A word without an owner proves nothing about one. */
	wl_rule("\"rule\":\"holds\",\"from\":%llu,\"to\":%llu,\"exact\":%s",
		(unsigned long long)from, (unsigned long long)wl_now(),
		sort == WORD ? "false" : "true");
	wl_print_more = print_holds;
	wl_print();
	return 0;
}
