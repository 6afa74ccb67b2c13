/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Other ends of waits in JSON and in words. */
#include "words/other_end.h"

#include "explain/may_end.h"
#include "explain/other_end.h"
#include "format/text.h"
#include "words/segment.h"
#include "words/task.h"

/* Processes that are named in text, at most. */
#define MOST_NAMED 4

/* The moment at which the names of holders are told. */
static uint64_t moment_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return clew_trace_until(trace, sleep->end);
}

static void json_ends(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_sleep *sleep, const struct clew_other_ends *ends)
{
	clew_json_array(json, "other_end");
	for (size_t i = 0; i < ends->count; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, ends->ends[i].task, moment_of(trace, sleep));
		clew_json_string(json, "evidence", clew_evidence_name(ends->ends[i].evidence));
		clew_json_bool(json, "self", ends->ends[i].self);
		clew_json_bool(json, "listens", ends->ends[i].listens);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_may_end(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_sleep *sleep)
{
	const struct clew_may_end found = clew_may_end_find(trace, sleep);

	if (!found.count)
		return;
	clew_json_array(json, "candidates");
	for (size_t i = 0; i < found.count && i < CLEW_MAY_END_MOST; i++) {
		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, found.tasks[i], moment_of(trace, sleep));
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_unsigned(json, "candidate_count", found.count);
}

/* Prints "; perhaps for A, B": no name where there are many. */
static void print_may_end(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_may_end found = clew_may_end_find(trace, sleep);

	if (!found.count)
		return;
	fputs("; perhaps for ", out);
	if (found.count > MOST_NAMED)
		fprintf(out, "one of %zu other threads of its process", found.count);
	for (size_t i = 0; i < found.count && found.count <= MOST_NAMED; i++) {
		fputs(i ? i + 1 < found.count ? ", " : " or " : "", out);
		clew_print_task(out, trace, found.tasks[i], moment_of(trace, sleep));
	}
}

void clew_json_other_end(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_sleep *sleep)
{
	const char *function = clew_sleep_function(trace, sleep);
	struct clew_other_ends ends;

	if (clew_other_ends_find(trace, sleep, &ends) < 0)
		return;
	if (ends.known)
		json_ends(json, trace, sleep, &ends);
	if (function)
		clew_json_string(json, "function", function);
	json_may_end(json, trace, sleep);
	clew_other_ends_done(&ends);
}

void clew_print_other_end(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
			  bool all)
{
	const char *function = all ? clew_sleep_function(trace, sleep) : NULL;
	struct clew_other_ends ends;

	if (clew_other_ends_find(trace, sleep, &ends) < 0)
		return;
	if (ends.known && !ends.count)
		fputs("; no process that is known has the other end", out);
	for (size_t i = 0; i < ends.count && i < MOST_NAMED; i++) {
		const struct clew_other_end *end = &ends.ends[i];

		fputs(i		     ? ", "
		      : end->listens ? "; not yet accepted by "
				     : "; the other end is open in ",
		      out);
		if (end->self && !end->acts)
			fputs("the waiter's own process alone", out);
		else
			clew_print_task(out, trace, end->task, moment_of(trace, sleep));
	}
	if (ends.count > MOST_NAMED)
		fprintf(out, " and %zu more", ends.count - MOST_NAMED);
	print_may_end(out, trace, sleep);
	if (function) {
		fputs("; it sleeps in ", out);
		clew_print_safe(out, function);
	}
	clew_other_ends_done(&ends);
}
