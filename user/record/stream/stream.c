/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One CPU's stream: turns what lies in the CPU's rings into the records that
 * takers get.
 *
 * Paths, announced calls and direct I/O lie in the rings in a form that is
 * cheap to make in the kernel. Names of kernel functions and GAPs for lost
 * records are made here.
 */
#include <stddef.h>
#include <string.h>

#include "record/stream/drain.h"
#include "record/stream/outlet.h"
#include "record/stream/recorder_state.h"
#include "record/stream/sleepers.h"
#include "record/stream/takers.h"
#include "record/stream/talks.h"
#include "relate/layer.h"
#include "symbol/elf/kernel.h"

/*
 * Makes a path of its components, which come last first and end with NUL.
 * Returns the path's size.
 */
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

void clew_stream_gap(struct stream *stream, uint64_t to, uint32_t count)
{
	struct clew_gap gap = {
		.header = {.time = to, .cpu = stream->cpu, .kind = CLEW_KIND_GAP},
		.from = stream->last_time,
		.count = count,
	};

	stream->last_gap = to;
	put(stream, &gap, sizeof(gap));
}

/* `truncated`: the flag of a record whose path lacks its first components. */
static void put_path(struct stream *stream, const void *data, size_t fixed, size_t path_size_offset,
		     uint8_t truncated)
{
	static const char cut[] = "...";
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
	if (record.header.flags & truncated) {
		memmove(record.bytes + fixed + strlen(cut), record.bytes + fixed, size);
		memcpy(record.bytes + fixed, cut, strlen(cut));
		size += strlen(cut);
	}
	memcpy(record.bytes + path_size_offset, &size, sizeof(size));
	put(stream, record.bytes, fixed + size);
}

/*
 * For a call that a layer describes, the ring holds the number of the probed
 * point and the raw values that were read there. Takers get the text that the
 * layer makes of them.
 */
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
	if (record.announce.point && stream->recorder->options.layers) {
		const struct clew_layers *layers = stream->recorder->options.layers;
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

/* `named` is about the newest outlet that the stream has come to. */
static void name_in_outlet(struct stream *stream, const struct outlet *outlet)
{
	bool newest = outlet == &stream->outlets.next || !stream->outlets.next.writer;

	if (stream->named_in == outlet->names || !newest)
		return;
	memset(stream->named, 0, sizeof(stream->named));
	stream->named_in = outlet->names;
}

/*
 * Puts the name of a kernel address, unless the stream has had it. It may come
 * again after an address of the same hash.
 */
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
	struct outlet *outlet = clew_outlet(&stream->outlets, time);
	uint64_t *named =
		&stream->named[(address >> 4) % (sizeof(stream->named) / sizeof(stream->named[0]))];
	const char *name = stream->recorder->symbols
				   ? clew_kernel_symbol_at(stream->recorder->symbols, address)
				   : NULL;

	name_in_outlet(stream, outlet);
	if (!name || (*named == address && stream->named_in == outlet->names))
		return;
	if (stream->named_in == outlet->names)
		*named = address;
	record.text.text_size = strnlen(name, CLEW_TEXT_SIZE);
	memcpy(record.bytes, name, record.text.text_size);
	put(stream, &record, sizeof(record.text) + record.text.text_size);
	/*
	 * No program counted this record, so that the ledger has to know of it.
	 */
	outlet->made[CLEW_KIND_TEXT]++;
}

static void name_cause(struct stream *stream, const struct clew_cause *cause, uint64_t time)
{
	if (cause->kind == CLEW_CAUSE_TIMER)
		put_name(stream, cause->object, time);
}

/*
 * clew_header.lost counts the CPU's losses so far. If it has grown, a GAP is
 * put first.
 */
void clew_stream_pass(struct stream *stream, const void *data, size_t size)
{
	const struct clew_header *header = data;

	if ((int32_t)(header->lost - stream->lost) > 0) {
		clew_stream_gap(stream, header->time, header->lost - stream->lost);
		stream->lost = header->lost;
	}
	stream->last_time = header->time;
	if (header->kind < CLEW_KIND_COUNT)
		clew_outlet(&stream->outlets, header->time)->read[header->kind]++;
	if (stream->drain->talks)
		clew_talks_note(stream->drain->talks, header);
	switch (header->kind) {
	case CLEW_KIND_FILE:
		put_path(stream, data, sizeof(struct clew_file_record),
			 offsetof(struct clew_file_record, path_size), CLEW_FILE_TRUNCATED);
		break;
	case CLEW_KIND_CGROUP:
		put_path(stream, data, sizeof(struct clew_cgroup_record),
			 offsetof(struct clew_cgroup_record, path_size), CLEW_CGROUP_TRUNCATED);
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

/*
 * Direct I/O that ended without error has a short slot: what the slot leaves
 * out follows from that.
 */
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
	clew_stream_pass(stream, &record, sizeof(record));
}

/* A switch with a cause takes two slots. The cause is in the second. */
unsigned clew_stream_pass_slot(struct stream *stream, const struct clew_switch_slot *slot,
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
	if (flags & (CLEW_SWITCH_WAIT | CLEW_SWITCH_DEAD) && stream->drain->sleepers)
		clew_sleepers_note(stream->drain->sleepers, &slot->change, &slot->wait);
	if (flags & CLEW_SWITCH_WAIT) {
		size = sizeof(*slot);
		if (slot->wait.object_kind == CLEW_OBJECT_FUNCTION ||
		    slot->wait.object_kind == CLEW_OBJECT_TIMER)
			put_name(stream, slot->wait.object, slot->change.header.time);
		if (slot->wait.reason == CLEW_REASON_FUNCTION)
			put_name(stream, slot->wait.function, slot->change.header.time);
	}
	if (!(flags & CLEW_SWITCH_CAUSE) || slot->change.header.kind != CLEW_KIND_SWITCH) {
		clew_stream_pass(stream, slot, size);
		return 1;
	}
	name_cause(stream, &next->cause, slot->change.header.time);
	memcpy(&record, slot, size);
	memcpy((char *)&record + size, &next->cause, sizeof(next->cause));
	clew_stream_pass(stream, &record, size + sizeof(next->cause));
	return 2;
}
