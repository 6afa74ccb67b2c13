/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the answers about a capture or a causal trace share: opening it, choosing threads, and
 * saying what the recording lost and cost. Functions that return an int return
 * 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_REPORT_H
#define CLEW_CLI_REPORT_H

#include "trace/trace.h"
#include <clew/model.h>
#include <stdio.h>

#include "cli/options.h"
#include "words/json.h"

/* Opens what an operand names, a capture or notation; "-" is standard input. */
int clew_open_trace(const char *operand, uint32_t drop_types, struct clew_trace **ret_trace);
/* The same for what the file says of itself: a capture's reader, or a trace; the other is NULL. */
int clew_open_info(const char *operand, struct clew_reader **ret_reader,
		   struct clew_trace **ret_trace);

/* Loads the causal trace that an operand names, notation or a capture. *ret_capture: which; may be
 * NULL. */
int clew_open_model(const char *operand, struct clew_model **ret_model, bool *ret_capture);

/* The threads that --tid, --pid and --comm leave; all if none was given. */
struct clew_selection {
	struct clew_number tid;
	struct clew_number pid;
	const char *comm;		/* pattern of a task's last name .. */
	const struct clew_trace *trace; /* .. or, if this is set, of any that it had */
};

/* Whether a task is one of them. `selection`: struct clew_selection *. clew's own threads only
 * where --tid or --pid names them. */
bool clew_selection_wants(void *selection, const struct clew_trace_task *task);
/* The same of a task at a moment, by the name that it had then. */
bool clew_selection_wants_at(const struct clew_selection *selection, const struct clew_trace *trace,
			     const struct clew_trace_task *task, uint64_t at);
/* Fails if the selection names a tid, pid or name that no task of the capture has. Where no task
 * ended with such a name any other counts.
 */
int clew_selection_check(struct clew_selection *selection, const struct clew_trace *trace);

/* The ledger's rows added up. */
struct clew_ledger_sum {
	struct clew_ledger_row total;
	bool balanced;	  /* each row does */
	uint64_t missing; /* stored, but the file lacks them */
	bool uncounted;	  /* or more */
};
void clew_ledger_add_up(const struct clew_capture_info *info, struct clew_ledger_sum *ret_sum);
bool clew_ledger_row_balanced(const struct clew_ledger_row *row);

/* "ledger" and "cost" of the object that is open: what the recording lost, from..to especially. */
void clew_json_truth(struct clew_json *json, const struct clew_trace *trace, uint64_t from,
		     uint64_t to);
/* The same, a line each. */
void clew_print_ledger(FILE *out, const struct clew_trace *trace, uint64_t from, uint64_t to);
void clew_print_cost(
	FILE *out,
	const struct clew_capture_info *info); /* NULL: nothing is known, nothing printed */
/* Both lines, for an answer about the whole capture. */
void clew_print_truth(FILE *out, const struct clew_trace *trace);

#endif
