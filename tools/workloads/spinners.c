/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Four tasks spin on one CPU: each one's delay in the run queue is the others' running. */
#include <sched.h>

#include "workload.h"

#define SPINNERS 4

static int spinners[SPINNERS], chosen_cpu;
static uint64_t from[SPINNERS], to[SPINNERS], worked[SPINNERS], length;

static void spin(int self)
{
	int me = self - spinners[0];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(chosen_cpu, &set);
	WL_CHECK(sched_setaffinity(0, sizeof(set), &set));
	wl_await(&wl->numbers[0], 1);
	from[me] = wl_now();
	worked[me] = wl_own_time();
	wl_spin(length);
	worked[me] = wl_own_time() - worked[me];
	to[me] = wl_now();
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "spinners");
	uint64_t stolen;
	cpu_set_t set;

	WL_CHECK(sched_getaffinity(0, sizeof(set), &set));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			chosen_cpu = cpu;
	length = wl_random(120, 250) * 1000000;
	spinners[0] = self + 1;
	for (int i = 0; i < SPINNERS; i++)
		spinners[i] = wl_thread(self, spin);
	stolen = wl_nobodys_time(chosen_cpu);
	atomic_store(&wl->numbers[0], 1);
	for (int i = 0; i < SPINNERS; i++)
		wl_join(self, spinners[i]);
	stolen = wl_nobodys_time(chosen_cpu) - stolen;
	for (int i = 0; i < SPINNERS; i++) {
		uint64_t total = to[i] - from[i], delay = total - worked[i],
			 slack = total / 25 + 1000000 + stolen, others = 0, apart = slack;
		struct wl_fact *fact = wl_fact(spinners[i], from[i], to[i]);
		struct wl_charge *charge;

		wl_charge(fact, spinners[i], "running", worked[i] > slack ? worked[i] - slack : 0,
			  worked[i] + slack);
		wl_charge(fact, spinners[i], "runqueue", delay > slack ? delay - slack : 0,
			  delay + slack);
		/* It never sleeps: whenever another runs, it is delayed by that. */
		charge = wl_charge(fact, spinners[i], "runqueue", 0, 0);
		for (int j = 0; j < SPINNERS; j++) {
			if (j == i)
				continue;
			charge->by[charge->by_count++] = spinners[j];
			others += worked[j];
			apart += distance(from[i], from[j]) + distance(to[i], to[j]);
		}
		charge->min = others > apart ? others - apart : 0;
		charge->max = others + slack;
	}
	wl_print();
	return 0;
}
