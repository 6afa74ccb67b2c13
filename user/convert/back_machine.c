/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a CPU's span says: who ran when, and of the capture as a whole its file, its
 * losses, and the identities of files, sockets, groups and texts.
 */
#include "convert/back.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A row of numbers; false: there are fewer. */
static bool take_numbers(const char **at, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!scan_value_number(at, &numbers[i]))
			return false;
	return true;
}

static int fail_row(struct back *back, const char *key, const char *value)
{
	return back_fail(back, "%s=%.60s: a row is not as it is written by `clew convert`", key,
			 value);
}

/* All rows of a value; `take` gets one each. */
static int take_rows(struct back *back, const char *key, const char *value, size_t count,
		     int (*take)(struct back *back, const uint64_t *numbers))
{
	uint64_t numbers[9];
	const char *at = value;
	int r;

	do {
		if (!take_numbers(&at, numbers, count))
			return fail_row(back, key, value);
		r = take(back, numbers);
	} while (r == 0 && scan_value_row(&at));
	return r == 0 && *at ? fail_row(back, key, value) : r;
}

/* ---- the capture's file ---- */

static struct clew_capture_info *info_of(struct back *back)
{
	struct clew_trace *trace = back->trace;

	if (!trace->info) {
		trace->info = arena_take(&trace->arena, sizeof(*trace->info));
		if (trace->info)
			memset(trace->info, 0, sizeof(*trace->info));
	}
	return trace->info;
}

/* Arrays of a file's description grow in the arena: by copies, at each power of two. */
static void *grow(struct back *back, const void *array, size_t count, size_t item)
{
	char *larger;

	if (count & (count - 1))
		return (void *)(uintptr_t)array;
	larger = arena_take(&back->trace->arena, (count ? 2 * count : 1) * item);
	if (larger && count)
		memcpy(larger, array, count * item);
	return larger;
}

/* Captures that were stitched are one then: what one lacks, all lack. */
static int take_file(struct back *back, const uint64_t *numbers)
{
	bool first = !back->trace->info;
	struct clew_capture_info *info = info_of(back);

	if (!info)
		return -ENOMEM;
	info->bytes += numbers[0];
	info->complete = numbers[1] && (first || info->complete);
	info->damaged_chunks += numbers[2];
	info->start = first || numbers[3] < info->start ? numbers[3] : info->start;
	info->end = numbers[4] > info->end ? numbers[4] : info->end;
	info->cpus += (unsigned)numbers[5];
	info->cost.bpf_sampled = first || info->cost.bpf_sampled;
	back->first_gap = info->gap_count;
	return 0;
}

static int take_cost(struct back *back, const uint64_t *numbers)
{
	struct clew_capture_info *info = info_of(back);

	if (!info)
		return -ENOMEM;
	info->cost.user_ns += numbers[0];
	info->cost.bpf_ns += numbers[1];
	info->cost.bpf_sampled &= numbers[2] != 0;
	return 0;
}

static int take_counts(struct back *back, const char *key, const char *value)
{
	struct clew_capture_info *info = info_of(back);
	const char *at = value;
	uint64_t numbers[2];
	unsigned kind = 0;

	if (!info)
		return -ENOMEM;
	do {
		if (!take_numbers(&at, numbers, 2))
			return fail_row(back, key, value);
		if (kind < CLEW_KIND_COUNT) {
			info->counts[kind] += numbers[0];
			info->column_bytes[kind] += numbers[1];
		}
		kind++;
	} while (scan_value_row(&at));
	return 0;
}

static int take_ledger(struct back *back, const uint64_t *numbers)
{
	struct clew_capture_info *info = info_of(back);
	struct clew_ledger_row *rows =
		info ? grow(back, info->ledger, info->ledger_count, sizeof(*rows)) : NULL;

	if (!rows)
		return -ENOMEM;
	rows[info->ledger_count++] = (struct clew_ledger_row){
		.cpu = (uint32_t)numbers[0],
		.kind = (uint32_t)numbers[1],
		.seen = numbers[2],
		.filtered = numbers[3],
		.reserved = numbers[4],
		.read = numbers[5],
		.stored = numbers[6],
		.lost = numbers[7],
		.missed = numbers[8],
	};
	info->ledger = rows;
	return 0;
}

static int take_clock(struct back *back, const uint64_t *numbers)
{
	struct clew_capture_info *info = info_of(back);
	struct clew_clock *clocks =
		info ? grow(back, info->clocks, info->clock_count, sizeof(*clocks)) : NULL;

	if (!clocks)
		return -ENOMEM;
	clocks[info->clock_count++] = (struct clew_clock){
		.monotonic = numbers[0], .boot = numbers[1], .wall = numbers[2]};
	info->clocks = clocks;
	return 0;
}

static struct clew_gap gap_of(const uint64_t *numbers)
{
	return (struct clew_gap){
		.header = {.time = numbers[2], .cpu = (uint16_t)numbers[0], .kind = CLEW_KIND_GAP},
		.from = numbers[1],
		.count = numbers[3]};
}

static int take_file_gap(struct back *back, const uint64_t *numbers)
{
	struct clew_capture_info *info = info_of(back);
	struct clew_gap *gaps =
		info ? grow(back, info->gaps, info->gap_count, sizeof(*gaps)) : NULL;

	if (!gaps)
		return -ENOMEM;
	gaps[info->gap_count++] = gap_of(numbers);
	info->gaps = gaps;
	return 0;
}

/* Which of the gaps before it are of records that the file lacks. */
static int take_missing(struct back *back, const uint64_t *numbers)
{
	struct clew_capture_info *info = info_of(back);

	if (!info)
		return -ENOMEM;
	if (numbers[0] < info->gap_count - back->first_gap)
		((struct clew_gap *)(uintptr_t)info->gaps)[back->first_gap + numbers[0]]
			.header.flags = CLEW_GAP_IN_FILE;
	return 0;
}

static int take_gap(struct back *back, const uint64_t *numbers)
{
	struct clew_gap gap = gap_of(numbers);

	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &gap.header});
}

static int take_extent(struct back *back, const uint64_t *numbers)
{
	back->trace->start = numbers[0];
	back->trace->end = numbers[1];
	back->from_capture = true;
	return 0;
}

static int take_meta(struct back *back, const char *key, const char *value)
{
	struct vector *metas = &back->trace->metas;
	const char **pair;

	if (vector_reserve(metas, metas->count + 2) < 0)
		return -ENOMEM;
	pair = (const char **)metas->data + metas->count;
	pair[0] = arena_copy(&back->trace->arena, key, strlen(key));
	pair[1] = arena_copy(&back->trace->arena, value, strlen(value));
	if (!pair[0] || !pair[1])
		return -ENOMEM;
	metas->count += 2;
	return 0;
}

/* ---- identities ---- */

/* A record with a text behind it, to the trace. */
static int send_with_text(struct back *back, const void *record, size_t size, const char *text,
			  size_t length)
{
	char *bytes = malloc(size + length + 1);
	int r;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, record, size);
	memcpy(bytes + size, text, length);
	bytes[size + length] = 0;
	r = trace_take(back->trace,
		       (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
					     .identity = (const struct clew_header *)bytes});
	free(bytes);
	return r;
}

static int take_known_file(struct back *back, const char *key, const char *value)
{
	const char *name = strchr(key, '.') + 1, *at = value;
	struct clew_file_record record = {.header.kind = CLEW_KIND_FILE};
	char path[CLEW_PATH_SIZE + 1] = "";
	uint64_t inode, numbers[4];

	if (!scan_value_device(&name, &record.device) || *name++ != '.' ||
	    !scan_value_number(&name, &inode) || !take_numbers(&at, numbers, 4))
		return fail_row(back, key, value);
	scan_value_word(&at, path, sizeof(path));
	record.inode = inode;
	record.header.flags = (uint8_t)numbers[0];
	record.mount_namespace = (uint32_t)numbers[1];
	record.generation = (uint32_t)numbers[2];
	record.header.time = numbers[3];
	record.path_size = (uint16_t)(strlen(path) + 1);
	return send_with_text(back, &record, sizeof(record), path, strlen(path));
}

static bool take_hex(const char **at, uint8_t *bytes, size_t size)
{
	char word[64];

	if (!scan_value_word(at, word, sizeof(word)) || strlen(word) != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		char digits[3] = {word[2 * i], word[2 * i + 1], 0}, *end;

		bytes[i] = (uint8_t)strtoul(digits, &end, 16);
		if (*end)
			return false;
	}
	return true;
}

static void take_path(const char **at, char path[static CLEW_UNIX_PATH_SIZE])
{
	char text[CLEW_UNIX_PATH_SIZE + 1] = "";

	if (scan_value_row(at))
		scan_value_word(at, text, sizeof(text));
	memcpy(path, text, CLEW_UNIX_PATH_SIZE);
}

static int take_known_socket(struct back *back, const char *key, const char *value)
{
	const char *name = strchr(key, '.') + 1, *at = value;
	struct clew_socket_record record = {.header.kind = CLEW_KIND_SOCKET};
	uint64_t inode, numbers[5];

	if (!scan_value_number(&name, &inode) || !take_numbers(&at, numbers, 5) ||
	    !take_hex(&at, record.local, sizeof(record.local)) ||
	    !take_hex(&at, record.remote, sizeof(record.remote)))
		return fail_row(back, key, value);
	record.inode = inode;
	record.peer = numbers[0];
	record.family = (uint16_t)numbers[1];
	record.type = (uint16_t)numbers[2];
	record.local_port = (uint16_t)numbers[3];
	record.peer_port = (uint16_t)numbers[4];
	take_path(&at, record.local_path);
	take_path(&at, record.peer_path);
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record.header});
}

static int take_known_cgroup(struct back *back, const char *key, const char *value)
{
	const char *name = strchr(key, '.') + 1, *at = value;
	struct clew_cgroup_record record = {.header.kind = CLEW_KIND_CGROUP};
	char path[CLEW_PATH_SIZE + 1] = "";
	uint64_t id, hierarchy;

	if (!scan_value_number(&name, &id) || !scan_value_number(&at, &hierarchy))
		return fail_row(back, key, value);
	scan_value_word(&at, path, sizeof(path));
	record.id = id;
	record.hierarchy = (uint32_t)hierarchy;
	record.path_size = (uint16_t)(strlen(path) + 1);
	return send_with_text(back, &record, sizeof(record), path, strlen(path));
}

static int take_known_text(struct back *back, const char *key, const char *value)
{
	const char *name = strchr(key, '.') + 1;
	struct clew_text_record record = {.header.kind = CLEW_KIND_TEXT};
	size_t length = strlen(value);
	uint64_t hash;

	if (!scan_value_number(&name, &hash) || length > UINT16_MAX)
		return fail_row(back, key, value);
	record.hash = hash;
	record.text_size = (uint16_t)length;
	return send_with_text(back, &record, sizeof(record), value, length);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int take_attribute(struct back *back, const char *key, const char *value)
{
	static const struct {
		const char *key;
		size_t count;
		int (*take)(struct back *back, const uint64_t *numbers);
	} rows[] = {{"capture", 2, take_extent},	{"lost", 4, take_gap},
		    {"capture.file", 6, take_file},	{"capture.cost", 3, take_cost},
		    {"capture.ledger", 9, take_ledger}, {"capture.clocks", 3, take_clock},
		    {"capture.gaps", 4, take_file_gap}, {"capture.missing", 1, take_missing}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].key, key))
			return take_rows(back, key, value, rows[i].count, rows[i].take);
	if (!strcmp(key, "capture.counts"))
		return take_counts(back, key, value);
	if (begins(key, "capture."))
		return take_meta(back, key + strlen("capture."), value);
	if (begins(key, "file."))
		return take_known_file(back, key, value);
	if (begins(key, "socket."))
		return take_known_socket(back, key, value);
	if (begins(key, "cgroup."))
		return take_known_cgroup(back, key, value);
	return begins(key, "text.") ? take_known_text(back, key, value) : 0;
}

/* ---- runs ---- */

static int keep_run(struct back *back, uint16_t cpu, uint32_t task, clew_time start, clew_time end)
{
	struct clew_run run = {.start = (uint64_t)start,
			       .end = (uint64_t)end,
			       .task = task,
			       .cpu = cpu,
			       .ended = CLEW_RUN_YIELDED};
	size_t index;

	return trace_keep_run(back->trace, &run, &index);
}

/* An ES is cut at its marks, which name who runs from there on. */
static int take_runs(struct back *back, uint32_t span, uint16_t cpu)
{
	const struct clew_model *model = back->model;
	struct clew_range range = model->spans[span].elementary;
	int r = 0;

	for (uint32_t i = range.first; i < range.first + range.count && r == 0; i++) {
		const struct clew_es *es = &model->es[i];
		struct clew_range marks = clew_model_marks(model, i);

		if (i > range.first && es->start > es[-1].end && es->wait != CLEW_NONE &&
		    model->waits[es->wait].kind == CLEW_WAIT_IDLE)
			r = keep_run(back, cpu, CLEW_NO_TASK, es[-1].end, es->start);
		for (uint32_t k = 0; k < marks.count && r == 0; k++) {
			const struct clew_mark *mark = &model->marks[marks.first + k];
			clew_time end = k + 1 < marks.count ? mark[1].at : es->end;

			if (back->serial_of[mark->label])
				r = keep_run(back, cpu, back->serial_of[mark->label], mark->at,
					     end);
		}
	}
	return r;
}

/* The number of a CPU, said by an attribute; UINT16_MAX: it is none. */
static uint16_t cpu_of(const struct clew_model *model, uint32_t span)
{
	const char *value =
		model->spans[span].parent == CLEW_NONE
			? clew_model_attribute(model, model->spans[span].attributes, "cpu")
			: NULL;
	uint64_t number;

	return value && scan_value_number(&value, &number) && number < UINT16_MAX ? (uint16_t)number
										  : UINT16_MAX;
}

int back_truth(struct back *back)
{
	const struct clew_model *model = back->model;
	int r = 0;

	for (uint32_t span = model->first_root; span != CLEW_NONE && r == 0;
	     span = model->spans[span].next_sibling) {
		uint32_t list = model->spans[span].attributes;

		if (cpu_of(model, span) == UINT16_MAX)
			continue;
		for (uint32_t i = model->attribute_lists[list];
		     i < model->attribute_lists[list + 1] && r == 0; i++) {
			const char *key = clew_model_string(model, model->attributes[i].key);

			if (begins(key, "capture") || !strcmp(key, "lost"))
				r = take_attribute(
					back, key,
					clew_model_string(model, model->attributes[i].value));
		}
	}
	return r;
}

int back_machine(struct back *back)
{
	const struct clew_model *model = back->model;
	int r = 0;

	for (uint32_t span = model->first_root; span != CLEW_NONE && r == 0;
	     span = model->spans[span].next_sibling) {
		uint16_t cpu = back->serials[span] ? UINT16_MAX : cpu_of(model, span);
		uint32_t list = model->spans[span].attributes;

		if (cpu == UINT16_MAX)
			continue;
		for (uint32_t i = model->attribute_lists[list];
		     i < model->attribute_lists[list + 1] && r == 0; i++)
			r = take_attribute(back, clew_model_string(model, model->attributes[i].key),
					   clew_model_string(model, model->attributes[i].value));
		back->has_runs = true;
		if (r == 0)
			r = take_runs(back, span, cpu);
	}
	return r;
}
