/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hardware threads, each with its runs, in their core, socket and NUMA node. A run is
 * an ES with a mark at its start, labelled as the span of who ran. What belongs to
 * no thread (the capture itself, losses, files, texts) is said by the first one.
 */
#include "convert/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which category a CPU is in, by a line "cpu node socket core" of what the recorder wrote; -1 where
 * it did not know. */
static int category_of_cpu(struct conversion *conversion, unsigned cpu, uint32_t *ret_category)
{
	static const char *const levels[] = {"node", "socket", "core"};
	const char *line = clew_trace_meta(conversion->trace, "topology");
	int numbers[3] = {-1, -1, -1}, r = 0;
	bool any = false;
	char name[32];
	unsigned told;

	for (; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		if (sscanf(line, "%u %d %d %d", &told, &numbers[0], &numbers[1], &numbers[2]) ==
			    4 &&
		    told == cpu)
			break;
		numbers[0] = numbers[1] = numbers[2] = -1;
	}
	*ret_category = CLEW_NONE;
	for (int i = 0; i < 3 && r == 0; i++) {
		if (numbers[i] < 0)
			continue;
		any = true;
		snprintf(name, sizeof(name), "%s%d", levels[i], numbers[i]);
		r = clew_maker_category(conversion->maker, conversion->cpus, *ret_category, name,
					ret_category);
	}
	if (r < 0 || any)
		return r;
	return clew_maker_category(conversion->maker, conversion->cpus, CLEW_NONE, "machine",
				   ret_category);
}

static const struct clew_run *run_at(const struct clew_trace *trace, unsigned cpu, uint32_t i)
{
	return (const struct clew_run *)trace->runs.data + trace->cpus[cpu].data[i];
}

static uint64_t start_of_cpu(const struct clew_trace *trace, unsigned cpu)
{
	uint64_t start = trace->start;

	if (cpu < trace->cpu_count && trace->cpus[cpu].count &&
	    run_at(trace, cpu, 0)->start < start)
		start = run_at(trace, cpu, 0)->start;
	return start;
}

int capture_make_cpu_spans(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	uint32_t span, category, attributes;
	char name[32];
	int r = 0;

	for (unsigned cpu = 0; cpu < conversion->cpu_count && r == 0; cpu++) {
		snprintf(name, sizeof(name), "cpu%u", cpu);
		r = category_of_cpu(conversion, cpu, &category);
		if (r == 0)
			r = clew_maker_root(conversion->maker, name,
					    (clew_time)start_of_cpu(trace, cpu),
					    (clew_time)conversion->end, &span);
		if (r == 0)
			r = clew_maker_place(conversion->maker, span, category);
		if (r < 0)
			break;
		pairs_begin(&conversion->pairs, "cpu");
		pairs_number(&conversion->pairs, cpu);
		if (cpu == 0)
			capture_describe(conversion);
		r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
		if (r == 0)
			r = clew_maker_set_span_attributes(conversion->maker, span, attributes);
	}
	return r;
}

static int emit_run(struct conversion *conversion, const struct clew_run *run, uint64_t *cursor,
		    uint32_t idle)
{
	uint64_t start = run->start > *cursor ? run->start : *cursor;
	uint64_t end = run->end > start ? run->end : start;
	int r = 0;

	if (start > *cursor)
		r = capture_gap(conversion, *cursor, start, conversion->unknown_wait);
	*cursor = end;
	if (r < 0)
		return r;
	if (run->task == CLEW_NO_TASK)
		return end > start ? capture_gap(conversion, start, end, idle) : 0;
	r = capture_cut(conversion, start);
	return r < 0 ? r : capture_mark(conversion, start, capture_span_of(conversion, run->task));
}

int capture_emit_cpus(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	uint32_t idle;
	int r = capture_wait_row(conversion, CLEW_WAIT_IDLE, CLEW_NONE, &idle);

	for (unsigned cpu = 0; cpu < conversion->cpu_count && r == 0; cpu++) {
		uint32_t count = cpu < trace->cpu_count ? trace->cpus[cpu].count : 0;
		uint64_t cursor = start_of_cpu(trace, cpu);

		capture_span_begin(conversion, conversion->actor_count + cpu, cursor);
		for (uint32_t i = 0; i < count && r == 0; i++)
			r = emit_run(conversion, run_at(trace, cpu, i), &cursor, idle);
		if (r == 0 && cursor < conversion->end)
			r = capture_gap(conversion, cursor, conversion->end,
					conversion->unknown_wait);
		if (r == 0)
			r = capture_span_end(conversion, conversion->end);
	}
	return r;
}

/* ---- the capture as a whole ---- */

static void add_row(struct pairs *pairs, bool first, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i || !first)
			pairs_byte(pairs, i ? ' ' : ',');
		pairs_number(pairs, numbers[i]);
	}
}

#define ROW(pairs, first, ...)                                                                     \
	add_row(pairs, first, (const uint64_t[]){__VA_ARGS__},                                     \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void add_gaps(struct pairs *pairs, const char *key, const struct clew_gap *gaps,
		     size_t count)
{
	if (count == 0)
		return;
	pairs_begin(pairs, key);
	for (size_t i = 0; i < count; i++)
		ROW(pairs, i == 0, gaps[i].header.cpu, gaps[i].from, gaps[i].header.time,
		    gaps[i].count);
}

static void describe_info(struct pairs *pairs, const struct clew_capture_info *info)
{
	pairs_begin(pairs, "capture.file");
	ROW(pairs, true, info->bytes, info->complete, info->damaged_chunks, info->start, info->end,
	    info->cpus);
	pairs_begin(pairs, "capture.cost");
	ROW(pairs, true, info->cost.user_ns, info->cost.bpf_ns, info->cost.bpf_sampled);
	pairs_begin(pairs, "capture.counts");
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
		ROW(pairs, kind == 0, info->counts[kind], info->column_bytes[kind]);
	if (info->ledger_count)
		pairs_begin(pairs, "capture.ledger");
	for (size_t i = 0; i < info->ledger_count; i++) {
		const struct clew_ledger_row *row = &info->ledger[i];

		ROW(pairs, i == 0, row->cpu, row->kind, row->seen, row->filtered, row->reserved,
		    row->read, row->stored, row->lost, row->missed);
	}
	if (info->clock_count)
		pairs_begin(pairs, "capture.clocks");
	for (size_t i = 0; i < info->clock_count; i++)
		ROW(pairs, i == 0, info->clocks[i].monotonic, info->clocks[i].boot,
		    info->clocks[i].wall);
	add_gaps(pairs, "capture.gaps", info->gaps, info->gap_count);
	for (size_t i = 0, missing = 0; i < info->gap_count; i++) {
		if (!(info->gaps[i].header.flags & CLEW_GAP_IN_FILE))
			continue;
		if (!missing)
			pairs_begin(pairs, "capture.missing");
		ROW(pairs, !missing++, i);
	}
}

static int compare_slots(const void *left, const void *right)
{
	const struct map_slot *a = *(const struct map_slot *const *)left,
			      *b = *(const struct map_slot *const *)right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->part < b->part ? -1 : a->part > b->part;
}

/* `number`: of those that had its number, from 0. */
static void describe_version(struct pairs *pairs, const struct map_slot *slot,
			     const struct trace_file *file, unsigned number)
{
	const struct clew_file_record *record = &file->record;
	char key[80];
	int used;

	used = snprintf(key, sizeof(key), "file.%u:%u.%" PRIu64, CLEW_DEVICE_MAJOR(slot->part),
			CLEW_DEVICE_MINOR(slot->part), slot->key);
	if (number)
		snprintf(key + used, sizeof(key) - (size_t)used, ".%u", number);
	pairs_begin(pairs, key);
	ROW(pairs, true, record->header.flags, record->mount_namespace, record->generation,
	    number ? file->since : 0);
	pairs_byte(pairs, ' ');
	pairs_word(pairs, (const char *)(record + 1));
}

static void describe_file(struct pairs *pairs, const struct map_slot *slot)
{
	const struct trace_file *newest = (const struct trace_file *)(uintptr_t)slot->value;
	const struct trace_file **files = malloc((newest->depth + 1ul) * sizeof(*files));

	if (!files) {
		pairs->failed = true;
		return;
	}
	for (const struct trace_file *file = newest; file; file = file->older)
		files[file->depth] = file;
	for (unsigned i = 0; i <= newest->depth; i++)
		describe_version(pairs, slot, files[i], i);
	free(files);
}

static void add_hex(struct pairs *pairs, const void *bytes, size_t size)
{
	char text[3];

	pairs_byte(pairs, ' ');
	for (size_t i = 0; i < size; i++) {
		snprintf(text, sizeof(text), "%02x", ((const unsigned char *)bytes)[i]);
		pairs_text(pairs, text);
	}
}

static void add_path(struct pairs *pairs, const char path[static CLEW_UNIX_PATH_SIZE])
{
	char text[CLEW_UNIX_PATH_SIZE + 1] = "";

	memcpy(text, path, CLEW_UNIX_PATH_SIZE);
	pairs_byte(pairs, ',');
	pairs_word(pairs, text);
}

static void describe_socket(struct pairs *pairs, const struct map_slot *slot)
{
	const struct clew_socket_record *socket = (const void *)(uintptr_t)slot->value;
	char key[64];

	snprintf(key, sizeof(key), "socket.%" PRIu64, slot->key);
	pairs_begin(pairs, key);
	ROW(pairs, true, socket->peer, socket->family, socket->type, socket->local_port,
	    socket->peer_port);
	add_hex(pairs, socket->local, sizeof(socket->local));
	add_hex(pairs, socket->remote, sizeof(socket->remote));
	add_path(pairs, socket->local_path);
	add_path(pairs, socket->peer_path);
}

static void describe_cgroup(struct pairs *pairs, const struct map_slot *slot)
{
	const struct clew_cgroup_record *cgroup = (const void *)(uintptr_t)slot->value;
	char key[64];

	snprintf(key, sizeof(key), "cgroup.%" PRIu64, slot->key);
	pairs_begin(pairs, key);
	ROW(pairs, true, cgroup->hierarchy);
	pairs_byte(pairs, ' ');
	pairs_word(pairs, (const char *)(cgroup + 1));
}

static void describe_text(struct pairs *pairs, const struct map_slot *slot)
{
	const struct clew_text_record *text = (const void *)(uintptr_t)slot->value;
	char key[64];

	/* A span's own: its process has another number when the notation is read. */
	if (capture_is_environment(slot->key))
		return;
	snprintf(key, sizeof(key), "text.%" PRIu64, slot->key);
	pairs_begin(pairs, key);
	pairs_text(pairs, (const char *)(text + 1));
}

/* In order of their keys, so that the same trace gives the same bytes. */
static void describe_map(struct pairs *pairs, const struct map *map,
			 void (*describe)(struct pairs *, const struct map_slot *))
{
	const struct map_slot **slots = malloc((map->count + 1) * sizeof(*slots));
	size_t count = 0;

	if (!slots) {
		pairs->failed = true;
		return;
	}
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			slots[count++] = &map->slots[i];
	if (count > 1)
		qsort(slots, count, sizeof(*slots), compare_slots);
	for (size_t i = 0; i < count; i++)
		describe(pairs, slots[i]);
	free(slots);
}

void capture_describe(struct conversion *conversion)
{
	static const char *const told[] = {"kernel",   "machine",     "host",	"command",
					   "topology", "environment", "layers", "left_alone"};
	const struct clew_trace *trace = conversion->trace;
	const struct clew_capture_info *info = clew_trace_info(trace);
	struct pairs *pairs = &conversion->pairs;
	char key[64];

	pairs_begin(pairs, "capture");
	ROW(pairs, true, trace->start, trace->end);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *value = clew_trace_meta(trace, told[i]);

		if (!value)
			continue;
		snprintf(key, sizeof(key), "capture.%s", told[i]);
		pairs_begin(pairs, key);
		pairs_text(pairs, value);
	}
	if (info)
		describe_info(pairs, info);
	add_gaps(pairs, "lost", trace->gaps.data, trace->gaps.count);
	describe_map(pairs, &trace->files, describe_file);
	describe_map(pairs, &trace->sockets, describe_socket);
	describe_map(pairs, &trace->cgroups, describe_cgroup);
	describe_map(pairs, &trace->texts, describe_text);
}
