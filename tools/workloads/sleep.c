/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sleeps of several kinds, which only a timer ends. */
#include <poll.h>
#include <sys/timerfd.h>

#include "workload.h"

enum way { CLOCK_NANOSLEEP, NANOSLEEP, TIMERFD, POLL, WAYS };

static const char *const calls[WAYS] = {"clock_nanosleep", "nanosleep", "read", "poll"};

static void take_time(enum way way, uint64_t ns)
{
	struct timespec time = {.tv_nsec = ns};
	struct itimerspec timer = {.it_value = time};
	uint64_t expired;
	int fd;

	switch (way) {
	case CLOCK_NANOSLEEP:
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
		break;
	case NANOSLEEP:
#ifdef __x86_64__
		syscall(SYS_nanosleep, &time, NULL);
#else
		nanosleep(&time, NULL);
#endif
		break;
	case TIMERFD:
		fd = WL_CHECK(timerfd_create(CLOCK_MONOTONIC, 0));
		WL_CHECK(timerfd_settime(fd, 0, &timer, NULL));
		WL_CHECK(read(fd, &expired, sizeof(expired)));
		close(fd);
		break;
	default:
		poll(NULL, 0, ns / 1000000);
	}
}

static void doze(int self)
{
	int rounds = wl_random(4, 8);

	for (int round = 0; round < rounds; round++) {
		enum way way = round % WAYS;
		uint64_t ns = wl_random(1, 8) * 1000000, before = wl_now();
		long switches = wl_voluntary_switches();
		struct wl_wait *wait;

		take_time(way, ns);
		/* The timer came before the switch: a machine that stood still just then. */
		if (wl_voluntary_switches() == switches)
			continue;
		wait = wl_wait(self, way == POLL ? "poll" : "sleep",
			       way == NANOSLEEP ? "nanosleep|clock_nanosleep" : calls[way], "");
		wl_wait_times(wait, before, before + ns, wl_now());
		/* However late it got to sleep: it may have been kept off its CPU before. */
		wait->start_max = wait->end_max;
		wait->ended_by = WL_NOBODY;
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "sleep");
	int sleepers[3], count = wl_random(1, 3);

	for (int i = 0; i < count; i++)
		sleepers[i] = wl_thread(self, doze);
	for (int i = 0; i < count; i++)
		wl_join(self, sleepers[i]);
	wl_print();
	return 0;
}
