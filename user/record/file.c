/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files of a recording that goes on from one to the next, without a gap, and keyframes.
 *
 * Records from a moment, the boundary, on go to the next file. The boundary lies a little ahead,
 * so no record of that time has been taken from a ring when the streams learn of it. From the
 * boundary on the programs name again what they refer to, and passes over all tasks say once more
 * who they are and what they wait for: each file can be read alone. A keyframe is the same within a
 * file, which can be read from there on.
 *
 * Invariant: a record is in exactly one file. An old file is ended when each stream's horizon has
 * come to the boundary; the rare record that comes later is in the next file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clew.skel.h"
#include "record/file.h"
#include "record/meta.h"
#include "record/passes.h"
#include "record/recorder.h"
#include "record/stacks/stacks.h"
#include "record/stream/clock.h"
#include "record/stream/cost.h"
#include "record/stream/drain.h"
#include "record/stream/ledger.h"
#include "record/stream/outlet.h"
#include "record/stream/recorder_state.h"
#include "record/stream/steps.h"
#include "record/stream/user_stream.h"
#include "store/kinds.h"

#define AHEAD 100000 /* ns from now to the boundary */
#define SPARE 16     /* descriptors that a file or keyframe needs at most */

int clew_file_name_recording(struct clew_recorder *recorder)
{
	int file = open("/proc/sys/kernel/random/uuid", O_RDONLY | O_CLOEXEC);
	ssize_t size = file < 0 ? -1 : read(file, recorder->files.recording, 36);

	if (file >= 0)
		close(file);
	return size == 36 ? 0 : -EIO;
}

static void lock_streams(struct clew_recorder *recorder)
{
	for (unsigned i = 0; i < recorder->drains.count; i++)
		pthread_mutex_lock(&recorder->drains.of[i].lock);
	pthread_mutex_lock(&recorder->user.lock);
}

static void unlock_streams(struct clew_recorder *recorder)
{
	pthread_mutex_unlock(&recorder->user.lock);
	for (unsigned i = recorder->drains.count; i > 0; i--)
		pthread_mutex_unlock(&recorder->drains.of[i - 1].lock);
}

static struct outlets *outlets_at(struct clew_recorder *recorder, unsigned number)
{
	return number == recorder->cpu_count ? &recorder->user.outlets
					     : &recorder->streams[number].outlets;
}

/* Lets the streams go over to the next file. Returns the boundary. */
static uint64_t divert(struct clew_recorder *recorder, struct clew_writer *next)
{
	const uint64_t before = recorder->bpf->bss->named_from;
	uint64_t boundary;

	lock_streams(recorder);
	do {
		boundary = clew_now() + AHEAD;
		__atomic_store_n(&recorder->bpf->bss->named_before, before, __ATOMIC_RELEASE);
		__atomic_store_n(&recorder->bpf->bss->named_from, boundary, __ATOMIC_RELEASE);
	} while (clew_now() >= boundary);
	for (unsigned i = 0; i <= recorder->cpu_count; i++) {
		struct outlets *outlets = outlets_at(recorder, i);

		outlets->next = (struct outlet){.writer = next, .names = recorder->files.names + 1};
		outlets->boundary = boundary;
		/* An error is there when the next record is put, too. */
		if (next == recorder->files.writer)
			clew_writer_cut(next, i == recorder->cpu_count ? CLEW_STREAM_USER : i);
	}
	__atomic_store_n(&recorder->files.names, recorder->files.names + 1, __ATOMIC_RELAXED);
	unlock_streams(recorder);
	return boundary;
}

static void sleep_for(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* All streams are behind the keyframe: its outlets count what went to the file before it, too. */
static void go_over_keyframe(struct clew_recorder *recorder)
{
	lock_streams(recorder);
	for (unsigned i = 0; i <= recorder->cpu_count; i++) {
		struct outlets *outlets = outlets_at(recorder, i);

		for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++) {
			outlets->next.read[kind] += outlets->now.read[kind];
			outlets->next.made[kind] += outlets->now.made[kind];
		}
		outlets->now = outlets->next;
		outlets->next.writer = NULL;
	}
	unlock_streams(recorder);
}

/* All streams go to the next file only. Copies the outlets of the one before. */
static void go_over(struct clew_recorder *recorder, struct outlet *ret_old)
{
	lock_streams(recorder);
	for (unsigned i = 0; i <= recorder->cpu_count; i++) {
		struct outlets *outlets = outlets_at(recorder, i);

		ret_old[i] = outlets->now;
		outlets->now = outlets->next;
		outlets->next.writer = NULL;
	}
	unlock_streams(recorder);
}

/* States what the records of the next file refer to. */
static int state_again(struct clew_recorder *recorder, struct clew_message *message)
{
	int r;

	/* Records of the passes are older than the moment at which they are put. */
	atomic_store(&recorder->user.current, false);
	r = clew_put_user_again(recorder);
	if (r < 0)
		clew_say_unwritable(recorder, message, "the capture", r);
	if (r >= 0)
		r = clew_iterate_tasks(recorder, CLEW_PASS_IDENTIFY, message);
	if (r >= 0)
		r = clew_iterate_tasks(recorder, CLEW_PASS_AGAIN, message);
	if (r >= 0)
		r = clew_ends_find(recorder, false, message);
	clew_user_round(recorder, clew_now(), true);
	atomic_store(&recorder->user.current, true);
	return r;
}

static struct clew_cost cost_of_file(struct clew_recorder *recorder, uint64_t end)
{
	struct clew_cost *before = &recorder->files.summary.cost, cost;

	clew_cost_close(recorder, end - recorder->start, &cost);
	if (cost.bpf_ns < before->bpf_ns)
		cost.bpf_ns = before->bpf_ns;
	return (struct clew_cost){
		.user_ns = cost.user_ns - before->user_ns,
		.bpf_ns = cost.bpf_ns - before->bpf_ns,
		.bpf_sampled = cost.bpf_sampled,
	};
}

/* Writes what a file ends with. `outlets`: by CPU, then the user stream's. */
static int end_file(struct clew_recorder *recorder, const struct outlet *outlets, uint64_t end,
		    bool last)
{
	struct clew_cost cost = cost_of_file(recorder, end);
	int error;

	clew_meta_number(outlets->writer, "end", end);
	clew_meta_clock(recorder, outlets->writer);
	error = clew_ledger_write(recorder, outlets, last, &cost);
	recorder->files.summary.cost.user_ns += cost.user_ns;
	recorder->files.summary.cost.bpf_ns += cost.bpf_ns;
	recorder->files.summary.cost.bpf_sampled = cost.bpf_sampled;
	recorder->files.summary.bytes += clew_writer_bytes(outlets->writer);
	recorder->files.ended++;
	return error;
}

int clew_file_end_last(struct clew_recorder *recorder, uint64_t end)
{
	struct outlet *outlets = calloc(recorder->cpu_count + 1, sizeof(*outlets));
	int r;

	if (!outlets)
		return -ENOMEM;
	for (unsigned i = 0; i <= recorder->cpu_count; i++)
		outlets[i] = outlets_at(recorder, i)->now;
	r = end_file(recorder, outlets, end, true);
	free(outlets);
	return r;
}

static int open_next(struct clew_recorder *recorder, const char *path,
		     struct clew_writer **ret_writer)
{
	struct clew_writer_options options = {.size = sizeof(options),
					      .sync = recorder->options.sync,
					      .cpus = recorder->cpu_count};
	struct clew_writer *writer;
	int r = clew_writer_open(path, &options, &writer);

	if (r < 0)
		return r;
	recorder->files.ended++;
	r = clew_meta_write(recorder, writer);
	recorder->files.ended--;
	if (r >= 0)
		r = clew_meta_clock(recorder, writer);
	if (r < 0)
		clew_writer_close(writer);
	else
		*ret_writer = writer;
	return r;
}

/*
 * True if there are descriptors and memory for what the next file or keyframe begins with. Where
 * there are none, names and files of stacks are given up for it.
 */
static bool has_room(struct clew_recorder *recorder)
{
	int spare[SPARE], count = 0;
	bool room;

	while (count < SPARE && (spare[count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	room = count == SPARE || errno == EBADF;
	while (count > 0)
		close(spare[--count]);
	if (!room)
		clew_stacks_press(recorder->stacks);
	return room;
}

int clew_recorder_go_on(struct clew_recorder *recorder, const char *path,
			struct clew_message *message)
{
	struct outlet *old = calloc(recorder->cpu_count + 1, sizeof(*old));
	struct clew_writer *next;
	uint64_t boundary;
	int r = !old		     ? -ENOMEM
		: has_room(recorder) ? open_next(recorder, path, &next)
				     : -EMFILE,
	    ended, closed;

	if (r < 0) {
		free(old);
		if (clew_is_shortage(r))
			return clew_say(message, r,
					"no next file can be begun: %s: the recording goes on in "
					"this one",
					strerror(-r));
		return clew_say_unwritable(recorder, message, path, r);
	}
	boundary = divert(recorder, next);
	clew_meta_number(next, "start", boundary);
	while (clew_now() < boundary)
		sleep_for(AHEAD);
	r = state_again(recorder, message);
	clew_drain_await(recorder, boundary);
	go_over(recorder, old);
	recorder->files.writer = next;
	ended = end_file(recorder, old, boundary, false);
	closed = clew_writer_close(old->writer);
	free(old);
	/* A state that could not be recorded again is unknown in this file. */
	if (r < 0 && !clew_is_shortage(r))
		return r;
	r = ended < 0 ? ended : closed;
	if (r < 0)
		r = clew_say_unwritable(recorder, message, "the capture", r);
	/* The file before is over, whatever it lacks. */
	return clew_is_shortage(r) ? -EIO : r;
}

int clew_recorder_keyframe(struct clew_recorder *recorder, struct clew_message *message)
{
	const uint64_t period = recorder->options.keyframe;
	struct clew_keyframe keyframe;
	int r;

	if (!period || clew_now() < recorder->files.next_keyframe)
		return 0;
	if (!has_room(recorder)) {
		recorder->files.next_keyframe += period;
		return 0;
	}
	keyframe.from = divert(recorder, recorder->files.writer);
	while (clew_now() < keyframe.from)
		sleep_for(AHEAD);
	r = state_again(recorder, message);
	keyframe.until = clew_now();
	clew_drain_await(recorder, keyframe.from);
	go_over_keyframe(recorder);
	while (recorder->files.next_keyframe <= keyframe.until)
		recorder->files.next_keyframe += period;
	if (r < 0)
		return r;
	r = clew_writer_keyframe(recorder->files.writer, &keyframe);
	return r < 0 ? clew_say_unwritable(recorder, message, "the capture", r) : 0;
}

uint64_t clew_recorder_file_bytes(const struct clew_recorder *recorder)
{
	return clew_writer_bytes(recorder->files.writer);
}

void clew_recorder_count(const struct clew_recorder *recorder,
			 struct clew_recorder_counts *ret_counts)
{
	*ret_counts = (struct clew_recorder_counts){.bytes = recorder->files.summary.bytes +
							     clew_recorder_file_bytes(recorder)};
	for (unsigned cpu = 0; cpu < recorder->cpu_count; cpu++)
		for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
			const struct store_shape *shape = store_shape(kind);

			if (!shape->in_ledger)
				continue;
			if (shape->size)
				ret_counts->records +=
					recorder->rings.cpus[cpu].counts[kind].reserved;
			ret_counts->lost += recorder->rings.cpus[cpu].counts[kind].lost;
		}
}

const struct clew_recorder_summary *clew_recorder_so_far(const struct clew_recorder *recorder)
{
	return &recorder->files.summary;
}
