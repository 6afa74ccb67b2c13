/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places of frames in the source, from the debugging information that this machine has, or on
 * request a server. A file is used only if its build-id is the one that was recorded; all else
 * comes from the capture. One thread at a time may ask.
 */
#ifndef CLEW_TRACE_LINES_H
#define CLEW_TRACE_LINES_H

#include "symbol/elf/lines.h"
#include "trace/stacks.h"

/* The places of a frame, innermost first: what was compiled into its function, then the function
 * itself. Without lines there is only that. */
struct clew_stack_places {
	size_t count; /* 1 or more */
	struct clew_stack_place places[CLEW_LINES_MOST];
};

/* A file's entry. */
enum clew_lines_state {
	CLEW_LINES_FOUND,
	CLEW_LINES_NONE,       /* its build-id has no debugging information here */
	CLEW_LINES_GONE,       /* the same, and it is not at its path */
	CLEW_LINES_CHANGED,    /* the same, and another file is at its path */
	CLEW_LINES_UNASKED,    /* the same, and the servers could not be asked */
	CLEW_LINES_OTHER,      /* its debug link, or a server, leads to another build-id */
	CLEW_LINES_SHARED,     /* what its debugging information shares with others' is missing */
	CLEW_LINES_UNREADABLE, /* its debugging information is damaged */
	CLEW_LINES_UNNAMED,    /* no build-id was recorded, or not where its code lies in it */
	CLEW_LINES_STATES
};

/* A file that was asked for. */
struct clew_lines_file {
	const char *path;
	enum clew_lines_state state;
};

/* From now on places have lines. `servers`: asked for what is not on this machine, and
 * freed with the trace, at once on an error; NULL: none is. 0 or -ENOMEM. */
int clew_trace_use_lines(struct clew_trace *trace, struct debug_servers *servers);
bool clew_trace_has_lines(const struct clew_trace *trace);

void clew_trace_stack_places(const struct clew_trace *trace, uint64_t frame, bool kernel,
			     struct clew_stack_places *ret_places);

/* The files that were asked for so far, in the order of their first frame; NULL: none. */
const struct clew_lines_file *clew_trace_lines_files(const struct clew_trace *trace,
						     size_t *ret_count);

/* For struct clew_trace. NULL is ignored. */
struct trace_lines;
void trace_lines_free(struct trace_lines *lines);

#endif
