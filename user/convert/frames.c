/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of traced functions as values of an attribute of their thread, and the functions as
 * values of one of the first CPU, and back. A row names the frame that its own was called in by
 * how many rows lie between.
 */
#include "convert/to_trace.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

/* Bytes in hexadecimal, as a word after a point. */
static void put_bytes(struct pairs *pairs, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	pairs_row_field(pairs, (union attribute_field){.word = ""});
	for (size_t i = 0; i < size; i++) {
		pairs_byte(pairs, digits[bytes[i] >> 4]);
		pairs_byte(pairs, digits[bytes[i] & 15]);
	}
}

static void describe_dropped(struct conversion *conversion)
{
	size_t count;
	const struct clew_trace_dropped *dropped = clew_trace_dropped(conversion->trace, &count);

	for (size_t i = 0; i < count; i++)
		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_DROPPED, {dropped[i].time},
			  {dropped[i].function}, {dropped[i].calls}, {dropped[i].cost},
			  {dropped[i].period});
}

void capture_describe_functions(struct conversion *conversion)
{
	uint32_t count = clew_trace_function_count(conversion->trace);
	struct pairs *pairs = &conversion->pairs;

	for (uint32_t i = 0; i < count; i++) {
		const struct clew_trace_function *function =
			clew_trace_function(conversion->trace, i);
		const char *words[3];

		if (!function)
			continue;
		PAIRS_ROW(pairs, ATTRIBUTE_FUNCTIONS, {i}, {function->offset}, {function->length});
		put_bytes(pairs, function->build_id, function->build_id_size);
		words[0] = function->object;
		words[1] = function->name;
		words[2] = function->arguments;
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			pairs_row_field(pairs, (union attribute_field){.word = words[k]});
	}
	describe_dropped(conversion);
}

static void describe_values(struct conversion *conversion, const struct clew_trace_frame *frames,
			    size_t count)
{
	struct pairs *pairs = &conversion->pairs;

	for (size_t i = 0; i < count; i++) {
		const struct clew_frame_detail *detail =
			clew_trace_frame_detail(conversion->trace, &frames[i]);

		if (!detail)
			continue;
		PAIRS_ROW(pairs, ATTRIBUTE_FRAME_VALUES, {i}, {detail->values_size},
			  {detail->returned_size}, {detail->unread},
			  {.word = capture_name_or_dash(conversion, detail->end_task)});
		put_bytes(pairs, detail->values,
			  (size_t)detail->values_size + detail->returned_size);
	}
}

void capture_describe_frames(struct conversion *conversion, uint32_t serial)
{
	size_t count;
	const struct clew_trace_frame *frames =
		clew_trace_frames(conversion->trace, serial, &count);

	for (size_t i = 0; i < count; i++) {
		const struct clew_trace_frame *frame = &frames[i],
					      *parent = clew_trace_frame_parent(conversion->trace,
										frame);

		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_FRAMES, {frame->start},
			  {frame->end == CLEW_TIME_OPEN ? 0 : frame->end}, {frame->function},
			  {frame->self}, {frame->probe}, {parent ? (uint64_t)(frame - parent) : 0},
			  {frame->closed}, {frame->flags & (unsigned)~CLEW_FRAME_REPLACED});
	}
	describe_values(conversion, frames, count);
}

/* ---- and back ---- */

/* Reads a word of put_bytes() into memory of the caller. -EINVAL: it is none. */
static int take_bytes(const char *word, uint8_t **ret_bytes, size_t *ret_size)
{
	size_t length = strlen(word);
	uint8_t *bytes;

	if (length % 2 || strspn(word, "0123456789abcdef") != length)
		return -EINVAL;
	bytes = malloc(length / 2 + 1);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned char)word[i];

		digit = digit > '9' ? digit - 'a' + 10 : digit - '0';
		bytes[i / 2] = (uint8_t)(i % 2 ? bytes[i / 2] | digit : digit << 4);
	}
	*ret_bytes = bytes;
	*ret_size = length / 2;
	return 0;
}

static int take_function(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_trace_function function = {.offset = fields[1].number,
					       .length = fields[2].number,
					       .object = fields[4].word,
					       .name = fields[5].word,
					       .arguments = fields[6].word};
	uint8_t *build_id;
	size_t size;
	int r = take_bytes(fields[3].word, &build_id, &size);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || size > UINT8_MAX || fields[0].number >= TRACE_MOST_FUNCTIONS) {
		if (r == 0)
			free(build_id);
		return back_fail_row(back);
	}
	function.build_id = build_id;
	function.build_id_size = (uint8_t)size;
	r = trace_add_function(back->trace, (uint32_t)fields[0].number, &function);
	free(build_id);
	return r;
}

static int take_dropped(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const struct clew_dropped record = {.header.time = fields[0].number,
					    .function = (uint32_t)fields[1].number,
					    .calls = fields[2].number,
					    .cost = fields[3].number,
					    .period = fields[4].number};

	if (fields[1].number >= TRACE_MOST_FUNCTIONS)
		return back_fail_row(back);
	return trace_take_dropped(back->trace, &record);
}

int back_dropped(struct back *back, const char *name, const char *value)
{
	return back_rows_of(back, ATTRIBUTE_DROPPED, name, value, take_dropped, NULL);
}

int back_functions(struct back *back, const char *name, const char *value)
{
	return back_rows_of(back, ATTRIBUTE_FUNCTIONS, name, value, take_function, NULL);
}

/* The frames of a thread whose attributes are being read. */
struct thread {
	uint32_t serial;
	uint32_t first;	    /* number of its first frame */
	struct vector rows; /* struct clew_frame */
};

static int take_frame(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct thread *thread = row->context;
	struct vector *rows = &thread->rows;
	uint64_t end = fields[1].number ?: CLEW_TIME_OPEN;

	if (fields[0].number > end || fields[2].number >= TRACE_MOST_FUNCTIONS ||
	    fields[5].number > rows->count || fields[6].number >= CLEW_FRAME_CLOSED_COUNT ||
	    fields[7].number > UINT8_MAX || rows->count >= CLEW_NO_NUMBER - thread->first)
		return back_fail_row(back);
	if (vector_reserve(rows, rows->count + 1) < 0)
		return -ENOMEM;
	((struct clew_frame *)rows->data)[rows->count] = (struct clew_frame){
		.start = fields[0].number,
		.end = end,
		.function = (uint32_t)fields[2].number,
		.self = fields[3].number,
		.probe = fields[4].number,
		.task = thread->serial,
		.end_task = thread->serial,
		.number = thread->first + (uint32_t)rows->count,
		.parent = fields[5].number
				  ? thread->first + (uint32_t)(rows->count - fields[5].number)
				  : CLEW_NO_NUMBER,
		.closed = (uint8_t)fields[6].number,
		.flags = (uint8_t)fields[7].number,
	};
	rows->count++;
	return 0;
}

static int take_values(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct thread *thread = row->context;
	struct clew_frame *frame;
	uint8_t *bytes;
	size_t size;
	int r;

	if (fields[0].number >= thread->rows.count || fields[1].number > UINT16_MAX ||
	    fields[2].number > UINT16_MAX || fields[3].number > UINT16_MAX)
		return back_fail_row(back);
	r = take_bytes(fields[5].word, &bytes, &size);
	if (r < 0)
		return r == -EINVAL ? back_fail_row(back) : r;
	frame = (struct clew_frame *)thread->rows.data + fields[0].number;
	if (size != fields[1].number + fields[2].number) {
		free(bytes);
		return back_fail_row(back);
	}
	free((void *)(uintptr_t)frame->values);
	frame->values = bytes;
	frame->values_size = (uint16_t)fields[1].number;
	frame->returned_size = (uint16_t)fields[2].number;
	frame->unread = (uint16_t)fields[3].number;
	if (strcmp(fields[4].word, "-") != 0)
		frame->end_task = back_serial(back, fields[4].word) ?: frame->task;
	return 0;
}

int back_frames(struct back *back, uint32_t serial, const struct values *values)
{
	struct thread thread = {.serial = serial,
				.first = (uint32_t)back->trace->frames.count,
				.rows.item = sizeof(struct clew_frame)};
	struct clew_frame *frames;
	int r = back_rows(back, ATTRIBUTE_FRAMES, values, take_frame, &thread);

	if (r == 0)
		r = back_rows(back, ATTRIBUTE_FRAME_VALUES, values, take_values, &thread);
	frames = thread.rows.data;
	for (size_t i = 0; i < thread.rows.count; i++) {
		if (r == 0)
			r = trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_FRAME,
									  .frame = &frames[i]});
		free((void *)(uintptr_t)frames[i].values);
	}
	vector_done(&thread.rows);
	return r;
}
