/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two threads empty the rings of up to eight CPUs. A lock lets one of them do
 * so at a time.
 *
 * The polling thread sleeps between rounds, because a wake by a program would
 * cost the traced tasks. It sleeps the shorter, the fuller the rings were.
 *
 * The urgent thread waits until a program finds a large part of a ring full. It
 * has a real-time policy: on a busy machine the polling thread may wait 10 ms
 * for a CPU, as the fair scheduler makes a thread wait that ran just before,
 * whatever its nice value. The urgent thread does not poll, because a real-time
 * thread preempts the task on the CPU where it slept even if another CPU is
 * idle.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "record/stream/clock.h"
#include "record/stream/drain.h"
#include "record/stream/recorder_state.h"

#define DRAIN_NICE     -15
#define SHORTEST_SLEEP 1000000ULL /* ns */
#define LONGEST_SLEEP  25000000ULL
#define LOOK_AGAIN     2000000L /* ns between two looks at the horizons */

static void sleep_for(uint64_t ns)
{
	struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/*
 * The larger of `most` and the share of the stream's fuller ring that was in
 * use, in 1/1024.
 */
static size_t fullest(const struct stream *stream, size_t most)
{
	size_t slots = stream->slot_fill * 1024 / stream->recorder->rings.switch_slots;
	size_t records = stream->fill * 1024 / stream->recorder->rings.records_size;

	most = slots > most ? slots : most;
	return records > most ? records : most;
}

/* Empties the rings and adapts the pause. The caller holds the lock. */
static void empty_rings(struct drain *drain, bool last)
{
	size_t most = 0; /* the share of the fullest ring in use, in 1/1024 */

	clew_drain_round(drain, last);
	for (unsigned i = 0; i < drain->stream_count; i++)
		most = fullest(&drain->streams[i], most);
	if (most > 1024 / 8)
		drain->pause =
			drain->pause / 2 < SHORTEST_SLEEP ? SHORTEST_SLEEP : drain->pause / 2;
	else if (most < 1024 / 32)
		drain->pause = drain->pause * 2 > LONGEST_SLEEP ? LONGEST_SLEEP : drain->pause * 2;
}

static void *poll_main(void *argument)
{
	struct drain *drain = argument;
	struct clew_recorder *recorder = drain->recorder;
	uint64_t pause_once = recorder->options.pause_drain;

	pthread_setname_np(pthread_self(), "clew-drain");
	/* If this is not permitted, the recording works nevertheless. */
	setpriority(PRIO_PROCESS, gettid(), DRAIN_NICE);
	for (;;) {
		bool last = atomic_load(&recorder->drains.stopping);
		uint64_t pause;

		pthread_mutex_lock(&drain->lock);
		if (pause_once && atomic_load(&recorder->started)) {
			sleep_for(pause_once);
			pause_once = 0;
		}
		empty_rings(drain, last);
		pause = drain->pause;
		pthread_mutex_unlock(&drain->lock);
		atomic_store_explicit(&drain->polled, clew_now(), memory_order_relaxed);
		if (last)
			return NULL;
		sleep_for(pause);
	}
}

uint64_t clew_recorder_drained(const struct clew_recorder *recorder)
{
	uint64_t earliest = UINT64_MAX;

	for (unsigned i = 0; i < recorder->drains.count; i++) {
		uint64_t polled =
			atomic_load_explicit(&recorder->drains.of[i].polled, memory_order_relaxed);

		earliest = polled < earliest ? polled : earliest;
	}
	return earliest;
}

int clew_go_first(void)
{
	const struct sched_param before_ordinary = {.sched_priority = 1};

	return -pthread_setschedparam(pthread_self(), SCHED_FIFO, &before_ordinary);
}

static void *urgent_main(void *argument)
{
	struct drain *drain = argument;
	struct clew_recorder *recorder = drain->recorder;
	struct epoll_event event;

	pthread_setname_np(pthread_self(), "clew-urgent");
	setpriority(PRIO_PROCESS, gettid(), DRAIN_NICE);
	clew_go_first();
	while (!atomic_load(&recorder->drains.stopping)) {
		if (epoll_wait(drain->urgent, &event, 1, -1) < 1)
			continue;
		pthread_mutex_lock(&drain->lock);
		empty_rings(drain, false);
		pthread_mutex_unlock(&drain->lock);
	}
	return NULL;
}

int clew_drain_start(struct clew_recorder *recorder, struct clew_message *message)
{
	/* The event ends the urgent thread's wait when the recording stops. */
	struct epoll_event event = {.events = EPOLLIN};

	recorder->drains.stop_event = eventfd(0, EFD_CLOEXEC);
	if (recorder->drains.stop_event < 0)
		return clew_say(message, -errno,
				"no event for the drain's end: %s: raise the limit of open files "
				"(ulimit -Hn)",
				strerror(errno));
	for (unsigned i = 0; i < recorder->drains.count; i++) {
		struct drain *drain = &recorder->drains.of[i];
		int error;

		drain->pause = SHORTEST_SLEEP;
		if (epoll_ctl(drain->urgent, EPOLL_CTL_ADD, recorder->drains.stop_event, &event))
			return clew_say(
				message, -errno,
				"the drain's end cannot be waited for: %s: free some memory",
				strerror(errno));
		error = store_thread_start(&drain->threads[0], poll_main, drain);
		drain->thread_count += !error;
		if (!error)
			error = store_thread_start(&drain->threads[1], urgent_main, drain);
		drain->thread_count += !error;
		if (error)
			return clew_say(message, error,
					"no thread for the drain: %s: raise the limit of processes",
					strerror(-error));
	}
	return 0;
}

void clew_drain_stop(struct clew_recorder *recorder)
{
	atomic_store(&recorder->drains.stopping, true);
	if (recorder->drains.stop_event > 0)
		eventfd_write(recorder->drains.stop_event, 1);
	for (unsigned i = 0; recorder->drains.of && i < recorder->drains.count; i++)
		while (recorder->drains.of[i].thread_count > 0)
			pthread_join(recorder->drains.of[i]
					     .threads[--recorder->drains.of[i].thread_count],
				     NULL);
	if (recorder->drains.stop_event > 0)
		close(recorder->drains.stop_event);
	recorder->drains.stop_event = -1;
	clew_drain_end(recorder);
}

static bool have_passed(struct clew_recorder *recorder, uint64_t boundary)
{
	bool passed = true;

	for (unsigned i = 0; i < recorder->drains.count; i++) {
		const struct drain *drain = &recorder->drains.of[i];

		pthread_mutex_lock(&recorder->drains.of[i].lock);
		for (unsigned k = 0; k < drain->stream_count; k++)
			passed &= drain->streams[k].horizon >= boundary;
		pthread_mutex_unlock(&recorder->drains.of[i].lock);
	}
	return passed;
}

void clew_drain_await(struct clew_recorder *recorder, uint64_t time)
{
	while (!have_passed(recorder, time))
		sleep_for(LOOK_AGAIN);
}
