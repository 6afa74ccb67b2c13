/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opening what an operand names: a capture or a causal trace in notation; "-" is
 * standard input. Functions return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_OPERAND_OPEN_H
#define CLEW_CLI_OPERAND_OPEN_H

#include "cli/operand/moment.h"
#include "cli/operand/window.h"
#include "relate/relate.h"
#include "trace/trace.h"
#include <clew/model.h>

/* Loads the trace of a capture or of notation. `drop_types`: a mask of dependency types to leave
 * out. */
int clew_open_trace(const char *operand, uint32_t drop_types, struct clew_trace **ret_trace);
/*
 * The same, and finds what an interval means in it. If --from or --to was given, the trace of a
 * capture has only what overlaps the interval and a little around it, and ends some time after it.
 * After a failure *ret_trace is NULL.
 */
int clew_open_window(const char *operand, uint32_t drop_types, struct clew_window *window,
		     struct clew_trace **ret_trace);
/* Loads a segment of a recording that goes on. It shows no progress. */
int clew_open_segment(const char *path, struct clew_trace **ret_trace);
/* Loads a capture, nothing else; `beside` gets its findings while it is read. */
int clew_open_capture(const char *operand, const struct clew_finding_taker *beside,
		      struct clew_trace **ret_trace);

/* The options about places in the source. */
struct clew_source_choice {
	bool lines;
	bool servers; /* `lines` too; servers have what is not on this machine */
};

static inline bool clew_source_wanted(const struct clew_source_choice *source)
{
	return source->lines || source->servers;
}

/* The rows of an option table: `member` is a struct clew_source_choice; `help` is that of
 * --lines. */
#define CLEW_SOURCE_OPTIONS(structure, member, help)                                               \
	{0, "lines", NULL, help, clew_take_flag, offsetof(structure, member.lines)},               \
	{                                                                                          \
		0, "debuginfod", NULL,                                                             \
			"the same, and ask servers for debugging information that is not here",    \
			clew_take_flag, offsetof(structure, member.servers)                        \
	}

/* Fails unless the capture has stacks; NULL has none. Their places have lines from now on, if
 * `source` asks for them. `command`: the subcommand's name. */
int clew_need_stacks(const char *command, struct clew_trace *trace,
		     const struct clew_source_choice *source);

/* Opens a file for what it says of itself: *ret_reader for a capture, *ret_trace for notation; the
 * other is NULL. */
int clew_open_info(const char *operand, struct clew_reader **ret_reader,
		   struct clew_trace **ret_trace);

/* Reports why a capture could not be read; `r` and `message` are clew_reader_open()'s or
 * clew_trace_read()'s. Returns an exit status. */
int clew_fail_to_read(const char *operand, int r, const char *message);

/* Loads a causal trace. *ret_capture says whether the operand is a capture; it may be NULL. */
int clew_open_model(const char *operand, struct clew_model **ret_model, bool *ret_capture);

/* The same. `frames`: 1 + how many activations of functions become spans at most, 0 the
 * default. */
int clew_open_model_frames(const char *operand, uint64_t frames, struct clew_model **ret_model,
			   bool *ret_capture);

/* The same. *ret_stacks: the trace of a capture that has stacks, for clew_trace_free(); else NULL.
 */
int clew_open_model_stacks(const char *operand, struct clew_model **ret_model,
			   struct clew_trace **ret_stacks);

/*
 * The same. If both ends have moments, only what is between them and a little around it is in the
 * causal trace of a capture, and the ends get other texts: see clew_ends_between().
 */
int clew_open_model_between(const char *operand, struct clew_ends *ends, char *ret_memory[2],
			    struct clew_model **ret_model, struct clew_trace **ret_stacks);

/*
 * The same, and finds what an interval means. If --from or --to was given, only what overlaps it
 * and a little around it is in the causal trace of a capture.
 */
int clew_open_model_window(const char *operand, struct clew_window *window,
			   struct clew_model **ret_model, struct clew_trace **ret_stacks);

/* Finds what programs announced in a trace. `match_window`: ns, see struct clew_relations_options.
 */
int clew_open_relations(const struct clew_trace *trace, uint64_t match_window,
			struct clew_relations **ret_relations);

/* The same for answers that can do without: where the capture's description of layers cannot be
 * read, it prints a line that says so, and *ret_relations is NULL. */
int clew_try_relations(const struct clew_trace *trace, struct clew_relations **ret_relations);

#endif
