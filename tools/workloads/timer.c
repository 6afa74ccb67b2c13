/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers that end waits: a timerfd armed by another task (variant other), by the
 * task itself (self; wall: to a time of the wall clock), one armed by another and waited for in
 * epoll (epoll); a sleep that ends late as its CPU is another's (hog), and one whose timer may be
 * late, as the task said (slack).
 */
#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "workload.h"

#define ATTEMPTS 6

enum { STARTED, ATTEMPT, CAUGHT };

static int sleeper, armer, timer, laps, chosen_cpu;
static uint64_t hog_start, hog_end;
static bool by_wall_clock;

static void arm(uint64_t ns)
{
	struct itimerspec setting = {.it_value = {.tv_nsec = ns}};

	if (by_wall_clock) {
		WL_CHECK(clock_gettime(CLOCK_REALTIME, &setting.it_value));
		setting.it_value.tv_nsec += ns;
		setting.it_value.tv_sec += setting.it_value.tv_nsec / 1000000000;
		setting.it_value.tv_nsec %= 1000000000;
	}
	WL_CHECK(timerfd_settime(timer, by_wall_clock ? TFD_TIMER_ABSTIME : 0, &setting, NULL));
}

static void sleep_on_timer(int self)
{
	struct epoll_event event = {.events = EPOLLIN};
	bool polls = strcmp(wl->variant, "epoll") == 0;
	uint64_t expired;
	int epoll = -1;

	if (polls) {
		epoll = WL_CHECK(epoll_create1(EPOLL_CLOEXEC));
		WL_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event));
	}
	for (int lap = 0; lap < laps; lap++) {
		wl->tasks[self].before = wl_now();
		atomic_store(&wl->numbers[STARTED], polls ? epoll : timer);
		if (polls)
			WL_CHECK(epoll_wait(epoll, &event, 1, -1));
		WL_CHECK(read(timer, &expired, sizeof(expired)));
		wl->tasks[self].leaving = wl_now();
		atomic_store(&wl->tasks[self].step, 1);
		wl_await(&wl->tasks[self].step, 0);
	}
}

static void arm_for_other(int self)
{
	bool polls = strcmp(wl->variant, "epoll") == 0;

	for (int lap = 0; lap < laps; lap++) {
		uint64_t ns = wl_random(500000, 4000000), at_min, at_max;
		int fd = wl_await_order(&wl->numbers[STARTED]);
		struct wl_edge *edge;
		struct wl_wait *wait;

		wl->numbers[STARTED] = 0;
		wl_await_blocked(sleeper, polls ? SYS_epoll_wait : SYS_read, fd);
		at_min = wl_now();
		arm(ns);
		at_max = wl_now();
		wl_await(&wl->tasks[sleeper].step, 1);
		edge = wl_edge("timer", self, sleeper, at_min, "");
		edge->at_max = at_max;
		wl_copy(edge->context, sizeof(edge->context), "timer");
		wait = wl_wait(sleeper, polls ? "poll" : "sleep", polls ? "epoll_wait" : "read",
			       "timer");
		wl_wait_times(wait, wl->tasks[sleeper].before, at_min + ns,
			      wl->tasks[sleeper].leaving);
		edge->until = wait->end_max;
		wait->start_max = at_min;
		wait->ended_by = WL_NOBODY;
		wl_copy(wait->context, sizeof(wait->context), "timer");
		wait->expires_min = at_min + ns;
		wait->expires_max = at_max + ns;
		atomic_store(&wl->tasks[sleeper].step, 0);
	}
}

static void arm_for_itself(int self)
{
	for (int lap = 0; lap < laps; lap++) {
		uint64_t ns = wl_random(2000000, 6000000), at_min = wl_now(), at_max, before,
			 expired;
		long switches;
		struct wl_wait *wait;
		struct wl_edge *edge;

		arm(ns);
		at_max = wl_now();
		wl_spin(wl_random(1000, 500000));
		switches = wl_voluntary_switches();
		before = wl_now();
		WL_CHECK(read(timer, &expired, sizeof(expired)));
		if (wl_voluntary_switches() == switches)
			continue; /* it came too late to wait */
		edge = wl_edge("timer", self, self, at_min, "");
		edge->at_max = at_max;
		wl_copy(edge->context, sizeof(edge->context), "timer");
		wait = wl_wait(self, "sleep", "read", "timer");
		wl_wait_times(wait, before, at_min + ns, wl_now());
		edge->until = wait->start_max = wait->end_max;
		wait->ended_by = WL_NOBODY;
		wl_copy(wait->context, sizeof(wait->context), "timer");
		wait->expires_min = at_min + ns;
		wait->expires_max = at_max + ns;
	}
}

static struct wl_wait *nap_long(int self, uint64_t ns, uint64_t slack)
{
	struct timespec time = {.tv_nsec = ns};
	uint64_t before = wl_now();
	struct wl_wait *wait;

	wl->tasks[self].before = before;
	atomic_store(&wl->numbers[STARTED], 1);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	wait = wl_wait(self, "sleep", "clock_nanosleep", "timer");
	wl_wait_times(wait, before, before + ns, wl_now());
	wait->start_max = wait->end_max;
	wait->ended_by = WL_NOBODY;
	wl_copy(wait->context, sizeof(wait->context), "timer");
	wait->expires_min = before + ns;
	wait->expires_max = wait->end_max + slack;
	return wait;
}

static void nap_with_slack(int self)
{
	uint64_t from = wl_now();

	WL_CHECK(prctl(PR_SET_TIMERSLACK, 3000000));
	for (int lap = 0; lap < laps; lap++)
		nap_long(self, wl_random(1, 5) * 1000000, 3000000);
	wl_fact(self, from, wl_now())->slack = 3000000;
	WL_CHECK(prctl(PR_SET_TIMERSLACK, 1));
}

static void go_to_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(chosen_cpu, &set);
	WL_CHECK(sched_setaffinity(0, sizeof(set), &set));
}

/* Naps until the hog was there in time. */
static void nap_beside_hog(int self)
{
	go_to_cpu();
	for (int attempt = 1; attempt <= ATTEMPTS && !wl->numbers[CAUGHT]; attempt++) {
		atomic_store(&wl->numbers[ATTEMPT], attempt);
		wl->tasks[self].leaving = nap_long(self, 5000000, 0)->end_max;
		wl_await(&wl->tasks[armer].step, attempt);
	}
}

/* Returns whether nothing took the CPU itself away meanwhile: then no timer comes either. */
static bool spin_evenly(uint64_t ns)
{
	uint64_t start = wl_now(), last = start, now, longest = 0;

	for (; (now = wl_now()) < start + ns; last = now)
		longest = now - last > longest ? now - last : longest;
	return longest < 2000000 && now < start + ns + 2000000;
}

/* Takes the CPU when the other sleeps there, and lets it go when that one should long have run. */
static void hog(int self)
{
	struct sched_param parameter = {.sched_priority = 10};

	go_to_cpu();
	WL_CHECK(sched_setscheduler(0, SCHED_FIFO, &parameter));
	for (int attempt = 1; attempt <= ATTEMPTS && !wl->numbers[CAUGHT]; attempt++) {
		wl_await(&wl->numbers[ATTEMPT], attempt);
		wl_sleep(1000000);
		hog_start = wl_now();
		if (wl_is_blocked(wl->tasks[sleeper].tid, SYS_clock_nanosleep, WL_ANY_ARGUMENT) &&
		    hog_start < wl->tasks[sleeper].before + 4000000) {
			wl->numbers[CAUGHT] = spin_evenly(wl_random(12, 16) * 1000000);
			hog_end = wl_now();
		}
		atomic_store(&wl->tasks[self].step, attempt);
	}
	parameter.sched_priority = 0;
	WL_CHECK(sched_setscheduler(0, SCHED_OTHER, &parameter));
}

/* The sleep was over in time; what followed is the hog's. */
static void log_hog(void)
{
	struct wl_fact *fact;
	uint64_t total, late;
	struct wl_charge *charge;

	if (!wl->numbers[CAUGHT])
		return;
	fact = wl_fact(sleeper, wl->tasks[sleeper].before, wl->tasks[sleeper].leaving);
	total = fact->to - fact->from;
	late = hog_end - fact->from - 5000000;
	charge = wl_charge(fact, sleeper, "runqueue", late * 8 / 10, total - 5000000);
	charge->by[0] = armer;
	charge->by_count = 1;
	wl_charge(fact, sleeper, "sleep", 1000000, total - late * 8 / 10);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "timer");
	const char *variant = wl->variant;
	struct sched_param parameter = {.sched_priority = 10};
	cpu_set_t set;

	wl_copy(wl->claims, sizeof(wl->claims),
		"fork exec exit vfork unlock pipe socket eventfd ipc signal wake timer");
	laps = wl_random(4, 8);
	by_wall_clock = strcmp(variant, "wall") == 0;
	timer = WL_CHECK(
		timerfd_create(by_wall_clock ? CLOCK_REALTIME : CLOCK_MONOTONIC, TFD_CLOEXEC));
	WL_CHECK(sched_getaffinity(0, sizeof(set), &set));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			chosen_cpu = cpu;
	if (strcmp(variant, "hog") == 0) {
		if (sched_setscheduler(0, SCHED_FIFO, &parameter) < 0)
			wl_skip("real-time scheduling is refused");
		parameter.sched_priority = 0;
		WL_CHECK(sched_setscheduler(0, SCHED_OTHER, &parameter));
	}
	sleeper = self + 1;
	armer = self + 2;
	wl_thread(self, strcmp(variant, "self") == 0	? arm_for_itself
			: by_wall_clock			? arm_for_itself
			: strcmp(variant, "slack") == 0 ? nap_with_slack
			: strcmp(variant, "hog") == 0	? nap_beside_hog
							: sleep_on_timer);
	if (strcmp(variant, "hog") == 0)
		wl_thread(self, hog);
	else if (strcmp(variant, "other") == 0 || strcmp(variant, "epoll") == 0)
		wl_thread(self, arm_for_other);
	for (int task = sleeper; task < wl->task_count; task++)
		wl_join(self, task);
	if (strcmp(variant, "hog") == 0)
		log_hog();
	wl_print();
	return 0;
}
