/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wakes that come while the sleeper is on its way off the CPU: one task wakes the
 * other at a random moment within a few microseconds of its going to sleep. The
 * count of voluntary switches tells whether it slept. Variants: futex, pipe.
 */
#include <linux/futex.h>
#include <sched.h>

#include "workload.h"

#define ROUNDS 600

struct round {
	uint64_t at_min;
	uint64_t at_max;
	long slept;
	long waker_slept;
	long woken; /* as futex(2) told the waker */
};

static struct round rounds[ROUNDS + 1];
static _Atomic int ready, word, done;
static int ends[2], sleeper, waker, cpus[2];
static bool by_pipe;

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	WL_CHECK(sched_setaffinity(0, sizeof(set), &set));
}

static void sleep_often(int self)
{
	char byte;

	(void)self;
	stay_on(cpus[0]);
	wl_await(&wl->numbers[0], 1);
	for (int i = 1; i <= ROUNDS; i++) {
		long before = wl_voluntary_switches();

		atomic_store(&ready, i);
		if (by_pipe)
			WL_CHECK(read(ends[0], &byte, 1));
		else
			while (atomic_load(&word) != i)
				syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i - 1, NULL, NULL, 0);
		rounds[i].slept = wl_voluntary_switches() - before;
		atomic_store(&done, i);
	}
}

static void wake_often(int self)
{
	(void)self;
	stay_on(cpus[1]);
	wl_await(&wl->numbers[0], 1);
	for (int i = 1; i <= ROUNDS; i++) {
		uint64_t delay = wl_random(0, 6000);
		long before = wl_voluntary_switches();

		while (atomic_load(&ready) != i)
			;
		wl_spin(delay);
		rounds[i].at_min = wl_now();
		if (by_pipe) {
			WL_CHECK(write(ends[1], "x", 1));
			rounds[i].woken = 1;
		} else {
			atomic_store(&word, i);
			rounds[i].woken =
				syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		}
		rounds[i].at_max = wl_now();
		rounds[i].waker_slept = wl_voluntary_switches() - before;
		while (atomic_load(&done) != i)
			;
	}
}

/*
 * True if a round's wake surely ended its sleep. One that found the sleeper still
 * awake may end its next sleep instead; one who slept himself met the other in the kernel.
 */
static bool certain(int i)
{
	const struct round *round = &rounds[i], *previous = &rounds[i - 1];

	return round->slept == 1 && round->woken == 1 && !round->waker_slept &&
	       (i == 1 || previous->slept == 1 || !previous->woken);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "race"), found = 0;
	cpu_set_t set;

	by_pipe = strcmp(wl->variant, "pipe") == 0;
	WL_CHECK(sched_getaffinity(0, sizeof(set), &set));
	if (CPU_COUNT(&set) < 2)
		wl_skip("needs two CPUs");
	for (int cpu = 0; found < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[found++] = cpu;
	WL_CHECK(pipe(ends));
	sleeper = wl_thread(self, sleep_often);
	waker = wl_thread(self, wake_often);
	atomic_store(&wl->numbers[0], 1);
	wl_join(self, sleeper);
	wl_join(self, waker);
	for (int i = 1; i <= ROUNDS; i++) {
		const struct round *round = &rounds[i];
		struct wl_edge *edge;

		edge = wl_edge(by_pipe ? "pipe" : "wake", waker, sleeper, round->at_min,
			       by_pipe ? "pipe" : "futex");
		edge->at_max = round->at_max;
		edge->optional = !certain(i);
	}
	wl_print();
	return 0;
}
