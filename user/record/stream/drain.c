/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The drain: empties the rings and passes their records on to the takers. Its
 * threads are in drain_threads.c.
 *
 * Each CPU has two rings. One holds slots of fixed size, for switches and for
 * direct I/O that an interrupt completes; the other is a BPF ring buffer for
 * all other records. A round merges the two by time, one CPU after the other. It reads the head of
 * the slots first and empties the ring buffer after that. A slot that is older than
 * a record of the ring buffer may therefore be missing from this round, and
 * records younger than all slots are kept for the next round.
 *
 * Invariant: a record that was taken from a ring is passed on. The ring
 * buffer's callback never fails, as libbpf would drop the record.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/thread.h"
#include "clew.skel.h"
#include "record/stream/clock.h"
#include "record/stream/drain.h"
#include "record/stream/outlet.h"
#include "record/stream/recorder_state.h"
#include "record/stream/sleepers.h"
#include "record/stream/takers.h"
#include "record/stream/talks.h"
#include "record/stream/user_stream.h"

#define CPUS_A_THREAD 8

/* A pending record behind its size. Both are aligned to eight bytes. */
struct parcel {
	uint64_t size;
	struct clew_header header;
};

static size_t parcel_size(size_t size)
{
	return sizeof(uint64_t) + (size + 7) / 8 * 8;
}

/* False: there is no memory. */
static bool make_room(struct pending *pending, size_t needed)
{
	size_t room = pending->room ? pending->room * 2 : 65536;
	char *larger;

	if (needed <= pending->room)
		return true;
	room = room < needed ? needed : room;
	larger = realloc(pending->data, room);
	if (!larger)
		return false;
	pending->room = room;
	pending->data = larger;
	return true;
}

/*
 * libbpf's callback: keeps the record for the merge. If there is no memory, the
 * record is passed on at once, out of order, and not lost.
 */
static int take(void *context, void *data, size_t size)
{
	struct stream *stream = context;
	struct pending *pending = &stream->drain->pending;
	struct parcel *parcel;

	stream->fill += size + BPF_RINGBUF_HDR_SZ;
	if (!make_room(pending, pending->size + parcel_size(size))) {
		clew_stream_pass(stream, data, size);
		return 0;
	}
	parcel = (struct parcel *)(pending->data + pending->size);
	parcel->size = size;
	memcpy(&parcel->header, data, size);
	pending->size += parcel_size(size);
	return 0;
}

static size_t pass_parcel(struct stream *stream, const struct pending *pending, size_t at)
{
	const struct parcel *parcel = (const struct parcel *)(pending->data + at);

	clew_stream_pass(stream, &parcel->header, parcel->size);
	return at + parcel_size(parcel->size);
}

/* Moves all from `at` on. If there is no memory it is passed on at once. */
static void move(struct stream *stream, struct pending *from, size_t at, struct pending *to)
{
	bool fits = make_room(to, from->size - at);

	while (!fits && at < from->size)
		at = pass_parcel(stream, from, at);
	to->size = from->size - at;
	if (to->size)
		memcpy(to->data, from->data + at, to->size);
	from->size = 0;
}

/*
 * Passes on the slots up to `head` and the pending records, in order of time.
 * Pending records that came in this round, behind `old` bytes of earlier ones, and are younger
 * than all slots are kept, unless this is the `last` round.
 */
static void merge(struct stream *stream, uint64_t head, size_t old, bool last)
{
	struct clew_recorder *recorder = stream->recorder;
	struct clew_cpu_state *cpu = &recorder->rings.cpus[stream->cpu];
	const struct clew_switch_slot *slots =
		recorder->rings.slots + (size_t)stream->cpu * recorder->rings.switch_slots;
	struct pending *pending = &stream->drain->pending;
	uint64_t tail = cpu->tail;
	uint32_t count = recorder->rings.switch_slots, index = tail % count;
	size_t at = 0;

	stream->slot_fill = head - tail;
	while (tail != head) {
		const struct clew_switch_slot *slot = &slots[index];
		unsigned used;

		while (at < pending->size &&
		       ((const struct parcel *)(pending->data + at))->header.time <=
			       slot->change.header.time)
			at = pass_parcel(stream, pending, at);
		used = clew_stream_pass_slot(stream, slot,
					     &slots[index + 1 == count ? 0 : index + 1]);
		index = index + used >= count ? index + used - count : index + used;
		tail += used;
		/*
		 * Slots are freed as the merge goes, for programs that find the
		 * ring full.
		 */
		if ((tail ^ (tail - used)) & 256)
			__atomic_store_n(&cpu->tail, tail, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&cpu->tail, tail, __ATOMIC_RELEASE);
	while (at < (last ? pending->size : old))
		at = pass_parcel(stream, pending, at);
	move(stream, pending, at, &stream->kept);
}

/* Empties the rings of a stream. */
static void empty_stream(struct stream *stream, bool last)
{
	const struct clew_cpu_state *cpu = &stream->recorder->rings.cpus[stream->cpu];
	uint64_t head = __atomic_load_n(&cpu->head, __ATOMIC_ACQUIRE);
	size_t old;

	stream->fill = 0;
	move(stream, &stream->kept, 0, &stream->drain->pending);
	old = stream->drain->pending.size;
	ring_buffer__consume(stream->records);
	merge(stream, head, old, last);
}

/*
 * The stream's horizon, see struct clew_round. `begun`: a time before this
 * round read the rings.
 */
static uint64_t horizon_of(const struct stream *stream, uint64_t begun)
{
	const struct parcel *first = (const struct parcel *)stream->kept.data;
	uint64_t horizon = begun - CLEW_ROUND_LAG;

	return stream->kept.size && first->header.time < horizon ? first->header.time : horizon;
}

void clew_drain_round(struct drain *drain, bool last)
{
	uint64_t begun = clew_now();
	struct clew_round round = {.flush = last};

	for (unsigned i = 0; i < drain->stream_count; i++) {
		struct stream *stream = &drain->streams[i];

		empty_stream(stream, last);
		round.now = clew_now();
		round.horizon = stream->horizon = horizon_of(stream, begun);
		clew_takers_round(drain->recorder, stream->cpu, &round);
	}
	if (drain == drain->recorder->drains.of && atomic_load(&drain->recorder->user.current))
		clew_user_try_round(drain->recorder, begun);
}

/*
 * A CPU's memory is shared equally by the slots and the ring buffer. The latter
 * needs as much because its records come in bursts: a sync of many small files
 * makes 2 MiB in 10 ms.
 */
void clew_drain_sizes(struct clew_recorder *recorder)
{
	recorder->rings.records_size = recorder->rings.size / 2;
	recorder->rings.switch_slots = recorder->rings.size / 2 / sizeof(struct clew_switch_slot);
	recorder->rings.slots_size = sizeof(struct clew_switch_slot) *
				     recorder->rings.switch_slots * recorder->cpu_count;
}

/* True if questions that are open are stated again, for keyframes or further files. */
static bool states_questions(const struct clew_recorder *recorder)
{
	return recorder->files.states_again &&
	       (recorder->options.messages || recorder->options.network);
}

static int open_drains(struct clew_recorder *recorder, struct clew_message *message)
{
	recorder->drains.count = (recorder->cpu_count + CPUS_A_THREAD - 1) / CPUS_A_THREAD;
	recorder->streams = calloc(recorder->cpu_count, sizeof(*recorder->streams));
	recorder->drains.of = calloc(recorder->drains.count, sizeof(*recorder->drains.of));
	if (!recorder->streams || !recorder->drains.of)
		return clew_say(message, -ENOMEM, "no memory for the drain: free some");
	for (unsigned cpu = 0; cpu < recorder->cpu_count; cpu++)
		recorder->streams[cpu].ring = -1;
	for (unsigned i = 0; i < recorder->drains.count; i++) {
		struct drain *drain = &recorder->drains.of[i];

		drain->recorder = recorder;
		drain->streams = &recorder->streams[i * CPUS_A_THREAD];
		store_lock_init(&drain->lock);
		if ((recorder->options.keyframe && !(drain->sleepers = clew_sleepers_new())) ||
		    (states_questions(recorder) && !(drain->talks = clew_talks_new())))
			return clew_say(message, -ENOMEM, "no memory for the drain: free some");
		drain->urgent = epoll_create1(EPOLL_CLOEXEC);
		if (drain->urgent < 0)
			return clew_say(message, -errno,
					"the rings cannot be waited for: %s: raise the limit of "
					"open files (ulimit -Hn)",
					strerror(errno));
	}
	return 0;
}

/* Makes the CPU's ring buffer. */
static int make_ring(struct stream *stream, struct clew_message *message)
{
	size_t size = stream->recorder->rings.records_size;

	stream->ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "clew_ring", 0, 0, size, NULL);
	if (stream->ring < 0)
		return clew_say(message, -errno,
				"no ring of %zu bytes for CPU %u: %s: try a smaller --ring-size",
				size, stream->cpu, strerror(errno));
	return 0;
}

/*
 * Puts the ring buffers into the map that the programs use. The kernel waits after each update
 * until no program runs, some 15 ms, but only once for all of a batch.
 */
static int put_rings(struct clew_recorder *recorder, struct clew_message *message)
{
	int map = bpf_map__fd(recorder->bpf->maps.clew_rings), error = 0;
	uint32_t count = recorder->cpu_count;
	uint32_t *cpus = calloc(count, sizeof(*cpus));
	int *rings = calloc(count, sizeof(*rings));

	for (uint32_t cpu = 0; cpus && rings && cpu < recorder->cpu_count; cpu++) {
		cpus[cpu] = cpu;
		rings[cpu] = recorder->streams[cpu].ring;
	}
	if (!cpus || !rings)
		error = -ENOMEM;
	/* Not every kernel has batches for this kind of map. */
	else if (bpf_map_update_batch(map, cpus, rings, &count, NULL))
		for (uint32_t cpu = 0; !error && cpu < recorder->cpu_count; cpu++)
			if (bpf_map_update_elem(map, &cpus[cpu], &rings[cpu], BPF_ANY))
				error = -errno;
	free(cpus);
	free(rings);
	return error ? clew_say(message, error,
				"the rings were refused: %s: try a smaller --ring-size",
				strerror(-error))
		     : 0;
}

/*
 * Makes the drain read the stream's ring buffer, and its urgent thread wait for
 * it.
 */
static int add_ring(struct drain *drain, struct stream *stream, struct clew_message *message)
{
	/*
	 * Edge-triggered: epoll_wait() returns when a program wakes the ring,
	 * not because the ring holds records.
	 */
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	stream->records = ring_buffer__new(stream->ring, take, stream, NULL);
	if (!stream->records)
		return clew_say(message, -errno,
				"the ring of CPU %u cannot be mapped: %s: free some memory",
				stream->cpu, strerror(errno));
	if (epoll_ctl(drain->urgent, EPOLL_CTL_ADD, stream->ring, &event))
		return clew_say(message, -errno,
				"the ring of CPU %u cannot be waited for: %s: free some memory",
				stream->cpu, strerror(errno));
	drain->stream_count++;
	return 0;
}

int clew_drain_open(struct clew_recorder *recorder, struct clew_message *message)
{
	int error = open_drains(recorder, message);

	for (unsigned cpu = 0; !error && cpu < recorder->cpu_count; cpu++) {
		struct stream *stream = &recorder->streams[cpu];

		stream->recorder = recorder;
		stream->drain = &recorder->drains.of[cpu / CPUS_A_THREAD];
		stream->cpu = cpu;
		stream->outlets.now = (struct outlet){.writer = recorder->files.writer, .names = 1};
		/*
		 * Memory is allocated here, not while records come: see
		 * store/buffers.h. If there is none, it is tried again then.
		 */
		make_room(&stream->kept, recorder->rings.records_size);
		make_room(&stream->drain->pending, 2 * recorder->rings.records_size);
		error = make_ring(stream, message);
		if (!error)
			error = add_ring(stream->drain, stream, message);
	}
	return error ?: put_rings(recorder, message);
}

/*
 * Passes on the extents and the journal handle that were still open in the
 * kernel when the programs were disabled. No program changes them any more.
 */
static void put_open(struct stream *stream)
{
	struct clew_cpu_state *cpu = &stream->recorder->rings.cpus[stream->cpu];
	struct clew_header header = {.time = clew_now(), .lost = cpu->lost, .cpu = stream->cpu};

	for (unsigned event = 0; event < CLEW_EXTENT_EVENTS; event++) {
		const struct clew_open_extent *open = &cpu->extents[event];
		struct clew_extent record = {.header = header,
					     .begin = open->begin,
					     .inode = open->inode,
					     .offset = open->offset,
					     .bytes = open->bytes,
					     .device = open->device,
					     .task = open->task};

		if (!open->bytes)
			continue;
		record.header.kind = CLEW_KIND_EXTENT;
		record.header.flags = clew_extent_flags(event, open);
		cpu->counts[CLEW_KIND_EXTENT].seen++;
		cpu->counts[CLEW_KIND_EXTENT].reserved++;
		clew_stream_pass(stream, &record, sizeof(record));
	}
	if (cpu->handle.device) {
		struct clew_journal record = {.header = header,
					      .transaction = cpu->handle.transaction,
					      .device = cpu->handle.device,
					      .task = cpu->handle.task};

		record.header.kind = CLEW_KIND_JOURNAL;
		record.header.flags = CLEW_JOURNAL_HANDLE;
		cpu->counts[CLEW_KIND_JOURNAL].seen++;
		cpu->counts[CLEW_KIND_JOURNAL].reserved++;
		clew_stream_pass(stream, &record, sizeof(record));
	}
}

void clew_drain_end(struct clew_recorder *recorder)
{
	/*
	 * No record carries the count of what was lost after the CPU's last
	 * one.
	 */
	for (unsigned cpu = 0; recorder->started && cpu < recorder->cpu_count; cpu++) {
		struct stream *stream = &recorder->streams[cpu];
		uint32_t lost = recorder->rings.cpus[cpu].lost;

		put_open(stream);
		if (lost != stream->lost)
			clew_stream_gap(stream, clew_now(), lost - stream->lost);
	}
}

void clew_drain_close(struct clew_recorder *recorder)
{
	for (unsigned i = 0; recorder->drains.of && i < recorder->drains.count; i++) {
		free(recorder->drains.of[i].pending.data);
		if (recorder->drains.of[i].urgent > 0)
			close(recorder->drains.of[i].urgent);
		pthread_mutex_destroy(&recorder->drains.of[i].lock);
		clew_sleepers_free(recorder->drains.of[i].sleepers);
		clew_talks_free(recorder->drains.of[i].talks);
	}
	for (unsigned cpu = 0; recorder->streams && cpu < recorder->cpu_count; cpu++) {
		ring_buffer__free(recorder->streams[cpu].records);
		if (recorder->streams[cpu].ring >= 0)
			close(recorder->streams[cpu].ring);
		free(recorder->streams[cpu].kept.data);
	}
	free(recorder->drains.of);
	free(recorder->streams);
}
