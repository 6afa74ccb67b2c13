/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A task of SCHED_DEADLINE works until it has used up its runtime, several times, and then gives up
 * what it has left of it: it is off the CPU until its next period, first as it must be, then as it
 * asked to.
 */
#include <sched.h>

#include "spend.h"

#define SCHED_DEADLINE_POLICY 6
#define RUNTIME		      4000000 /* ns */
#define PERIOD		      20000000
#define YIELDS_MOST	      5

/* struct sched_attr, whose headers some C libraries have and others do not. */
struct parameters {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int worker, failure;
static struct spent spent;
static uint64_t yielded[YIELDS_MOST + 1];
static int yields;

static void work(int self)
{
	const struct parameters deadline = {.size = sizeof(deadline),
					    .policy = SCHED_DEADLINE_POLICY,
					    .runtime = RUNTIME,
					    .deadline = PERIOD,
					    .period = PERIOD};
	const struct parameters normal = {.size = sizeof(normal), .policy = SCHED_OTHER};

	(void)self;
	if (syscall(SYS_sched_setattr, 0, &deadline, 0) < 0) {
		failure = errno;
		return;
	}
	spent = wl_spend(wl_random(10, 22) * 1000000);
	for (int i = 0; i < yields; i++) {
		yielded[i] = wl_now();
		sched_yield();
	}
	yielded[yields] = wl_now();
	WL_CHECK(syscall(SYS_sched_setattr, 0, &normal, 0));
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "deadline");
	struct wl_fact *fact;

	yields = wl_random(2, YIELDS_MOST);
	worker = wl_thread(self, work);
	wl_join(self, worker);
	if (failure)
		wl_skip("the kernel admits no task of SCHED_DEADLINE");
	/* In an emulated machine it is throttled about twice as often as by its own clock it has
	 * used up its runtime. */
	if (getenv("CLEW_LIVE_GUEST"))
		spent.ran_most = spent.to - spent.from;
	wl_rule("\"rule\":\"waits\",\"tid\":%d,\"from\":%llu,\"to\":%llu,\"count\":[1,%d],"
		"\"calls\":\"*\",\"kinds\":\"throttle\",\"edge\":"
		"\"\","
		"\"contexts\":\"timer\",\"ended_by\":[],\"object\":\"timer\"",
		wl->tasks[worker].tid, (unsigned long long)spent.from, (unsigned long long)spent.to,
		(int)(MIN(spent.ran_most / RUNTIME, (spent.to - spent.from) / PERIOD)) + 2);
	fact = wl_fact(worker, spent.from, spent.to);
	wl_charge(fact, worker, "running", spent.worked * 9 / 10 - 1000000, spent.ran_most);
	/* A late interrupt leaves it in the queue for the rest. */
	wl_charge(fact, worker, "throttle", (spent.to - spent.from - spent.ran_most) * 4 / 10,
		  spent.to - spent.from - spent.worked + 1000000);
	wl_charge(fact, worker, "throttle|runqueue",
		  (spent.to - spent.from - spent.ran_most) * 9 / 10,
		  spent.to - spent.from - spent.worked + 1000000);
	wl_copy(fact->says, sizeof(fact->says), "kept off the CPU|its own runtime");
	for (int i = 0; i < yields; i++) {
		struct wl_wait *wait;

		/* A slow machine may be in the next period already, or have used up the runtime
		 * before the call was reached. */
		if (yielded[i + 1] - yielded[i] < OFF_LEAST ||
		    yielded[i + 1] - yielded[i] > PERIOD + OFF_LEAST)
			continue;
		wait = wl_wait(worker, "sleep", "sched_yield", "timer");
		wait->start_min = wait->end_min = yielded[i];
		wait->start_max = wait->end_max = yielded[i + 1];
		wait->expires_min = yielded[i];
		wait->expires_max = yielded[i + 1];
		wait->ended_by = WL_NOBODY;
		wl_copy(wait->context, sizeof(wait->context), "timer");
	}
	wl_print();
	return 0;
}
