/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of traced functions at random, for the tests of what a trace says of them. */
#ifndef CLEW_TESTS_FOREST_H
#define CLEW_TESTS_FOREST_H

#include "draw.h"
#include "synthetic.h"
#include <stdio.h>

#define FUNCTIONS   7
#define FOREST_MOST 400

struct forest {
	struct clew_frame frames[FOREST_MOST];
	size_t count;
	uint32_t serial;
	unsigned longest; /* ns of a call, at most */
};

static UNUSED void add_functions(struct clew_trace *trace)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(trace_add_function(trace, i,
						    &(struct clew_trace_function){
							    .name = name, .object = "/bin/x"}),
				 0);
	}
}

/* Calls within from..to, nested at random. Some take no time, and some begin where others end. */
static UNUSED void forest_grow(struct forest *forest, uint32_t parent, unsigned depth,
			       uint64_t from, uint64_t to)
{
	while (from <= to && forest->count < FOREST_MOST && draw(8)) {
		uint64_t start = from + draw(3) * draw(forest->longest / 6),
			 end = start + draw(2) * draw(forest->longest);
		struct clew_frame *frame = &forest->frames[forest->count];
		uint32_t number = (uint32_t)forest->count;

		if (end > to || start > to)
			return;
		forest->count++;
		*frame = (struct clew_frame){
			.start = start,
			.end = end,
			.probe = draw(3),
			.task = forest->serial,
			.end_task = forest->serial,
			.function = draw(FUNCTIONS),
			.number = number,
			.parent = parent,
			.depth = (uint16_t)depth,
			.flags = draw(16) ? 0 : CLEW_FRAME_INHERITED,
		};
		if (depth < 6)
			forest_grow(forest, number, depth + 1, start, end);
		from = end;
	}
}

/*
 * Hands frames to a trace. Numbers are the builder's: those of all tasks are one series, in which
 * tree `place` of `trees` has every so manieth. Children come before their parents.
 */
static UNUSED void forest_feed(const struct forest *forest, unsigned place, unsigned trees,
			       struct clew_trace *trace)
{
	struct clew_finding_taker taker = clew_trace_taker(trace);

	for (size_t i = forest->count; i-- > 0;) {
		struct clew_frame frame = forest->frames[i];

		frame.number = frame.number * trees + place;
		if (frame.parent != CLEW_NO_NUMBER)
			frame.parent = frame.parent * trees + place;
		assert_int_equal(
			taker.take(taker.context, (struct clew_finding){.tag = CLEW_FINDING_FRAME,
									.frame = &frame}),
			0);
	}
}

#endif
