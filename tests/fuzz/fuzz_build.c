/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the builder and the trace: records of any kind, flags and contents, in order
 * of time. Every 32 bits of a record come from one byte of the input: small numbers
 * mostly, so that they name the same things, and a few far ones.
 *
 * Whatever they say: no crash, no endless loop, and each task's time is explained in
 * full and once.
 */
#include "builder/build.h"
#include "explain/why.h"
#include "trace/internal.h"
#include <stdlib.h>
#include <string.h>

#include "store/schema.h"

#define START	1000000u
#define LARGEST 256u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t number_of(uint8_t byte)
{
	static const uint32_t far[] = {0xffffffff, 0x7ffff, 0x10000, 0x20000, 0x700000, 0xfe00000,
				       4096,	   8192,    65536,   0xffff,  0x8000,	1000000,
				       1000100,	   1000500, 1001000, 1002000};

	return byte < 240 ? byte : far[byte - 240];
}

/* Explains a task from first to last. */
static void explain(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	struct clew_why why;
	uint64_t at;

	if (!task || task->begin >= task->end ||
	    clew_why_explain(trace, NULL, serial, task->begin, task->end, &why) < 0)
		return;
	at = task->begin;
	for (size_t i = 0; i < why.segment_count; i++) {
		if (why.segments[i].start != at || why.segments[i].end <= at)
			abort();
		at = why.segments[i].end;
	}
	if (at != task->end)
		abort();
	clew_why_done(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_Alignas(8) uint8_t bytes[LARGEST];
	struct clew_header *header = (struct clew_header *)bytes;
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct clew_finding_taker taker;
	uint64_t time = START;
	uint32_t *order, *begin;
	struct clew_builder *builder;
	struct clew_trace *trace;
	size_t count, records = 0;

	if (clew_trace_new(NULL, START, &trace) < 0)
		abort();
	taker = clew_trace_taker(trace);
	if (clew_builder_new(&options, &taker, 1, &builder) < 0)
		abort();
	while (size >= 4 && records++ < 2000) {
		size_t need;

		memset(bytes, 0, sizeof(bytes));
		time += data[1];
		*header = (struct clew_header){.time = time,
					       .kind = data[0] % CLEW_KIND_COUNT,
					       .flags = data[2],
					       .cpu = data[3] & 3};
		data += 4;
		size -= 4;
		/* Records of identity with a text behind them are the capture's reader's to check.
		 */
		need = store_record_stride(header->kind);
		if (need < sizeof(*header) || need > sizeof(bytes) ||
		    store_shape(header->kind)->tail_length)
			continue;
		for (size_t at = sizeof(*header); at < need && size > 0; at += 4, data++, size--) {
			uint32_t number = number_of(*data);

			memcpy(bytes + at, &number, sizeof(number));
		}
		if (clew_builder_feed(builder, header) < 0)
			abort();
	}
	if (clew_builder_finish(builder, time + 100) < 0)
		abort();
	clew_builder_free(builder);
	if (clew_trace_finish(trace, time + 100) < 0)
		abort();
	for (size_t i = 0; i < clew_trace_task_count(trace) && i < 16; i++)
		explain(trace, clew_trace_task_at(trace, i)->serial);
	clew_trace_edges(trace, &count);
	if (clew_trace_edge_groups(trace, &order, &begin, &count) >= 0) {
		free(order);
		free(begin);
	}
	clew_trace_free(trace);
	return 0;
}
