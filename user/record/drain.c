/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The drain: from the rings to the capture file. Its threads are in drain_threads.c.
 *
 * A CPU has two rings, of switches (and of direct I/O that interrupts complete) and of
 * everything else; a round merges them by time. It first looks how far the switches go
 * and then takes what the other ring holds: a switch that is older than a taken record
 * may still be missing, so records younger than all switches wait for the next round.
 *
 * A record always goes to the file once it was taken from its ring, and the callback
 * never fails: libbpf would take the record and drop it.
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
#include "record/internal.h"
#include "symbol/kernel.h"

#define CPUS_A_THREAD 8

/* Turns components, the last first, each ended by NUL, into a path. Returns its size. */
static size_t turn_path(const char *components, size_t size, char *ret_path)
{
	size_t length = 0;

	if (size == 0 || components[size - 1] != '\0') {
		ret_path[0] = '/';
		return 1;
	}
	for (size_t end = size - 1;;) {
		size_t start = end;

		while (start > 0 && components[start - 1] != '\0')
			start--;
		ret_path[length++] = '/';
		memcpy(ret_path + length, components + start, end - start);
		length += end - start;
		if (start == 0)
			return length;
		end = start - 1;
	}
}

static void put(struct stream *stream, const void *record, size_t size)
{
	clew_takers_put(stream->recorder, stream->cpu, record, size);
}

static void put_gap(struct stream *stream, uint64_t to, uint32_t count)
{
	struct clew_gap gap = {
		.header = {.time = to, .cpu = stream->cpu, .kind = CLEW_KIND_GAP},
		.from = stream->last_time,
		.count = count,
	};

	put(stream, &gap, sizeof(gap));
}

static void put_path(struct stream *stream, const void *data, size_t fixed, size_t path_size_offset)
{
	union {
		struct clew_header header;
		char bytes[sizeof(struct clew_file_record) + CLEW_PATH_SIZE * 2];
	} record;
	uint16_t size;

	memcpy(record.bytes, data, fixed);
	memcpy(&size, record.bytes + path_size_offset, sizeof(size));
	if (size > CLEW_PATH_SIZE)
		size = CLEW_PATH_SIZE;
	size = turn_path((const char *)data + fixed, size, record.bytes + fixed);
	memcpy(record.bytes + path_size_offset, &size, sizeof(size));
	put(stream, record.bytes, fixed + size);
}

/* Of a layer's point the ring holds what was read there, and the point's number; the file holds
 * words. */
static void put_announce(struct stream *stream, const void *data)
{
	struct {
		struct clew_announce announce;
		char text[CLEW_ANNOUNCE_TEXT];
	} record;
	const char *text = (const char *)data + sizeof(record.announce);
	size_t size;

	memcpy(&record.announce, data, sizeof(record.announce));
	size = record.announce.size < CLEW_ANNOUNCE_TEXT ? record.announce.size : 0;
	if (record.announce.point && stream->recorder->layers) {
		const struct clew_layers *layers = stream->recorder->layers;
		const struct clew_layer_call *call = NULL;
		const struct clew_layer_point *point =
			clew_layers_point(layers, record.announce.point - 1u, NULL, &call);

		record.announce.event = point && point == &call->end;
		size = clew_layers_words(layers, record.announce.point - 1u, text, size,
					 record.announce.header.flags, record.text,
					 sizeof(record.text));
	} else {
		memcpy(record.text, text, size);
	}
	record.announce.header.flags = 0;
	record.announce.point = 0;
	record.announce.size = (uint16_t)size;
	put(stream, &record, sizeof(record.announce) + size);
}

/* Names a kernel address the first time it is met, and again when another one took its place. */
static void put_name(struct stream *stream, uint64_t address, uint64_t time)
{
	struct {
		struct clew_text_record text;
		char bytes[CLEW_TEXT_SIZE];
	} record = {.text = {.header = {.time = time,
					.cpu = stream->cpu,
					.kind = CLEW_KIND_TEXT,
					.lost = stream->lost},
			     .hash = address}};
	uint64_t *named =
		&stream->named[(address >> 4) % (sizeof(stream->named) / sizeof(stream->named[0]))];
	const char *name = stream->recorder->symbols
				   ? clew_kernel_symbol_at(stream->recorder->symbols, address)
				   : NULL;

	if (!name || *named == address)
		return;
	*named = address;
	record.text.text_size = strnlen(name, CLEW_TEXT_SIZE);
	memcpy(record.bytes, name, record.text.text_size);
	put(stream, &record, sizeof(record.text) + record.text.text_size);
	/* Nothing in the kernel counted it: the ledger takes it as read here. */
	stream->made[CLEW_KIND_TEXT]++;
}

static void name_cause(struct stream *stream, const struct clew_cause *cause, uint64_t time)
{
	if (cause->kind == CLEW_CAUSE_TIMER)
		put_name(stream, cause->object, time);
}

/* Hands one record to the file, with the gap before it if there is one. */
static void pass_on(struct stream *stream, const void *data, size_t size)
{
	const struct clew_header *header = data;

	if ((int32_t)(header->lost - stream->lost) > 0) {
		put_gap(stream, header->time, header->lost - stream->lost);
		stream->lost = header->lost;
	}
	stream->last_time = header->time;
	if (header->kind < CLEW_KIND_COUNT)
		stream->read[header->kind]++;
	switch (header->kind) {
	case CLEW_KIND_FILE:
		put_path(stream, data, sizeof(struct clew_file_record),
			 offsetof(struct clew_file_record, path_size));
		break;
	case CLEW_KIND_CGROUP:
		put_path(stream, data, sizeof(struct clew_cgroup_record),
			 offsetof(struct clew_cgroup_record, path_size));
		break;
	case CLEW_KIND_ANNOUNCE:
		put_announce(stream, data);
		break;
	case CLEW_KIND_WORK: {
		const struct clew_work *work = data;

		put_name(stream, work->function, header->time);
		name_cause(stream, &work->cause, header->time);
		put(stream, data, size);
		break;
	}
	default:
		put(stream, data, size);
	}
}

/* A pending record: its size, then itself, both on eight bytes. */
struct parcel {
	uint64_t size;
	struct clew_header header;
};

static size_t parcel_size(size_t size)
{
	return sizeof(uint64_t) + (size + 7) / 8 * 8;
}

/* libbpf's callback: keeps the record. Out of memory, it passes it on at once: out of order beats
 * lost. */
static int take(void *context, void *data, size_t size)
{
	struct stream *stream = context;
	struct pending *pending = &stream->pending;
	size_t needed = parcel_size(size);
	struct parcel *parcel;

	stream->fill += size + BPF_RINGBUF_HDR_SZ;
	if (pending->size + needed > pending->room) {
		size_t room = pending->room ? pending->room * 2 : 65536;
		char *larger = realloc(pending->data,
				       room < pending->size + needed ? room + needed : room);

		if (!larger) {
			pass_on(stream, data, size);
			return 0;
		}
		pending->room = room < pending->size + needed ? room + needed : room;
		pending->data = larger;
	}
	parcel = (struct parcel *)(pending->data + pending->size);
	parcel->size = size;
	memcpy(&parcel->header, data, size);
	pending->size += needed;
	return 0;
}

/* Direct I/O without error: what the slot leaves out of the record is known. */
static void pass_whole(struct stream *stream, const struct clew_whole *whole)
{
	struct clew_request record = {
		.header = whole->header,
		.request = whole->request,
		.sector = whole->sector,
		.bio = whole->bio,
		.allocated = whole->allocated,
		.bytes = whole->bytes,
		.device = whole->device,
		.operation = whole->operation,
		.task = whole->task,
		.context =
			whole->header.flags & CLEW_WHOLE_SOFT ? CLEW_WAKE_SOFTIRQ : CLEW_WAKE_IRQ,
		.queued = whole->queued,
		.issued = whole->issued,
		.inode = whole->inode,
		.offset = whole->offset,
		.file_device = whole->file_device,
	};

	record.header.flags = CLEW_REQUEST_WHOLE;
	pass_on(stream, &record, sizeof(record));
}

/* A slot, and the one after it where that holds its cause; returns how many. */
static unsigned pass_slot(struct stream *stream, const struct clew_switch_slot *slot,
			  const struct clew_switch_slot *next)
{
	struct {
		struct clew_switch change;
		char more[sizeof(struct clew_wait) + sizeof(struct clew_cause)];
	} record;
	size_t size = sizeof(slot->change);
	unsigned flags = slot->change.header.flags;

	if (slot->change.header.kind == CLEW_KIND_REQUEST) {
		pass_whole(stream, &slot->whole);
		return 1;
	}
	if (flags & CLEW_SWITCH_WAIT) {
		size = sizeof(*slot);
		if (slot->wait.object_kind == CLEW_OBJECT_FUNCTION ||
		    slot->wait.object_kind == CLEW_OBJECT_TIMER)
			put_name(stream, slot->wait.object, slot->change.header.time);
		if (slot->wait.reason == CLEW_REASON_FUNCTION)
			put_name(stream, slot->wait.function, slot->change.header.time);
	}
	if (!(flags & CLEW_SWITCH_CAUSE) || slot->change.header.kind != CLEW_KIND_SWITCH) {
		pass_on(stream, slot, size);
		return 1;
	}
	name_cause(stream, &next->cause, slot->change.header.time);
	memcpy(&record, slot, size);
	memcpy((char *)&record + size, &next->cause, sizeof(next->cause));
	pass_on(stream, &record, size + sizeof(next->cause));
	return 2;
}

static size_t pass_parcel(struct stream *stream, size_t at)
{
	const struct parcel *parcel = (const struct parcel *)(stream->pending.data + at);

	pass_on(stream, &parcel->header, parcel->size);
	return at + parcel_size(parcel->size);
}

/* Merges the switches up to `head` with what is pending; keeps the youngest of that unless this is
 * the `last` round. */
static void merge(struct stream *stream, uint64_t head, bool last)
{
	struct clew_recorder *recorder = stream->recorder;
	struct clew_cpu_state *cpu = &recorder->cpus[stream->cpu];
	const struct clew_switch_slot *slots =
		recorder->slots + (size_t)stream->cpu * recorder->switch_slots;
	struct pending *pending = &stream->pending;
	uint64_t tail = cpu->tail;
	uint32_t count = recorder->switch_slots, place = tail % count;
	size_t at = 0;

	stream->slot_fill = head - tail;
	while (tail != head) {
		const struct clew_switch_slot *slot = &slots[place];
		unsigned used;

		while (at < pending->size &&
		       ((const struct parcel *)(pending->data + at))->header.time <=
			       slot->change.header.time)
			at = pass_parcel(stream, at);
		used = pass_slot(stream, slot, &slots[place + 1 == count ? 0 : place + 1]);
		place = place + used >= count ? place + used - count : place + used;
		tail += used;
		/* Room is given back early, so that a full ring drains while it fills. */
		if ((tail ^ (tail - used)) & 256)
			__atomic_store_n(&cpu->tail, tail, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&cpu->tail, tail, __ATOMIC_RELEASE);
	while (at < (last ? pending->size : pending->old))
		at = pass_parcel(stream, at);
	if (at) {
		memmove(pending->data, pending->data + at, pending->size - at);
		pending->size -= at;
	}
	pending->old = pending->size;
}

/* No record of the stream that comes later is older, see struct clew_round. `begun`: before the
 * round looked at the rings. */
static uint64_t horizon_of(const struct stream *stream, uint64_t begun)
{
	const struct parcel *first = (const struct parcel *)stream->pending.data;
	uint64_t horizon = begun - CLEW_ROUND_LAG;

	return stream->pending.size && first->header.time < horizon ? first->header.time : horizon;
}

void clew_drain_round(struct drain *drain, bool last)
{
	uint64_t heads[CPUS_A_THREAD], begun = clew_now();
	struct clew_round round = {.flush = last};

	for (unsigned i = 0; i < drain->stream_count; i++) {
		drain->streams[i].fill = 0;
		heads[i] = __atomic_load_n(&drain->recorder->cpus[drain->streams[i].cpu].head,
					   __ATOMIC_ACQUIRE);
	}
	ring_buffer__consume(drain->rings);
	round.now = clew_now();
	for (unsigned i = 0; i < drain->stream_count; i++) {
		struct stream *stream = &drain->streams[i];

		merge(stream, heads[i], last);
		round.horizon = horizon_of(stream, begun);
		clew_takers_round(drain->recorder, stream->cpu, &round);
	}
}

/* A CPU's share: one half for switches, one for all else, which comes in bursts: a sync of many
 * small files makes 2 MiB in 10 ms. */
void clew_drain_sizes(struct clew_recorder *recorder)
{
	recorder->records_size = recorder->ring_size / 2;
	recorder->switch_slots = recorder->ring_size / 2 / sizeof(struct clew_switch_slot);
	recorder->slots_size =
		sizeof(struct clew_switch_slot) * recorder->switch_slots * recorder->cpu_count;
}

int clew_drain_open(struct clew_recorder *recorder, struct clew_message *message)
{
	int rings = bpf_map__fd(recorder->bpf->maps.clew_rings);
	size_t size = recorder->records_size;

	recorder->drain_count = (recorder->cpu_count + CPUS_A_THREAD - 1) / CPUS_A_THREAD;
	recorder->streams = calloc(recorder->cpu_count, sizeof(*recorder->streams));
	recorder->drains = calloc(recorder->drain_count, sizeof(*recorder->drains));
	if (!recorder->streams || !recorder->drains)
		return clew_say(message, -ENOMEM, "no memory for the drain: free some");
	for (unsigned i = 0; i < recorder->drain_count; i++) {
		store_lock_init(&recorder->drains[i].lock);
		recorder->drains[i].urgent = epoll_create1(EPOLL_CLOEXEC);
		if (recorder->drains[i].urgent < 0)
			return clew_say(message, -errno,
					"the rings cannot be waited for: %s: raise the limit of "
					"open files (ulimit -Hn)",
					strerror(errno));
	}
	for (unsigned cpu = 0; cpu < recorder->cpu_count; cpu++)
		recorder->streams[cpu].ring = -1;

	for (unsigned cpu = 0; cpu < recorder->cpu_count; cpu++) {
		struct stream *stream = &recorder->streams[cpu];
		struct drain *drain = &recorder->drains[cpu / CPUS_A_THREAD];
		/* Once a wake-up: that the ring holds something is none. */
		struct epoll_event event = {.events = EPOLLIN | EPOLLET};

		stream->recorder = recorder;
		stream->cpu = cpu;
		/* Here, and not while records come: see store/buffers.h. Without it take() tries
		 * again. */
		stream->pending.data = malloc(2 * size);
		stream->pending.room = stream->pending.data ? 2 * size : 0;
		stream->ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "clew_ring", 0, 0, size, NULL);
		if (stream->ring < 0)
			return clew_say(
				message, -errno,
				"no ring of %zu bytes for CPU %u: %s: try a smaller --ring-size",
				size, cpu, strerror(errno));
		if (bpf_map_update_elem(rings, &cpu, &stream->ring, BPF_ANY))
			return clew_say(
				message, -errno,
				"the ring of CPU %u was refused: %s: try a smaller --ring-size",
				cpu, strerror(errno));
		if (!drain->rings) {
			drain->recorder = recorder;
			drain->streams = stream;
			drain->rings = ring_buffer__new(stream->ring, take, stream, NULL);
			if (!drain->rings)
				return clew_say(
					message, -errno,
					"the ring of CPU %u cannot be mapped: %s: free some memory",
					cpu, strerror(errno));
		} else if (ring_buffer__add(drain->rings, stream->ring, take, stream)) {
			return clew_say(message, -errno,
					"the ring of CPU %u cannot be mapped: %s: free some memory",
					cpu, strerror(errno));
		}
		if (epoll_ctl(drain->urgent, EPOLL_CTL_ADD, stream->ring, &event))
			return clew_say(
				message, -errno,
				"the ring of CPU %u cannot be waited for: %s: free some memory",
				cpu, strerror(errno));
		drain->stream_count++;
	}
	return 0;
}

/* Extents and handles that were not told when the gate shut. No program touches them any more. */
static void put_open(struct stream *stream)
{
	struct clew_cpu_state *cpu = &stream->recorder->cpus[stream->cpu];
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
		pass_on(stream, &record, sizeof(record));
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
		pass_on(stream, &record, sizeof(record));
	}
}

void clew_drain_end(struct clew_recorder *recorder)
{
	/* What was lost after a CPU's last record shows in no record. */
	for (unsigned cpu = 0; recorder->started && cpu < recorder->cpu_count; cpu++) {
		struct stream *stream = &recorder->streams[cpu];
		uint32_t lost = recorder->cpus[cpu].lost;

		put_open(stream);
		if (lost != stream->lost)
			put_gap(stream, clew_now(), lost - stream->lost);
	}
}

void clew_drain_close(struct clew_recorder *recorder)
{
	for (unsigned i = 0; recorder->drains && i < recorder->drain_count; i++) {
		ring_buffer__free(recorder->drains[i].rings);
		if (recorder->drains[i].urgent > 0)
			close(recorder->drains[i].urgent);
		pthread_mutex_destroy(&recorder->drains[i].lock);
	}
	for (unsigned cpu = 0; recorder->streams && cpu < recorder->cpu_count; cpu++) {
		if (recorder->streams[cpu].ring >= 0)
			close(recorder->streams[cpu].ring);
		free(recorder->streams[cpu].pending.data);
	}
	free(recorder->drains);
	free(recorder->streams);
}
