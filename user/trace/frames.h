/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The activations of traced functions in a trace, and how a task's running time divides among
 * them. The function that a task is in is the one that it entered last and has not left, or
 * else the first of those it was called in that is still open.
 *
 * Times are ns of CLOCK_MONOTONIC. All pointers are the trace's.
 */
#ifndef CLEW_TRACE_FRAMES_H
#define CLEW_TRACE_FRAMES_H

#include "trace/trace.h"

/* A traced function. */
struct clew_trace_function {
	const char *name;	 /* as its file's symbol table has it */
	const char *title;	 /* for people: readable without its arguments */
	const char *readable;	 /* the same without mangling */
	const char *object;	 /* path of its file, "" unknown */
	const char *arguments;	 /* as they were asked for, "" none */
	const uint8_t *build_id; /* of the file */
	uint64_t offset;	 /* in the file */
	uint64_t length;	 /* bytes */
	uint8_t build_id_size;
};

/* By number, as frames have it; NULL: no record describes it. Numbers are below the count. */
uint32_t clew_trace_function_count(const struct clew_trace *trace);
const struct clew_trace_function *clew_trace_function(const struct clew_trace *trace,
						      uint32_t number);

/* A function that was not recorded any more from then on, because its calls cost too much. */
struct clew_trace_dropped {
	uint64_t time;
	uint32_t function;
	uint64_t calls;	 /* in the period before */
	uint64_t cost;	 /* ns that its probes took of tasks' time in that period */
	uint64_t period; /* ns */
};

/* By time. */
const struct clew_trace_dropped *clew_trace_dropped(const struct clew_trace *trace,
						    size_t *ret_count);

/* An activation. */
struct clew_trace_frame {
	uint64_t start;
	uint64_t end;	   /* CLEW_TIME_OPEN: not in the capture */
	uint64_t self;	   /* ns in no traced function that it called */
	uint64_t probe;	   /* ns of it that clew's probes took, those within called functions too */
	uint32_t function; /* number */
	uint32_t parent;   /* index of the frame that it was called in, CLEW_NO_NUMBER none */
	uint32_t detail;   /* the trace's own */
	uint16_t depth;
	uint8_t closed; /* enum clew_frame_closed */
	uint8_t flags;	/* CLEW_FRAME_* */
};
_Static_assert(sizeof(struct clew_trace_frame) == 48, "a frame is six words");

/* Properties that few frames have. */
struct clew_frame_detail {
	const uint8_t *values;	/* the entry's, then the return's */
	uint32_t end_task;	/* serial, CLEW_NO_TASK: that of the frame */
	uint16_t values_size;	/* bytes */
	uint16_t returned_size; /* bytes */
	uint16_t unread;	/* as in struct clew_frame */
};

/* Answers from now on are those of a trace in which no function was traced. */
void clew_trace_forget_functions(struct clew_trace *trace);
/* A logical span is there in place of a frame from now on: the frame is listed, but the task is not
 * in it. Before anything is asked about the trace's functions. */
void clew_trace_replace_frame(struct clew_trace *trace, const struct clew_trace_frame *frame);
/* True if any task was in a traced function. */
bool clew_trace_has_frames(const struct clew_trace *trace);
/* The frames of a task, in the order in which it entered them. */
const struct clew_trace_frame *clew_trace_frames(const struct clew_trace *trace, uint32_t serial,
						 size_t *ret_count);
/* The frame that one was called in; NULL none. */
const struct clew_trace_frame *clew_trace_frame_parent(const struct clew_trace *trace,
						       const struct clew_trace_frame *frame);
/* NULL: it has no values and ended in its own task. */
const struct clew_frame_detail *clew_trace_frame_detail(const struct clew_trace *trace,
							const struct clew_trace_frame *frame);

/* The frame that a task was in at a moment; NULL: in no traced function. */
const struct clew_trace_frame *clew_trace_frame_at(const struct clew_trace *trace, uint32_t serial,
						   uint64_t at);
/*
 * The open frames of a task at a moment, outermost first: writes at most `room` of the innermost
 * ones, and returns how many are open in all.
 */
size_t clew_trace_frames_at(const struct clew_trace *trace, uint32_t serial, uint64_t at,
			    const struct clew_trace_frame **ret_frames, size_t room);

/* Sums of a function, in intervals of tasks' time. */
struct clew_function_time {
	uint32_t function; /* number; CLEW_NO_NUMBER: in no traced function */
	uint64_t ns;	   /* in it, and in no traced function that it called */
	uint64_t probe;	   /* ns that clew's probes took of these, spread evenly over a frame */
	uint64_t calls;	   /* how often it was entered in the intervals */
};

/* An addition in progress. Begin it, add to it, read it by clew_function_sums_sort(), and
 * free it with clew_function_sums_done(). */
struct clew_function_sums {
	struct clew_function_time *times;
	uint32_t *place; /* by function, the last is none: 1 + index of `times`, 0 not yet */
	uint32_t count, functions;
};
int clew_function_sums_begin(const struct clew_trace *trace, struct clew_function_sums *ret_sums);
/* Adds from..to of a task. Costs O(functions * log frames) at most. 0 or -ENOMEM. */
int clew_function_sums_add(struct clew_function_sums *sums, const struct clew_trace *trace,
			   uint32_t serial, uint64_t from, uint64_t to);
/* Largest first; those without time and without calls are none of them. */
void clew_function_sums_sort(struct clew_function_sums *sums);
void clew_function_sums_clear(struct clew_function_sums *sums);
void clew_function_sums_done(struct clew_function_sums *sums);

/* True if only its entry can be seen. */
static inline bool frame_is_entry(const struct clew_trace_frame *frame)
{
	return frame->closed == CLEW_FRAME_UNWOUND && frame->start == frame->end;
}

/* True if it is known how long it took. */
static inline bool frame_has_time(const struct clew_trace_frame *frame)
{
	return frame->closed != CLEW_FRAME_OPEN && frame->closed != CLEW_FRAME_LOST &&
	       frame->closed != CLEW_FRAME_UNWOUND && frame->closed != CLEW_FRAME_POINT;
}

#endif
