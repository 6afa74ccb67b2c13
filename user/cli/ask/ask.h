/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions as people ask them: by the name of a system call, a file, a lock, a traced function or
 * an operation that programs announce. All that is given has to fit.
 */
#ifndef CLEW_CLI_ASK_ASK_H
#define CLEW_CLI_ASK_ASK_H

#include "cli/operand/selection.h"
#include "cli/operand/window.h"
#include "explain/why.h"
#include "format/json.h"

/* The words that were typed; NULL: not asked for. */
struct clew_ask {
	const char *call; /* a list of globs, as the next but one and the last */
	const char *file; /* a glob */
	const char *lock;
	const char *operation;
	const char *span; /* a glob */
};

static inline bool clew_ask_given(const struct clew_ask *ask)
{
	return ask->call || ask->file || ask->lock || ask->operation || ask->span;
}

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
 * Says before the first why how many there are, how long they took, and where the time of all of
 * them together went. Returns 0 or, after clew_fail(), an exit status.
 */
int clew_ask_print(const struct clew_ask *ask, const struct clew_asked_in *in,
		   const struct clew_operation *found, size_t count);
/* The same as fields of the open object. */
int clew_ask_json(struct clew_json *json, const struct clew_ask *ask,
		  const struct clew_asked_in *in, const struct clew_operation *found, size_t count);

/* The words for one of them: "fsync on /data/log, 3 waits". */
void clew_print_asked(FILE *out, const struct clew_trace *trace,
		      const struct clew_operation *operation);
/* The field "instance" of the open object. */
void clew_json_asked(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_operation *operation);

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
