/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a CPU's span says: who ran when, and of the capture as a whole its file, its
 * losses, and the identities of files, sockets, groups and texts.
 */
#include "convert/back.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
static int take_file(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	bool first = !back->trace->info;
	struct clew_capture_info *info = info_of(back);

	if (!info)
		return -ENOMEM;
	info->bytes += fields[0].number;
	info->complete = fields[1].number && (first || info->complete);
	info->damaged_chunks += fields[2].number;
	info->start = first || fields[3].number < info->start ? fields[3].number : info->start;
	info->end = fields[4].number > info->end ? fields[4].number : info->end;
	info->cpus += (unsigned)fields[5].number;
	info->cost.bpf_sampled = first || info->cost.bpf_sampled;
	back->first_gap = info->gap_count;
	return 0;
}

static int take_cost(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_capture_info *info = info_of(back);

	if (!info)
		return -ENOMEM;
	info->cost.user_ns += fields[0].number;
	info->cost.bpf_ns += fields[1].number;
	info->cost.bpf_sampled &= fields[2].number != 0;
	return 0;
}

static int take_counts(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_capture_info *info = info_of(back);

	if (!info)
		return -ENOMEM;
	if (row->number < CLEW_KIND_COUNT) {
		info->counts[row->number] += fields[0].number;
		info->column_bytes[row->number] += fields[1].number;
	}
	return 0;
}

static int take_ledger(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_capture_info *info = info_of(back);
	struct clew_ledger_row *rows =
		info ? grow(back, info->ledger, info->ledger_count, sizeof(*rows)) : NULL;

	if (!rows)
		return -ENOMEM;
	rows[info->ledger_count++] = (struct clew_ledger_row){
		.cpu = (uint32_t)fields[0].number,
		.kind = (uint32_t)fields[1].number,
		.seen = fields[2].number,
		.filtered = fields[3].number,
		.reserved = fields[4].number,
		.read = fields[5].number,
		.stored = fields[6].number,
		.lost = fields[7].number,
		.missed = fields[8].number,
	};
	info->ledger = rows;
	return 0;
}

static int take_clock(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_capture_info *info = info_of(back);
	struct clew_clock *clocks =
		info ? grow(back, info->clocks, info->clock_count, sizeof(*clocks)) : NULL;

	if (!clocks)
		return -ENOMEM;
	clocks[info->clock_count++] = (struct clew_clock){
		.monotonic = fields[0].number, .boot = fields[1].number, .wall = fields[2].number};
	info->clocks = clocks;
	return 0;
}

static struct clew_gap gap_of(const union attribute_field *fields)
{
	return (struct clew_gap){.header = {.time = fields[2].number,
					    .cpu = (uint16_t)fields[0].number,
					    .kind = CLEW_KIND_GAP},
				 .from = fields[1].number,
				 .count = fields[3].number};
}

static int take_file_gap(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_capture_info *info = info_of(back);
	struct clew_gap *gaps =
		info ? grow(back, info->gaps, info->gap_count, sizeof(*gaps)) : NULL;

	if (!gaps)
		return -ENOMEM;
	gaps[info->gap_count++] = gap_of(fields);
	info->gaps = gaps;
	return 0;
}

/* Which of the gaps before it are of records that the file lacks. */
static int take_missing(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_capture_info *info = info_of(back);

	if (!info)
		return -ENOMEM;
	if (fields[0].number < info->gap_count - back->first_gap)
		((struct clew_gap *)(uintptr_t)info->gaps)[back->first_gap + fields[0].number]
			.header.flags = CLEW_GAP_IN_FILE;
	return 0;
}

static int take_gap(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_gap gap = gap_of(fields);

	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &gap.header});
}

static int take_extent(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	back->trace->start = fields[0].number;
	back->trace->end = fields[1].number;
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

/* Of a key the part behind its kind. */
static const char *name_of(const struct row *row)
{
	return strchr(row->name, '.') + 1;
}

static int take_known_file(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const char *name = name_of(row), *path = row->count > 4 ? fields[4].word : "";
	struct clew_file_record record = {.header.kind = CLEW_KIND_FILE};
	size_t length = strnlen(path, CLEW_PATH_SIZE);
	uint64_t inode;

	if (!scan_value_device(&name, &record.device) || *name++ != '.' ||
	    !scan_value_number(&name, &inode))
		return back_fail_row(back);
	record.inode = inode;
	record.header.flags = (uint8_t)fields[0].number;
	record.mount_namespace = (uint32_t)fields[1].number;
	record.generation = (uint32_t)fields[2].number;
	record.header.time = fields[3].number;
	record.path_size = (uint16_t)(length + 1);
	return send_with_text(back, &record, sizeof(record), path, length);
}

static void copy_path(const struct row *row, size_t field, char path[static CLEW_UNIX_PATH_SIZE])
{
	const char *text = field < row->count ? row_fields(row)[field].word : "";

	memcpy(path, text, strnlen(text, CLEW_UNIX_PATH_SIZE));
}

static int take_known_socket(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_socket_record record = {.header.kind = CLEW_KIND_SOCKET};
	const char *name = name_of(row);
	uint64_t inode;

	if (!scan_value_number(&name, &inode))
		return back_fail_row(back);
	record.inode = inode;
	record.peer = fields[0].number;
	record.family = (uint16_t)fields[1].number;
	record.type = (uint16_t)fields[2].number;
	record.local_port = (uint16_t)fields[3].number;
	record.peer_port = (uint16_t)fields[4].number;
	memcpy(record.local, fields[5].address, sizeof(record.local));
	memcpy(record.remote, fields[6].address, sizeof(record.remote));
	copy_path(row, 7, record.local_path);
	copy_path(row, 8, record.peer_path);
	return back->sink.identity(back->sink.context, &record.header);
}

static int take_known_cgroup(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const char *name = name_of(row), *path = row->count > 1 ? fields[1].word : "";
	struct clew_cgroup_record record = {.header.kind = CLEW_KIND_CGROUP};
	size_t length = strnlen(path, CLEW_PATH_SIZE);
	uint64_t id;

	if (!scan_value_number(&name, &id))
		return back_fail_row(back);
	record.id = id;
	record.hierarchy = (uint32_t)fields[0].number;
	record.path_size = (uint16_t)(length + 1);
	return send_with_text(back, &record, sizeof(record), path, length);
}

static int take_known_text(struct back *back, const char *key, const char *value)
{
	const char *name = strchr(key, '.') + 1;
	struct clew_text_record record = {.header.kind = CLEW_KIND_TEXT};
	size_t length = strlen(value);
	uint64_t hash;

	if (!scan_value_number(&name, &hash) || length > UINT16_MAX)
		return back_fail(back, "%s=%.60s: a row is not as it is written by `clew convert`",
				 key, value);
	record.hash = hash;
	record.text_size = (uint16_t)length;
	return send_with_text(back, &record, sizeof(record), value, length);
}

/* An attribute of a CPU's span; `whole`: only what the capture says of itself. */
static int take_attribute(struct back *back, const char *name, const char *value, bool whole)
{
	static const back_take takes[ATTRIBUTE_COUNT] = {
		[ATTRIBUTE_CAPTURE] = take_extent,
		[ATTRIBUTE_LOST] = take_gap,
		[ATTRIBUTE_CAPTURE_FILE] = take_file,
		[ATTRIBUTE_CAPTURE_COST] = take_cost,
		[ATTRIBUTE_CAPTURE_COUNTS] = take_counts,
		[ATTRIBUTE_CAPTURE_LEDGER] = take_ledger,
		[ATTRIBUTE_CAPTURE_CLOCKS] = take_clock,
		[ATTRIBUTE_CAPTURE_GAPS] = take_file_gap,
		[ATTRIBUTE_CAPTURE_MISSING] = take_missing,
		[ATTRIBUTE_KNOWN_FILE] = take_known_file,
		[ATTRIBUTE_KNOWN_SOCKET] = take_known_socket,
		[ATTRIBUTE_KNOWN_CGROUP] = take_known_cgroup,
	};
	enum attribute_key key = attribute_find(name);
	int r;

	if (whole && (key < ATTRIBUTE_CAPTURE || key > ATTRIBUTE_LOST))
		return 0;
	if (key == ATTRIBUTE_CAPTURE_META)
		return take_meta(back, name + strlen("capture."), value);
	if (key == ATTRIBUTE_KNOWN_TEXT)
		return take_known_text(back, name, value);
	if (key == ATTRIBUTE_COUNT || !takes[key])
		return 0;
	r = back_rows_of(back, key, name, value, takes[key], NULL);
	/* Nothing may be left of a value that says only numbers. */
	if (r == 0 && *back->row.at && key < ATTRIBUTE_KNOWN_FILE)
		return back_fail_row(back);
	return r;
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

			r = take_attribute(back, key,
					   clew_model_string(model, model->attributes[i].value),
					   true);
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
					   clew_model_string(model, model->attributes[i].value),
					   false);
		back->has_runs = true;
		if (r == 0)
			r = take_runs(back, span, cpu);
	}
	return r;
}
