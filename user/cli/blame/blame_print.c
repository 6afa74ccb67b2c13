/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints who kept whom from going on, as text or as JSON. */
#include "cli/blame/blame.h"

#include <clew/tokens.h>
#include <stdlib.h>

#include "cli/front/fail.h"
#include "format/style.h"
#include "format/text.h"
#include "words/lines.h"
#include "words/truth.h"

/*
 * In text, sums by name are added where the pairs shown leave out more than one
 * part in so many of the time.
 */
#define LEFT_OUT    4
#define MOST_SHARES 8
#define LIMIT	    "its limit" /* the antagonist is a cgroup's limit */

/* The first failure of an output that goes on. */
static void note(struct blame_answer *answer, int r)
{
	if (!answer->error)
		answer->error = r;
}

/*
 * The word for what was waited for; time in the run queue is a wait for a CPU.
 */
static const char *resource_kind(const struct blame_answer *answer, uint32_t kind)
{
	return answer->all_running	       ? "any"
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

static void json_functions(struct clew_json *json, const struct blame_answer *answer)
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

static void print_json(struct blame_answer *answer)
{
	struct clew_json json = {.out = stdout};

	clew_json_object(&json, NULL);
	clew_json_array(&json, "pairs");
	for (size_t i = 0; i < answer->count; i++) {
		const struct clew_blame_pair *pair = &answer->pairs[i];

		clew_json_object(&json, NULL);
		clew_json_string(&json, "victim", clew_span_name(&answer->victims, pair->victim));
		clew_json_string(&json, "antagonist",
				 pair->antagonist == CLEW_NONE
					 ? NULL
					 : clew_span_name(&answer->antagonists, pair->antagonist));
		clew_json_signed(&json, "ns", pair->ns);
		clew_json_string(&json, "resource",
				 pair->resource ?: resource_kind(answer, pair->kind));
		clew_json_string(&json, "kind", resource_kind(answer, pair->kind));
		clew_json_string(&json, "evidence", clew_evidence_name(pair->evidence));
		clew_json_pair_places(&json, &answer->ran_in, pair);
		note(answer, clew_json_pair_samples(&json, &answer->ran_in, pair));
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_array(&json, "names");
	for (size_t i = 0; i < answer->by_name.count; i++) {
		const struct clew_blame_share *share = &answer->by_name.shares[i];

		clew_json_object(&json, NULL);
		clew_json_string(&json, "victim", share->victim);
		clew_json_string(&json, "antagonist", share->antagonist);
		clew_json_signed(&json, "ns", share->ns);
		clew_json_string(&json, "kind", resource_kind(answer, share->kind));
		clew_json_string(&json, "evidence", clew_evidence_name(share->evidence));
		clew_json_unsigned(&json, "victims", share->victims);
		clew_json_unsigned(&json, "antagonists", share->antagonists);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	if (answer->is_by_function)
		json_functions(&json, answer);
	clew_json_pairs_told(&json, &answer->ran_in);
	if (answer->ran_in.stacks)
		clew_json_lines_told(&json, answer->ran_in.stacks);
	if (answer->unknown)
		clew_json_signed(&json, "unknown_ns", answer->unknown);
	clew_json_model_truth(&json, answer->victims.model, answer->from, answer->to);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_spans(const char *name, size_t count, bool pool)
{
	clew_print_safe(stdout, name);
	if (count > 1)
		printf(pool ? " (%zu threads)" : " (%zu spans)", count);
}

/* True if a row of the sums by name stands for threads of a pool. */
static bool has_pool(const struct blame_answer *answer)
{
	for (size_t i = 0; i < answer->by_name.count; i++)
		if (answer->by_name.shares[i].victim_pool ||
		    answer->by_name.shares[i].antagonist_pool)
			return true;
	return false;
}

/* True if the `top` pairs are too small a part of the whole. */
static bool is_crowd(const struct blame_answer *answer, uint32_t top)
{
	clew_time shown = 0, all = 0;

	for (size_t i = 0; i < answer->count; i++) {
		all += answer->pairs[i].ns;
		shown += i < top ? answer->pairs[i].ns : 0;
	}
	return all - shown > all / LEFT_OUT && answer->by_name.count < answer->count;
}

static void print_title(const char *title)
{
	clew_print_styled(stdout, CLEW_STYLE_HEADING, 0, title);
	putchar('\n');
}

/* The time that somebody was kept waiting, and what for: the beginning of a row. */
static void print_time(uint64_t ns, uint32_t kind)
{
	enum clew_style style = clew_style_of_kind(kind);

	printf("%s%12s%s  ", clew_style_begin(style), CLEW_DURATION(ns), clew_style_end(style));
}

static void print_names(const struct blame_answer *answer)
{
	size_t count = answer->by_name.count;

	print_title("By name:");
	for (size_t i = 0; i < count && i < MOST_SHARES; i++) {
		const struct clew_blame_share *share = &answer->by_name.shares[i];

		print_time((uint64_t)share->ns, share->kind);
		print_spans(share->victim, share->victims, share->victim_pool);
		fputs(by(share->evidence), stdout);
		if (share->antagonist)
			print_spans(share->antagonist, share->antagonists, share->antagonist_pool);
		else
			fputs(LIMIT, stdout);
		if (!answer->all_running)
			printf(", %s", resource_kind(answer, share->kind));
		putchar('\n');
	}
	if (count > MOST_SHARES)
		printf("%12s  and %zu more\n", "", count - MOST_SHARES);
	putchar('\n');
	print_title("The longest:");
}

static void print_functions(const struct blame_answer *answer, uint32_t top)
{
	const struct clew_blame_rows *rows = &answer->by_function;

	if (!rows->count)
		puts("nobody kept anyone waiting");
	for (size_t i = 0; i < rows->count && i < top; i++) {
		printf("%12s  ", CLEW_DURATION((uint64_t)rows->rows[i].ns));
		clew_print_blame_row(stdout, &rows->rows[i], answer->all_running);
		putchar('\n');
	}
	if (rows->count > top)
		printf("%12s  and %zu more\n", "", rows->count - top);
	clew_print_model_truth(stdout, answer->victims.model, answer->from, answer->to);
}

static void print_text(struct blame_answer *answer, uint32_t top)
{
	if (!answer->count)
		puts("nobody kept anyone waiting");
	if (is_crowd(answer, top) || has_pool(answer))
		print_names(answer);
	for (size_t i = 0; i < answer->count && i < top; i++) {
		const struct clew_blame_pair *pair = &answer->pairs[i];

		print_time((uint64_t)pair->ns, pair->kind);
		clew_print_span(stdout, &answer->victims, pair->victim);
		fputs(by(pair->evidence), stdout);
		if (pair->antagonist == CLEW_NONE)
			fputs(LIMIT, stdout);
		else
			clew_print_span(stdout, &answer->antagonists, pair->antagonist);
		if (!answer->all_running)
			printf(", %s", resource_kind(answer, pair->kind));
		if (pair->resource) {
			putchar(' ');
			clew_print_resource(stdout, answer->victims.model, pair->resource);
		}
		clew_print_pair_places(stdout, &answer->ran_in, pair);
		note(answer, clew_print_pair_samples(stdout, &answer->ran_in, pair));
		putchar('\n');
	}
	if (answer->count > top)
		printf("%12s  and %zu more\n", "", answer->count - top);
	clew_print_pairs_told(stdout, &answer->ran_in);
	if (answer->unknown)
		printf("\n%s in run queues is charged to nobody, as it is not known what ran so "
		       "long before the end of the wait.\n",
		       CLEW_DURATION((uint64_t)answer->unknown));
	clew_print_model_truth(stdout, answer->victims.model, answer->from, answer->to);
}

int blame_fail_for_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "blame: out of memory: free some, or choose fewer spans");
}

int blame_print(struct blame_answer *answer, const struct blame_values *values)
{
	const struct clew_model *model = answer->victims.model;

	if (clew_blame_by_name(model, answer->pairs, answer->count, &answer->by_name) < 0 ||
	    (answer->is_by_function &&
	     clew_blame_by_function(model, answer->pairs, answer->count, &answer->by_function) < 0))
		return blame_fail_for_memory();
	if (values->json)
		print_json(answer);
	else if (answer->is_by_function)
		print_functions(answer, values->top.value);
	else
		print_text(answer, values->top.value);
	return answer->error < 0 ? blame_fail_for_memory() : 0;
}

void blame_answer_done(struct blame_answer *answer)
{
	clew_pair_places_done(&answer->ran_in);
	clew_blame_shares_done(&answer->by_name);
	clew_blame_rows_done(&answer->by_function);
	free(answer->pairs);
	clew_span_names_done(&answer->victims);
	clew_span_names_done(&answer->antagonists);
}
