/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew blame: who kept whom from going on.
 */
#include <clew/blame.h>
#include <clew/kernel/records.h>
#include <clew/tokens.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/groups.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/query.h"
#include "words/blame_functions.h"
#include "words/blame_names.h"
#include "words/es.h"
#include "words/lines.h"
#include "words/pair_places.h"
#include "words/style.h"
#include "words/text.h"
#include "words/truth.h"

struct blame_values {
	struct clew_group_choice group;
	const char *victims;
	const char *antagonists;
	const char *hierarchy;
	struct clew_number top;
	const char *by;
	bool all_running;
	struct clew_source_choice source;
	bool json;
};

const struct clew_option clew_blame_options[] = {
	{0, "victims", "PATTERN", "only what kept these spans waiting (all)", clew_take_string,
	 offsetof(struct blame_values, victims)},
	{0, "antagonists", "PATTERN", "blame only these spans (all)", clew_take_string,
	 offsetof(struct blame_values, antagonists)},
	{0, "all-running", NULL,
	 "blame all that ran while a span could have, whatever it waited for", clew_take_flag,
	 offsetof(struct blame_values, all_running)},
	{0, "by", "function", "add up by the functions in which threads waited and had something",
	 clew_take_string, offsetof(struct blame_values, by)},
	{0, "top", "K", "in text, the K longest (20)", clew_take_number,
	 offsetof(struct blame_values, top)},
	CLEW_GROUP_OPTIONS(struct blame_values, group, "what kept threads waiting"),
	{0, "hierarchy", "NAME", "in which hierarchy category paths are meant (the first)",
	 clew_take_string, offsetof(struct blame_values, hierarchy)},
	CLEW_SOURCE_OPTIONS(struct blame_values, source,
			    "tell functions with lines of the source, and inlined ones, too"),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct blame_values, json)},
	CLEW_OPTION_END,
};

/*
 * In text, sums by name are added where the pairs shown leave out more than one
 * part in so many of the time.
 */
#define LEFT_OUT    4
#define MOST_SHARES 8
#define LIMIT	    "its limit" /* the antagonist is a cgroup's limit */

struct answer {
	struct clew_span_names victims, antagonists;
	struct clew_blame_pair *pairs;
	size_t count;
	struct clew_blame_shares by_name;
	struct clew_pair_places ran_in;
	struct clew_blame_rows by_function;
	bool is_by_function;
	bool all_running;
	int error; /* of the printing, 0 none */
};

/* The first failure of an output that goes on. */
static void note(struct answer *answer, int r)
{
	if (!answer->error)
		answer->error = r;
}

/*
 * The word for what was waited for; time in the run queue is a wait for a CPU.
 */
static const char *resource_kind(const struct answer *answer, uint32_t kind)
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

static void json_functions(struct clew_json *json, const struct answer *answer)
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

static void print_json(struct answer *answer)
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
	clew_json_model_truth(&json, answer->victims.model, CLEW_WHOLE);
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
static bool has_pool(const struct answer *answer)
{
	for (size_t i = 0; i < answer->by_name.count; i++)
		if (answer->by_name.shares[i].victim_pool ||
		    answer->by_name.shares[i].antagonist_pool)
			return true;
	return false;
}

/* True if the `top` pairs are too small a part of the whole. */
static bool is_crowd(const struct answer *answer, uint32_t top)
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

static void print_names(const struct answer *answer)
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

static void print_functions(const struct answer *answer, uint32_t top)
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
	clew_print_model_truth(stdout, answer->victims.model, CLEW_WHOLE);
}

static void print_text(struct answer *answer, uint32_t top)
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
	clew_print_model_truth(stdout, answer->victims.model, CLEW_WHOLE);
}

static int out_of_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "blame: out of memory: free some, or choose fewer spans");
}

/*
 * All spans, or those, but clew's own: by default clew is not a victim, but it may be an
 * antagonist. NULL: no memory.
 */
static uint32_t *find_others(const struct clew_model *model, const bool *only, size_t *ret_count)
{
	uint32_t *spans = malloc((model->span_count + 1ul) * sizeof(*spans));

	*ret_count = 0;
	for (uint32_t span = 0; spans && span < model->span_count; span++) {
		const char *flags =
			clew_model_attribute(model, model->spans[span].attributes, "task_flags");

		if ((!only || only[span]) &&
		    (!flags || !(strtoul(flags, NULL, 10) & CLEW_TASK_SELF)))
			spans[(*ret_count)++] = span;
	}
	return spans;
}

/* `only`: by span, the possible victims; NULL: all. `stacks`: as clew_open_model_stacks() has it.
 */
static int answer_with(const struct clew_model *model, const struct clew_trace *stacks,
		       const struct blame_values *values, const bool *only)
{
	const struct clew_scope by = {.hierarchy = values->hierarchy},
				of = {.hierarchy = values->hierarchy, .only = only};
	struct answer answer = {.victims = {.model = model},
				.antagonists = {.model = model},
				.is_by_function = values->by != NULL,
				.all_running = values->all_running};
	struct clew_blame_options options = {
		.all_running = values->all_running,
		.innermost = values->by != NULL,
		.charged = values->by || values->all_running ? NULL : clew_pair_places_charge,
		.context = &answer.ran_in};
	uint32_t *victims = NULL, *antagonists = NULL;
	int status = 0;

	if (values->victims)
		status = clew_find_spans("--victims", values->victims, model, &of, &victims,
					 &options.victim_count);
	if (status)
		return status;
	if (values->antagonists)
		status = clew_find_spans("--antagonists", values->antagonists, model, &by,
					 &antagonists, &options.antagonist_count);
	if (status)
		antagonists = NULL;
	if (!status && !values->victims)
		victims = find_others(model, only, &options.victim_count);
	if (!status && (!victims || clew_pair_places_init(&answer.ran_in, model,
							  options.charged ? stacks : NULL) < 0))
		status = out_of_memory();
	if (!status) {
		options.victims = victims;
		options.antagonists = antagonists;
		if (clew_blame_find(model, &options, &answer.pairs, &answer.count) < 0 ||
		    clew_blame_by_name(model, answer.pairs, answer.count, &answer.by_name) < 0 ||
		    (values->by && clew_blame_by_function(model, answer.pairs, answer.count,
							  &answer.by_function) < 0))
			status = out_of_memory();
		else if (values->json)
			print_json(&answer);
		else if (values->by)
			print_functions(&answer, values->top.value);
		else
			print_text(&answer, values->top.value);
	}
	if (!status && answer.error < 0)
		status = out_of_memory();
	clew_pair_places_done(&answer.ran_in);
	clew_blame_shares_done(&answer.by_name);
	clew_blame_rows_done(&answer.by_function);
	free(answer.pairs);
	free(victims);
	free(antagonists);
	clew_span_names_done(&answer.victims);
	clew_span_names_done(&answer.antagonists);
	return status;
}

int clew_command_blame(const struct clew_command *command, int argc, char **argv)
{
	struct blame_values values = {.top = {.value = 20}};
	struct clew_trace *stacks;
	struct clew_model *model;
	bool *only = NULL;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.by && strcmp(values.by, "function") != 0)
		return clew_fail(CLEW_EXIT_INPUT, "blame: --by is function, not '%s'", values.by);
	if (clew_source_wanted(&values.source) && (values.by || values.all_running))
		return clew_fail(CLEW_EXIT_INPUT, "blame: --lines is about samples, which neither "
						  "--by nor --all-running tells: leave one out");
	status = clew_open_model_stacks(operands[0], &model, &stacks);
	if (status)
		return status;
	if (clew_source_wanted(&values.source))
		status = clew_need_stacks("blame", stacks, &values.source);
	if (!status)
		status = clew_groups_spans(model, &values.group, &only);
	if (!status)
		status = answer_with(model, stacks, &values, only);
	if (!status && stacks && !values.json)
		clew_print_lines_told(stdout, stacks);
	free(only);
	clew_model_free(model);
	clew_trace_free(stacks);
	return status;
}
