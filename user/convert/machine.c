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
		pairs_add_number(&conversion->pairs, ATTRIBUTE_CPU, cpu);
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

static void add_gaps(struct pairs *pairs, enum attribute_key key, const struct clew_gap *gaps,
		     size_t count)
{
	for (size_t i = 0; i < count; i++)
		PAIRS_ROW(pairs, key, {gaps[i].header.cpu}, {gaps[i].from}, {gaps[i].header.time},
			  {gaps[i].count});
}

static void describe_info(struct pairs *pairs, const struct clew_capture_info *info)
{
	PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE_FILE, {info->bytes}, {info->complete},
		  {info->damaged_chunks}, {info->start}, {info->end}, {info->cpus});
	PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE_COST, {info->cost.user_ns}, {info->cost.bpf_ns},
		  {info->cost.bpf_sampled});
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
		PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE_COUNTS, {info->counts[kind]},
			  {info->column_bytes[kind]});
	for (size_t i = 0; i < info->ledger_count; i++) {
		const struct clew_ledger_row *row = &info->ledger[i];

		PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE_LEDGER, {row->cpu}, {row->kind}, {row->seen},
			  {row->filtered}, {row->reserved}, {row->read}, {row->stored}, {row->lost},
			  {row->missed});
	}
	for (size_t i = 0; i < info->clock_count; i++)
		PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE_CLOCKS, {info->clocks[i].monotonic},
			  {info->clocks[i].boot}, {info->clocks[i].wall});
	add_gaps(pairs, ATTRIBUTE_CAPTURE_GAPS, info->gaps, info->gap_count);
	for (size_t i = 0; i < info->gap_count; i++)
		if (info->gaps[i].header.flags & CLEW_GAP_IN_FILE)
			PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE_MISSING, {i});
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
	char name[80];
	int used;

	used = snprintf(name, sizeof(name), "%u:%u.%" PRIu64, CLEW_DEVICE_MAJOR(slot->part),
			CLEW_DEVICE_MINOR(slot->part), slot->key);
	if (number)
		snprintf(name + used, sizeof(name) - (size_t)used, ".%u", number);
	PAIRS_ROW_OF(pairs, ATTRIBUTE_KNOWN_FILE, name, {record->header.flags},
		     {record->mount_namespace}, {record->generation}, {number ? file->since : 0},
		     {.word = (const char *)(record + 1)});
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

static void describe_socket(struct pairs *pairs, const struct map_slot *slot)
{
	const struct clew_socket_record *socket = (const void *)(uintptr_t)slot->value;
	char local_path[CLEW_UNIX_PATH_SIZE + 1] = "", peer_path[CLEW_UNIX_PATH_SIZE + 1] = "";
	char name[24];

	_Static_assert(sizeof(socket->local) == ATTRIBUTE_ADDRESS_SIZE, "one form of addresses");
	memcpy(local_path, socket->local_path, CLEW_UNIX_PATH_SIZE);
	memcpy(peer_path, socket->peer_path, CLEW_UNIX_PATH_SIZE);
	snprintf(name, sizeof(name), "%" PRIu64, slot->key);
	PAIRS_ROW_OF(pairs, ATTRIBUTE_KNOWN_SOCKET, name, {socket->peer}, {socket->family},
		     {socket->type}, {socket->local_port}, {socket->peer_port},
		     {.address = socket->local}, {.address = socket->remote}, {.word = local_path},
		     {.word = peer_path});
}

static void describe_cgroup(struct pairs *pairs, const struct map_slot *slot)
{
	const struct clew_cgroup_record *cgroup = (const void *)(uintptr_t)slot->value;
	char name[24];

	snprintf(name, sizeof(name), "%" PRIu64, slot->key);
	PAIRS_ROW_OF(pairs, ATTRIBUTE_KNOWN_CGROUP, name, {cgroup->hierarchy},
		     {.word = (const char *)(cgroup + 1)});
}

static void describe_text(struct pairs *pairs, const struct map_slot *slot)
{
	const struct clew_text_record *text = (const void *)(uintptr_t)slot->value;
	char name[24];

	/* A span's own: its process has another number when the notation is read. */
	if (capture_is_environment(slot->key))
		return;
	snprintf(name, sizeof(name), "%" PRIu64, slot->key);
	pairs_row_begin(pairs, ATTRIBUTE_KNOWN_TEXT, name);
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

	PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE, {trace->start}, {trace->end});
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *value = clew_trace_meta(trace, told[i]);

		if (!value)
			continue;
		pairs_row_begin(pairs, ATTRIBUTE_CAPTURE_META, told[i]);
		pairs_text(pairs, value);
	}
	if (info)
		describe_info(pairs, info);
	add_gaps(pairs, ATTRIBUTE_LOST, trace->gaps.data, trace->gaps.count);
	describe_map(pairs, &trace->files, describe_file);
	describe_map(pairs, &trace->sockets, describe_socket);
	describe_map(pairs, &trace->cgroups, describe_cgroup);
	describe_map(pairs, &trace->texts, describe_text);
}
