/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions as people ask them: by the name of a system call, a file, a lock, a traced function or
 * an operation that programs announce. All that is given has to fit.
 */
#ifndef CLEW_CLI_ASK_ASK_H
#define CLEW_CLI_ASK_ASK_H

#include "answers/ask/ask.h"
#include "cli/operand/selection.h"
#include "cli/operand/window.h"
#include "explain/why.h"

/* The rows of an option table: `member` is a struct clew_ask of the structure of values. */
#define CLEW_ASK_OPTIONS(structure, member)                                                        \
	{0,                                                                                        \
	 "call",                                                                                   \
	 "NAME,..",                                                                                \
	 "the slowest of these system calls, as in fsync or 'p*write*'",                           \
	 clew_take_string,                                                                         \
	 offsetof(structure, member.call)},                                                        \
		{0,                                                                                \
		 "file",                                                                           \
		 "GLOB",                                                                           \
		 "the slowest calls that waited for these files or below this directory",          \
		 clew_take_string,                                                                 \
		 offsetof(structure, member.file)},                                                \
		{0,                                                                                \
		 "lock",                                                                           \
		 "NAME,..",                                                                        \
		 "the longest waits for this lock, as answers name it, or a word of its name",     \
		 clew_take_string,                                                                 \
		 offsetof(structure, member.lock)},                                                \
		{0,                                                                                \
		 "span",                                                                           \
		 "GLOB",                                                                           \
		 "the slowest activations of these traced functions, as in 'ngx_http_*'",          \
		 clew_take_string,                                                                 \
		 offsetof(structure, member.span)},                                                \
	{                                                                                          \
		0, "operation", "NAME,..",                                                         \
			"the slowest of these announced calls, as in 'kv.get', 'get' or 'kv.*'",   \
			clew_take_string, offsetof(structure, member.operation)                    \
	}

/* Where to look: threads, and a window that was taken. `relations` may be NULL. */
struct clew_asked_in {
	const struct clew_trace *trace;
	const struct clew_relations *relations;
	const struct clew_selection *selection;
	const struct clew_window *window;
	const char *operand; /* the trace's file, to be typed again; NULL: the default */
};

/*
 * The operations that fit, longest first; at least one. The array is the caller's to free. Returns
 * 0 or, after clew_fail(), an exit status: the message says what there is instead.
 */
int clew_ask_find(const struct clew_ask *ask, const struct clew_asked_in *in,
		  struct clew_operation **ret_found, size_t *ret_count);

/*
 * Where no operation lies between two idle waits: says which waits were idle, and what to ask for
 * instead. `idle_kinds`: as in clew_operations(). Returns an exit status.
 */
int clew_ask_offer(const struct clew_asked_in *in, uint64_t idle_kinds, uint32_t slowest);

/* ---- a search, for ask.c and ask_choices.c ---- */

#define ASK_CALLS 1024 /* more than there are system calls */

struct ask_search {
	const struct clew_ask *ask;
	const struct clew_asked_in *in;
	bool calls[ASK_CALLS]; /* by number: it is asked for */
	bool *functions;       /* by number: it is asked for */
	bool *files;	       /* by the numbers in `sleep_files`: it is asked for */
	const uint32_t *sleep_files;
	bool knows_file; /* it has some that is asked for */
};

/* After nothing was found: says in one line what there is. Returns an exit status. */
int ask_fail(const struct ask_search *search);

#endif
