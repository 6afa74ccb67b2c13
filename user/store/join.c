/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins segments. */
#include "store/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"

struct part {
	struct clew_join_segment segment;
	struct clew_reader *reader;
};

struct clew_join {
	struct vector parts; /* struct part */
};

/* Records of several segments as those of one capture, on their way to who takes them. */
struct passing {
	int (*take)(void *context, const struct clew_header *record);
	/* Gets those that are stated again; NULL: nobody does. */
	void (*leave_out)(void *context, const struct clew_header *record);
	void *context;
	unsigned cpus;
	struct map known; /* serials of tasks that have a record */
};

/* A capture that is being written. */
struct joined {
	struct clew_writer *writer;
	struct vector sums; /* struct clew_ledger_row, by CPU and kind */
	struct map places;  /* (CPU, kind) -> place in `sums`, and 1 */
	struct clew_cost cost;
	bool counted; /* all segments have a ledger */
};

int clew_join_new(struct clew_join **ret_join)
{
	struct clew_join *join = calloc(1, sizeof(*join));

	if (!join)
		return -ENOMEM;
	join->parts.item = sizeof(struct part);
	*ret_join = join;
	return 0;
}

void clew_join_free(struct clew_join *join)
{
	struct part *parts;

	if (!join)
		return;
	parts = join->parts.data;
	for (size_t i = 0; i < join->parts.count; i++)
		clew_reader_close(parts[i].reader);
	vector_done(&join->parts);
	free(join);
}

static int check(const struct clew_join *join, const struct part *part, char *message, size_t size)
{
	const struct part *first = join->parts.data;

	if (!part->segment.recording) {
		snprintf(message, size, "is no segment of a recording: record with --rotate");
		return -EINVAL;
	}
	if (join->parts.count && strcmp(first->segment.recording, part->segment.recording)) {
		snprintf(message, size, "is of another recording: name segments of one");
		return -EXDEV;
	}
	return 0;
}

int clew_join_add(struct clew_join *join, const char *path, char *message, size_t message_size)
{
	struct part part = {};
	const char *number;
	int r = clew_reader_open(path, &part.reader, message, message_size);

	if (r < 0)
		return r;
	number = clew_reader_meta(part.reader, "segment");
	part.segment = (struct clew_join_segment){
		.info = clew_reader_info(part.reader),
		.recording = number ? clew_reader_meta(part.reader, "recording") : NULL,
		.number = number ? strtoull(number, NULL, 10) : 0,
	};
	r = check(join, &part, message, message_size);
	if (r >= 0 && vector_reserve(&join->parts, join->parts.count + 1) < 0) {
		snprintf(message, message_size, "no memory for another segment: name fewer");
		r = -ENOMEM;
	}
	if (r < 0) {
		clew_reader_close(part.reader);
		return r;
	}
	((struct part *)join->parts.data)[join->parts.count++] = part;
	return 0;
}

static int by_number(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	return a->segment.number < b->segment.number ? -1 : a->segment.number > b->segment.number;
}

size_t clew_join_sort(struct clew_join *join)
{
	struct part *parts = join->parts.data;
	size_t kept = 0;

	if (join->parts.count)
		qsort(parts, join->parts.count, sizeof(*parts), by_number);
	for (size_t i = 0; i < join->parts.count; i++) {
		if (kept && parts[kept - 1].segment.number == parts[i].segment.number)
			clew_reader_close(parts[i].reader);
		else
			parts[kept++] = parts[i];
	}
	join->parts.count = kept;
	return kept;
}

const struct clew_join_segment *clew_join_at(const struct clew_join *join, size_t number)
{
	return &((const struct part *)join->parts.data)[number].segment;
}

const char *clew_join_meta(const struct clew_join *join, const char *key)
{
	return clew_reader_meta(((const struct part *)join->parts.data)->reader, key);
}

const struct clew_reader *clew_join_reader(const struct clew_join *join, size_t number)
{
	return ((const struct part *)join->parts.data)[number].reader;
}

/* True if the segment follows the one before it without a gap. */
static bool follows(const struct part *part, const struct part *before)
{
	return part->segment.number == before->segment.number + 1 && before->segment.info->complete;
}

/* ---- records ---- */

/*
 * True if a segment that follows another one states again what the trace knows. Waits that it
 * states after the segment's end are those at the end of the recording.
 */
static bool is_again(const struct passing *passing, const struct part *part,
		     const struct clew_header *record)
{
	if (record->cpu != CLEW_STREAM_USER)
		return false;
	switch (record->kind) {
	case CLEW_KIND_STATE:
	case CLEW_KIND_END:
		return !part->segment.info->complete || record->time < part->segment.info->end;
	case CLEW_KIND_MESSAGE:
		return true;
	case CLEW_KIND_TASK:
		return map_get(&passing->known, ((const struct clew_task_record *)record)->task, 0);
	default:
		return false;
	}
}

static int pass_records(struct passing *passing, const struct part *part, bool again)
{
	const struct clew_header *record;
	int r;

	while ((r = clew_reader_next(part->reader, &record)) > 0) {
		if (record->cpu >= passing->cpus && record->cpu != CLEW_STREAM_USER)
			return -EBADMSG;
		if ((again && is_again(passing, part, record)) ||
		    clew_reader_is_again(part->reader, record)) {
			if (passing->leave_out)
				passing->leave_out(passing->context, record);
			continue;
		}
		if (record->kind == CLEW_KIND_TASK)
			r = map_set(&passing->known,
				    ((const struct clew_task_record *)record)->task, 0, 1);
		if (r >= 0)
			r = passing->take(passing->context, record);
		if (r < 0)
			return r;
	}
	return r;
}

/* A gap on all CPUs from a segment's end to the start of the next one that there is. */
static int pass_gap(struct passing *passing, const struct part *before, const struct part *part)
{
	int r = 0;

	for (unsigned cpu = 0; r >= 0 && cpu < passing->cpus; cpu++) {
		const struct clew_gap gap = {
			.header = {.time = part->segment.info->start,
				   .cpu = (uint16_t)cpu,
				   .kind = CLEW_KIND_GAP,
				   .flags = CLEW_GAP_IN_FILE},
			.from = before->segment.info->end,
			.count = CLEW_GAP_UNCOUNTED,
		};

		r = passing->take(passing->context, &gap.header);
	}
	return r;
}

/* Passes on a segment and the gap before it; `before` NULL: it is the first one. */
static int pass_part(struct passing *passing, const struct part *before, const struct part *part)
{
	bool again = before && follows(part, before);
	int r = before && !again ? pass_gap(passing, before, part) : 0;

	return r < 0 ? r : pass_records(passing, part, again);
}

int clew_join_each(struct clew_join *join, size_t first, size_t count,
		   int (*take)(void *context, const struct clew_header *record), void *context)
{
	const struct part *parts = (const struct part *)join->parts.data + first;
	struct passing passing = {
		.take = take, .context = context, .cpus = parts->segment.info->cpus};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = pass_part(&passing, i ? &parts[i - 1] : NULL, &parts[i]);
	map_done(&passing.known);
	return r < 0 ? r : 0;
}

/* ---- writing ---- */

/* True if one of the segments was not ended: its recording was killed, or the disk was full. */
static bool is_cut_off(const struct part *first, const struct part *last)
{
	while (first <= last && first->segment.info->complete)
		first++;
	return first <= last;
}

static int write_meta(struct joined *joined, const struct part *first, const struct part *last)
{
	static const char *const own[] = {"start",	"end",	      "recording", "segment",
					  "left_alone", "late_files", "runtimes"};
	const char *key, *value, *left = clew_reader_meta(last->reader, "left_alone"),
				 *runtimes = clew_reader_meta(last->reader, "runtimes"),
				 *late = clew_reader_meta(last->reader, "late_files");
	char number[32];
	int r = 0;

	for (size_t i = 0; r >= 0 && (key = clew_reader_meta_at(first->reader, i, &value)); i++) {
		bool skip = false;

		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			skip |= !strcmp(key, own[k]);
		if (!skip)
			r = clew_writer_meta(joined->writer, key, value);
	}
	snprintf(number, sizeof(number), "%llu", (unsigned long long)first->segment.info->start);
	if (r >= 0)
		r = clew_writer_meta(joined->writer, "start", number);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)last->segment.info->end);
	if (r >= 0 && last->segment.info->complete)
		r = clew_writer_meta(joined->writer, "end", number);
	if (r >= 0 && is_cut_off(first, last))
		r = clew_writer_meta(joined->writer, "cut_off", "1");
	if (r >= 0 && late)
		r = clew_writer_meta(joined->writer, "late_files", late);
	if (r >= 0 && runtimes)
		r = clew_writer_meta(joined->writer, "runtimes", runtimes);
	return r >= 0 && left ? clew_writer_meta(joined->writer, "left_alone", left) : r;
}

static int write_clocks(struct joined *joined, const struct clew_capture_info *info)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < info->clock_count; i++)
		r = clew_writer_clock(joined->writer, &info->clocks[i]);
	return r;
}

static int add_row(struct joined *joined, const struct clew_ledger_row *row)
{
	const uint64_t *place = map_get(&joined->places, row->cpu, row->kind);
	struct clew_ledger_row *sum;

	if (!place) {
		if (vector_reserve(&joined->sums, joined->sums.count + 1) < 0)
			return -ENOMEM;
		((struct clew_ledger_row *)joined->sums.data)[joined->sums.count++] = *row;
		return map_set(&joined->places, row->cpu, row->kind, joined->sums.count);
	}
	sum = (struct clew_ledger_row *)joined->sums.data + *place - 1;
	sum->seen += row->seen;
	sum->filtered += row->filtered;
	sum->reserved += row->reserved;
	sum->read += row->read;
	sum->stored += row->stored;
	sum->lost += row->lost;
	sum->missed += row->missed;
	return 0;
}

static int add_ledger(struct joined *joined, const struct clew_capture_info *info)
{
	int r = 0;

	joined->counted &= info->ledger_count > 0;
	for (size_t i = 0; r >= 0 && i < info->ledger_count; i++)
		r = add_row(joined, &info->ledger[i]);
	joined->cost.user_ns += info->cost.user_ns;
	joined->cost.bpf_ns += info->cost.bpf_ns;
	joined->cost.bpf_sampled |= info->cost.bpf_sampled;
	return r;
}

/*
 * Takes a record out of the ledger that is not written. The ledger of a recording that was killed
 * is older than the last records, and may lack it.
 */
static void leave_out(void *context, const struct clew_header *record)
{
	struct joined *joined = context;
	const uint64_t *place = map_get(&joined->places, CLEW_STREAM_USER, record->kind);
	struct clew_ledger_row *sum;

	if (!place)
		return;
	sum = (struct clew_ledger_row *)joined->sums.data + *place - 1;
	if (!sum->seen || !sum->reserved || !sum->read || !sum->stored)
		return;
	sum->seen--;
	sum->reserved--;
	sum->read--;
	sum->stored--;
}

static int write_record(void *context, const struct clew_header *record)
{
	struct joined *joined = context;

	return clew_writer_put(joined->writer, record->cpu, record, SIZE_MAX);
}

static int write_parts(struct joined *joined, struct passing *passing, const struct part *parts,
		       size_t count, uint64_t *ret_missing)
{
	int r = write_meta(joined, parts, &parts[count - 1]);

	*ret_missing = 0;
	for (size_t i = 0; r >= 0 && i < count; i++) {
		if (i && !follows(&parts[i], &parts[i - 1]))
			*ret_missing += parts[i].segment.number - parts[i - 1].segment.number - 1;
		r = add_ledger(joined, parts[i].segment.info);
		if (r >= 0)
			r = write_clocks(joined, parts[i].segment.info);
		if (r >= 0)
			r = pass_part(passing, i ? &parts[i - 1] : NULL, &parts[i]);
	}
	if (r >= 0 && joined->counted)
		r = clew_writer_ledger(joined->writer, joined->sums.data, joined->sums.count,
				       &joined->cost);
	return r;
}

int clew_join_write(struct clew_join *join, size_t first, size_t count, const char *output,
		    uint64_t *ret_missing, char *message, size_t message_size)
{
	const struct part *parts = (const struct part *)join->parts.data + first;
	struct joined joined = {.sums.item = sizeof(struct clew_ledger_row), .counted = true};
	struct passing passing = {.take = write_record,
				  .leave_out = leave_out,
				  .context = &joined,
				  .cpus = parts->segment.info->cpus};
	struct clew_writer_options options = {.size = sizeof(options), .cpus = passing.cpus};
	int r = clew_writer_open(output, &options, &joined.writer), closed;

	*message = '\0';
	if (r < 0)
		return r;
	r = write_parts(&joined, &passing, parts, count, ret_missing);
	if (r == -EBADMSG)
		snprintf(message, message_size, "a segment is damaged: leave it out");
	closed = clew_writer_close(joined.writer);
	map_done(&passing.known);
	map_done(&joined.places);
	vector_done(&joined.sums);
	return r < 0 ? r : closed;
}
