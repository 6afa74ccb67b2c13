/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sleeper and a reader of a pipe are stopped and continued: the sleep goes on as
 * the call it was (restart_syscall), the read begins again.
 */
#include "workload.h"

static int ends[2];
static char object[48];
static uint64_t asleep, began, ended;

static void doze(int self)
{
	struct timespec time = {.tv_nsec = asleep};

	(void)self;
	wl->tasks[self].before = wl_now();
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	wl->tasks[self].leaving = wl_now();
	atomic_store(&wl->tasks[self].step, 1);
}

static void read_it(int self)
{
	char byte;

	wl->tasks[self].before = wl_now();
	WL_CHECK(read(ends[0], &byte, 1));
	atomic_store(&wl->tasks[self].step, 1);
}

static void await_state(int task, char state)
{
	uint64_t deadline = 0;

	while (wl_state(wl->tasks[task].tid) != state)
		wl_nap(&deadline, "a state");
}

/* Stops and continues a task that waits since `before`; returns when it was continued. */
static uint64_t interrupt(int self, int task, uint64_t before, const char *kind, const char *call,
			  const char *what)
{
	struct wl_act act;
	uint64_t stopped;

	act = (struct wl_act){.from = self, .to = task, .before = before, .at_min = wl_now()};
	stopped = act.at_min;
	WL_CHECK(kill(wl->tasks[task].pid, SIGSTOP));
	wl_acted(&act, "signal", kind, call, what);
	await_state(task, 'T');
	wl_sleep(wl_random(1, 3) * 1000000);
	act = (struct wl_act){.from = self, .to = task, .before = stopped, .at_min = wl_now()};
	WL_CHECK(kill(wl->tasks[task].pid, SIGCONT));
	wl_acted(&act, "signal", "stopped", "*", "");
	return act.at_min;
}

static void run_sleeper(int self)
{
	int task = wl_fork(self, doze), times = wl_random(1, 3);
	uint64_t before, deadline = 0;
	struct wl_wait *wait;

	while (!wl->tasks[task].before)
		wl_nap(&deadline, "the sleeper");
	began = before = wl->tasks[task].before;
	wl_await_blocked(task, SYS_clock_nanosleep, CLOCK_MONOTONIC);
	wl_sleep(wl_random(2, 5) * 1000000);
	for (int i = 0; i < times; i++) {
		before = interrupt(self, task, before, "sleep", "clock_nanosleep", "");
		await_state(task, 'S');
		wl_sleep(2000000);
	}
	wl_await(&wl->tasks[task].step, 1);
	ended = wl->tasks[task].leaving;
	if (ended < began + asleep)
		wl_die("the sleep was cut short");
	wait = wl_wait(task, "sleep", "clock_nanosleep", "");
	wl_wait_times(wait, before, began + asleep, ended);
	wait->ended_by = WL_NOBODY;
	wl_reap(self, task);
}

static void run_reader(int self)
{
	int task = wl_fork(self, read_it), times = wl_random(1, 3);
	struct wl_act act = {.from = self, .to = task};
	uint64_t before;

	wl_await_blocked(task, SYS_read, ends[0]);
	before = wl->tasks[task].before;
	for (int i = 0; i < times; i++) {
		before = interrupt(self, task, before, "pipe", "read", object);
		wl_await_blocked(task, SYS_read, ends[0]);
	}
	act.before = before;
	act.at_min = wl_now();
	WL_CHECK(write(ends[1], "x", 1));
	wl_acted(&act, "pipe", "pipe", "read", object);
	wl_await(&wl->tasks[task].step, 1);
	wl_reap(self, task);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "stop");
	struct stat status;

	WL_CHECK(pipe(ends));
	WL_CHECK(fstat(ends[0], &status));
	snprintf(object, sizeof(object), "pipe:%llu", (unsigned long long)status.st_ino);
	/* Longer than all stops together, on an emulated machine too. */
	asleep = getenv("CLEW_LIVE_GUEST") ? 900000000 : 300000000;
	run_sleeper(self);
	run_reader(self);
	wl_print();
	return 0;
}
