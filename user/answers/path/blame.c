/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `blame`, as text and as JSON. */
#include "answers/path/blame.h"

#include <clew/tokens.h>
#include <stdlib.h>

#include "answers/path/blame_functions.h"
#include "answers/path/blame_names.h"
#include "answers/path/pair_places.h"
#include "format/style.h"
#include "format/text.h"
#include "words/es.h"
#include "words/lines.h"
#include "words/stack_table.h"
#include "words/truth.h"

/*
 * In text, sums by name are added where the pairs shown leave out more than one
 * part in so many of the time.
 */
#define LEFT_OUT    4
#define MOST_SHARES 8
#define LIMIT	    "its limit" /* the antagonist is a cgroup's limit */

/* The answer and what is made of it to be printed. */
struct printed {
	FILE *out;
	struct clew_blame_sum *sum; /* the lists of what was run in are sorted */
	struct clew_span_names victims, antagonists;
	struct clew_blame_shares by_name;
	struct clew_blame_rows by_function;
	clew_time from, to; /* the interval that it is about */
	int error;	    /* of the printing, 0 none */
};

/* The first failure of an output that goes on. */
static void note(struct printed *answer, int r)
{
	if (!answer->error)
		answer->error = r;
}

/*
 * The word for what was waited for; time in the run queue is a wait for a CPU.
 */
static const char *resource_kind(const struct printed *answer, uint32_t kind)
{
	return answer->sum->asked->all_running ? "any"
	       : kind == CLEW_SEGMENT_RUNQUEUE ? "cpu"
					       : clew_wait_kind_name(kind);
}

/* A candidate may have had what was waited for. */
static const char *by(unsigned evidence)
{
	return evidence == CLEW_EVIDENCE_CANDIDATE ? " perhaps by " : " by ";
}

static void json_place(struct clew_json *json, const char *thread, const char *function,
		       const char *threads, const struct clew_blame_place *place)
{
	clew_json_string(json, thread, place->thread);
	clew_json_string(json, function, place->function);
	clew_json_unsigned(json, threads, place->threads);
}

static void json_functions(struct clew_json *json, const struct printed *answer)
{
	clew_json_array(json, "functions");
	for (size_t i = 0; i < answer->by_function.count; i++) {
		const struct clew_blame_row *row = &answer->by_function.rows[i];

		clew_json_object(json, NULL);
		clew_json_signed(json, "ns", row->ns);
		clew_json_string(json, "kind", resource_kind(answer, row->kind));
		json_place(json, "victim", "victim_function", "victims", &row->victim);
		json_place(json, "antagonist", "antagonist_function", "antagonists",
			   &row->antagonist);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_answer(struct clew_json *json, struct printed *answer)
{
	clew_json_array(json, "pairs");
	for (size_t i = 0; i < answer->sum->count; i++) {
		const struct clew_blame_pair *pair = &answer->sum->pairs[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "victim", clew_span_name(&answer->victims, pair->victim));
		clew_json_string(json, "antagonist",
				 pair->antagonist == CLEW_NONE
					 ? NULL
					 : clew_span_name(&answer->antagonists, pair->antagonist));
		clew_json_signed(json, "ns", pair->ns);
		clew_json_string(json, "resource",
				 pair->resource ?: resource_kind(answer, pair->kind));
		clew_json_string(json, "kind", resource_kind(answer, pair->kind));
		clew_json_string(json, "evidence", clew_evidence_name(pair->evidence));
		clew_json_pair_places(json, &answer->sum->ran_in, pair);
		note(answer, clew_json_pair_samples(json, &answer->sum->ran_in, pair));
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_array(json, "names");
	for (size_t i = 0; i < answer->by_name.count; i++) {
		const struct clew_blame_share *share = &answer->by_name.shares[i];

		clew_json_object(json, NULL);
		clew_json_string(json, "victim", share->victim);
		clew_json_string(json, "antagonist", share->antagonist);
		clew_json_signed(json, "ns", share->ns);
		clew_json_string(json, "kind", resource_kind(answer, share->kind));
		clew_json_string(json, "evidence", clew_evidence_name(share->evidence));
		clew_json_unsigned(json, "victims", share->victims);
		clew_json_unsigned(json, "antagonists", share->antagonists);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	if (answer->sum->asked->innermost)
		json_functions(json, answer);
	clew_json_pairs_told(json, &answer->sum->ran_in);
	if (answer->sum->ran_in.stacks)
		clew_json_lines_told(json, answer->sum->ran_in.stacks);
	if (answer->sum->unknown)
		clew_json_signed(json, "unknown_ns", answer->sum->unknown);
	clew_json_model_truth(json, answer->sum->model, answer->from, answer->to);
}

static void print_json(struct printed *answer)
{
	struct clew_stacked stacked;
	int r = clew_stacked_begin(&stacked, answer->sum->ran_in.stacks);

	if (r == 0) {
		json_answer(&stacked.fields.json, answer);
		r = clew_stacked_end(&stacked, answer->out);
	}
	note(answer, r);
}

static void print_spans(FILE *out, const char *name, size_t count, bool pool)
{
	clew_print_safe(out, name);
	if (count > 1)
		fprintf(out, pool ? " (%zu threads)" : " (%zu spans)", count);
}

/* True if a row of the sums by name stands for threads of a pool. */
static bool has_pool(const struct printed *answer)
{
	for (size_t i = 0; i < answer->by_name.count; i++)
		if (answer->by_name.shares[i].victim_pool ||
		    answer->by_name.shares[i].antagonist_pool)
			return true;
	return false;
}

/* True if the `top` pairs are too small a part of the whole. */
static bool is_crowd(const struct printed *answer, uint32_t top)
{
	clew_time shown = 0, all = 0;

	for (size_t i = 0; i < answer->sum->count; i++) {
		all += answer->sum->pairs[i].ns;
		shown += i < top ? answer->sum->pairs[i].ns : 0;
	}
	return all - shown > all / LEFT_OUT && answer->by_name.count < answer->sum->count;
}

static void print_title(FILE *out, const char *title)
{
	clew_print_styled(out, CLEW_STYLE_HEADING, 0, title);
	putc('\n', out);
}

/* The time that somebody was kept waiting, and what for: the beginning of a row. */
static void print_time(FILE *out, uint64_t ns, uint32_t kind)
{
	enum clew_style style = clew_style_of_kind(kind);

	fprintf(out, "%s%12s%s  ", clew_style_begin(style), CLEW_DURATION(ns),
		clew_style_end(style));
}

static void print_names(const struct printed *answer)
{
	size_t count = answer->by_name.count;
	FILE *out = answer->out;

	print_title(out, "By name:");
	for (size_t i = 0; i < count && i < MOST_SHARES; i++) {
		const struct clew_blame_share *share = &answer->by_name.shares[i];

		print_time(out, (uint64_t)share->ns, share->kind);
		print_spans(out, share->victim, share->victims, share->victim_pool);
		fputs(by(share->evidence), out);
		if (share->antagonist)
			print_spans(out, share->antagonist, share->antagonists,
				    share->antagonist_pool);
		else
			fputs(LIMIT, out);
		if (!answer->sum->asked->all_running)
			fprintf(out, ", %s", resource_kind(answer, share->kind));
		putc('\n', out);
	}
	if (count > MOST_SHARES)
		fprintf(out, "%12s  and %zu more\n", "", count - MOST_SHARES);
	putc('\n', out);
	print_title(out, "The longest:");
}

static void print_functions(const struct printed *answer, uint32_t top)
{
	const struct clew_blame_rows *rows = &answer->by_function;
	FILE *out = answer->out;

	if (!rows->count)
		fputs("nobody kept anyone waiting\n", out);
	for (size_t i = 0; i < rows->count && i < top; i++) {
		fprintf(out, "%12s  ", CLEW_DURATION((uint64_t)rows->rows[i].ns));
		clew_print_blame_row(out, &rows->rows[i], answer->sum->asked->all_running);
		putc('\n', out);
	}
	if (rows->count > top)
		fprintf(out, "%12s  and %zu more\n", "", rows->count - top);
	clew_print_model_truth(out, answer->sum->model, answer->from, answer->to);
}

static void print_text(struct printed *answer, uint32_t top)
{
	FILE *out = answer->out;

	if (!answer->sum->count)
		fputs("nobody kept anyone waiting\n", out);
	if (is_crowd(answer, top) || has_pool(answer))
		print_names(answer);
	for (size_t i = 0; i < answer->sum->count && i < top; i++) {
		const struct clew_blame_pair *pair = &answer->sum->pairs[i];

		print_time(out, (uint64_t)pair->ns, pair->kind);
		clew_print_span(out, &answer->victims, pair->victim);
		fputs(by(pair->evidence), out);
		if (pair->antagonist == CLEW_NONE)
			fputs(LIMIT, out);
		else
			clew_print_span(out, &answer->antagonists, pair->antagonist);
		if (!answer->sum->asked->all_running)
			fprintf(out, ", %s", resource_kind(answer, pair->kind));
		if (pair->resource) {
			putc(' ', out);
			clew_print_resource(out, answer->sum->model, pair->resource);
		}
		clew_print_pair_places(out, &answer->sum->ran_in, pair);
		note(answer, clew_print_pair_samples(out, &answer->sum->ran_in, pair));
		putc('\n', out);
	}
	if (answer->sum->count > top)
		fprintf(out, "%12s  and %zu more\n", "", answer->sum->count - top);
	clew_print_pairs_told(out, &answer->sum->ran_in);
	if (answer->sum->unknown)
		fprintf(out,
			"\n%s in run queues is charged to nobody, as it is not known what ran so "
			"long before the end of the wait.\n",
			CLEW_DURATION((uint64_t)answer->sum->unknown));
	clew_print_model_truth(out, answer->sum->model, answer->from, answer->to);
}

int clew_say_blame(FILE *out, struct clew_blame_sum *sum, clew_time from, clew_time to,
		   const uint32_t *top)
{
	const struct clew_model *model = sum->model;
	struct printed answer = {.out = out,
				 .sum = sum,
				 .victims.model = model,
				 .antagonists.model = model,
				 .from = from,
				 .to = to};
	int r = clew_blame_by_name(model, sum->pairs, sum->count, &answer.by_name);

	if (r == 0 && sum->asked->innermost)
		r = clew_blame_by_function(model, sum->pairs, sum->count, &answer.by_function);
	if (r == 0 && !top)
		print_json(&answer);
	else if (r == 0 && sum->asked->innermost)
		print_functions(&answer, *top);
	else if (r == 0)
		print_text(&answer, *top);
	clew_blame_shares_done(&answer.by_name);
	clew_blame_rows_done(&answer.by_function);
	clew_span_names_done(&answer.victims);
	clew_span_names_done(&answer.antagonists);
	return r < 0 ? r : answer.error;
}
