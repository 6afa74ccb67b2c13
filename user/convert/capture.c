/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts about a capture as a whole, as values of attributes, and back: its
 * file, its losses, and what the recorder noted about the machine.
 */
#include "convert/to_trace.h"
#include <errno.h>
#include <string.h>

/* ---- from a trace to a model ---- */

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

void capture_describe(struct conversion *conversion)
{
	static const char *const metas[] = {"kernel",	  "machine",	 "host",     "command",
					    "topology",	  "environment", "layers",   "left_alone",
					    "utc_offset", "probe_costs", "imported", "without",
					    "late_files", "runtimes",	 "hosts"};
	const struct clew_trace *trace = conversion->trace;
	const struct clew_capture_info *info = clew_trace_info(trace);
	struct pairs *pairs = &conversion->pairs;

	PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE, {trace->start}, {trace->end});
	for (size_t i = 0; i < sizeof(metas) / sizeof(metas[0]); i++) {
		const char *value = clew_trace_meta(trace, metas[i]);

		if (!value)
			continue;
		pairs_row_begin(pairs, ATTRIBUTE_CAPTURE_META, metas[i]);
		pairs_text(pairs, value);
	}
	if (info)
		describe_info(pairs, info);
	if (info && trace->hidden)
		PAIRS_ROW(pairs, ATTRIBUTE_CAPTURE_HIDDEN, {trace->hidden});
	add_gaps(pairs, ATTRIBUTE_LOST, trace->gaps.data, trace->gaps.count);
	capture_describe_identities(conversion);
}

/* ---- and back ---- */

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

/* Room for one more item. Arrays in the arena grow by copying, at each power of
 * two. */
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

/* Stitched captures count as one: it is complete only if all of them are. */
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

/* The number of a gap, of this capture, that stands for records missing from
 * the file. */
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

static int take_hidden(struct back *back, const struct row *row)
{
	back->trace->hidden += row_fields(row)[0].number;
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

int back_capture(struct back *back, enum attribute_key key, const char *name, const char *value)
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
		[ATTRIBUTE_CAPTURE_HIDDEN] = take_hidden,
	};
	int r;

	if (key == ATTRIBUTE_CAPTURE_META)
		return take_meta(back, name + strlen(attribute_table[key].key), value);
	if (key == ATTRIBUTE_COUNT || !takes[key])
		return 0;
	r = back_rows_of(back, key, name, value, takes[key], NULL);
	return r == 0 && *back->row.at ? back_fail_row(back) : r;
}
