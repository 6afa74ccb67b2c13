/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Priority inversion: on one CPU, the one of low priority holds a mutex that the one
 * of high priority waits for, and may not run because one in the middle does.
 */
#include <sched.h>

#include "workload.h"

enum { READY, LOCKED, BLOCKED };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int low, middle, high, chosen_cpu;
static uint64_t middle_start, middle_end, worked, to;

static void be(int priority)
{
	struct sched_param parameter = {.sched_priority = priority};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(chosen_cpu, &set);
	WL_CHECK(sched_setaffinity(0, sizeof(set), &set));
	WL_CHECK(sched_setscheduler(0, SCHED_FIFO, &parameter));
	atomic_fetch_add(&wl->numbers[READY], 1);
}

static void be_usual(void)
{
	struct sched_param parameter = {0};

	WL_CHECK(sched_setscheduler(0, SCHED_OTHER, &parameter));
}

static void hold(int self)
{
	struct wl_act act;

	be(10);
	/* Nobody of a lower kind gets this CPU from here on. */
	wl_await(&wl->numbers[READY], 3);
	pthread_mutex_lock(&mutex);
	atomic_store(&wl->numbers[LOCKED], 1);
	wl_await_blocked(high, SYS_futex, (unsigned long)&mutex);
	atomic_store(&wl->numbers[BLOCKED], 1);
	/* The one in the middle comes in here. */
	worked = wl_random(4, 8) * 1000000;
	wl_spin(worked);
	while (!atomic_load(&wl->tasks[middle].step))
		;
	act = wl_act(self, high);
	pthread_mutex_unlock(&mutex);
	wl_add_holder(wl_acted(&act, "unlock", "futex", "futex", "futex"), self, act.at_min,
		      wl_now());
	be_usual();
}

static void disturb(int self)
{
	be(20);
	wl_await(&wl->numbers[BLOCKED], 1);
	middle_start = wl_now();
	wl_spin(wl_random(10, 15) * 1000000);
	middle_end = wl_now();
	atomic_store(&wl->tasks[self].step, 1);
	be_usual();
}

static void want(int self)
{
	be(30);
	wl_await(&wl->numbers[LOCKED], 1);
	wl->tasks[self].before = wl_now();
	pthread_mutex_lock(&mutex);
	to = wl_now();
	pthread_mutex_unlock(&mutex);
	be_usual();
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "inversion");
	struct sched_param parameter = {.sched_priority = 10};
	struct wl_charge *charge;
	struct wl_fact *fact;
	cpu_set_t set;

	WL_CHECK(sched_getaffinity(0, sizeof(set), &set));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			chosen_cpu = cpu;
	if (sched_setscheduler(0, SCHED_FIFO, &parameter) < 0)
		wl_skip("real-time scheduling is refused");
	be_usual();
	low = self + 1;
	middle = self + 2;
	high = self + 3;
	wl_thread(self, hold);
	wl_thread(self, disturb);
	wl_thread(self, want);
	wl_join(self, low);
	wl_join(self, middle);
	wl_join(self, high);
	fact = wl_fact(high, wl->tasks[high].before, to);
	charge = wl_charge(fact, low, "runqueue", (middle_end - middle_start) * 9 / 10,
			   to - fact->from);
	charge->by[0] = middle;
	charge->by_count = 1;
	charge->chain[0] = high;
	charge->chain_count = 1;
	wl_print();
	return 0;
}
