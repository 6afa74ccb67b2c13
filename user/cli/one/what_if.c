/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew what-if: a trace as it would have been, before and after; and sweeps, how long
 * the whole takes for a factor from here to there.
 */
#include <clew/what_if.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/path/model_json.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"
#include "format/text.h"
#include "words/es.h"
#include "words/truth.h"

struct what_if_values {
	struct clew_group_choice group;
	const char *sweep;
	const char *hierarchy;
	const char *resources;
	struct clew_number cpus;
	struct clew_number steps;
	struct clew_number top;
	bool json;
};

const struct clew_option clew_what_if_options[] = {
	{0, "sweep", "STATEMENT",
	 "a statement whose factor is a range, as in 'scale spans(X) by 0..1': how long all takes "
	 "for each",
	 clew_take_string, offsetof(struct what_if_values, sweep)},
	{0, "steps", "N", "of a sweep, beside its begin (10)", clew_take_number,
	 offsetof(struct what_if_values, steps)},
	{0, "cpus", "N", "so many CPUs, for which what ran queues up again (as recorded)",
	 clew_take_number, offsetof(struct what_if_values, cpus)},
	{0, "resources", "LIST",
	 "queue up again for these: cpus, locks, devices (all is as recorded)", clew_take_string,
	 offsetof(struct what_if_values, resources)},
	{0, "top", "K", "the K spans that change most (20)", clew_take_number,
	 offsetof(struct what_if_values, top)},
	CLEW_GROUP_OPTIONS(struct what_if_values, group, "spans of threads"),
	{0, "hierarchy", "NAME", "whose categories patterns mean (the first one)", clew_take_string,
	 offsetof(struct what_if_values, hierarchy)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct what_if_values, json)},
	CLEW_OPTION_END,
};

/* The program, the sweep and what options say are compiled as one text. */
struct question {
	const struct what_if_values *values;
	const struct clew_model *model;
	struct clew_program *program;
	char *text;
	size_t sweep_at;   /* where the sweep begins in the text */
	size_t options_at; /* where the statements from options begin */
	struct clew_what_if_options options;
	uint64_t *matches;
};

struct step {
	double factor;
	struct clew_what_if result;
};

static int fail_at(const struct question *question, const struct clew_query_error *error)
{
	bool sweep = error->offset >= question->sweep_at;
	const char *text = sweep ? question->text + question->sweep_at : question->text;
	size_t offset = sweep ? error->offset - question->sweep_at : error->offset;
	const char *line = text, *end;

	if (error->offset >= question->options_at)
		return clew_fail(CLEW_EXIT_INPUT, "%s: %s",
				 question->values->cpus.given ? "--cpus" : "--resources",
				 error->message);
	for (size_t i = 0; i < offset && text[i]; i++)
		line = text[i] == '\n' ? text + i + 1 : line;
	end = strchrnul(line, '\n');
	clew_fail(CLEW_EXIT_INPUT, "%s, at byte %zu: %s", sweep ? "--sweep" : "program", offset,
		  error->message);
	fputs("  ", stderr);
	for (const char *byte = line; byte < end; byte++)
		fputc((unsigned char)*byte < ' ' || *byte == 0x7f ? ' ' : *byte, stderr);
	fputs("\n  ", stderr);
	for (const char *byte = line; byte < text + offset && byte < end; byte++)
		if ((*byte & 0xc0) != 0x80)
			fputc(' ', stderr);
	fputs("^\n", stderr);
	return CLEW_EXIT_INPUT;
}

static int fail(const struct question *question, int r, const struct clew_query_error *error)
{
	switch (r) {
	case -EINVAL:
		return fail_at(question, error);
	case -ELOOP:
	case -EDEADLK:
		return clew_fail(CLEW_EXIT_INPUT, "%s", error->message);
	case -EBADMSG:
		return clew_fail(CLEW_EXIT_INPUT, "the trace is inconsistent: see clew check");
	case -EOVERFLOW:
		return clew_fail(CLEW_EXIT_INPUT, "the trace would last longer than a number "
						  "holds: write smaller factors or durations");
	case -E2BIG:
		return clew_fail(CLEW_EXIT_INPUT, "the trace would have more elementary spans than "
						  "a number holds: add fewer dependencies");
	default:
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "what-if: out of memory: free some, or take a smaller trace");
	}
}

/* "cpus,locks" as a list of those words, each once. */
static int check_resources(const char *list)
{
	static const char *const words[] = {"cpus", "locks", "devices"};
	bool seen[3] = {false};

	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ","), i = 0;

		while (i < 3 && (strlen(words[i]) != length || memcmp(at, words[i], length)))
			i++;
		if (i == 3)
			return clew_fail(
				CLEW_EXIT_INPUT,
				"--resources: '%.*s' is none: choose from cpus, locks, devices",
				(int)(length < 100 ? length : 100), at);
		if (seen[i])
			return clew_fail(CLEW_EXIT_INPUT, "--resources: %s twice: name it once",
					 words[i]);
		seen[i] = true;
		at += length;
		if (!*at)
			return 0;
	}
}

/* Writes the options as statements. */
static int write_options(const struct what_if_values *values, char *text, size_t size)
{
	int status = values->resources ? check_resources(values->resources) : 0;

	text[0] = '\0';
	if (status == 0 && values->cpus.given && values->cpus.value == 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--cpus: no CPU cannot be: give a number from 1 on");
	if (status == 0 && values->resources)
		snprintf(text, size, "simulate %s;", values->resources);
	if (status == 0 && values->cpus.given)
		snprintf(text + strlen(text), size - strlen(text), "%sset cpus to %" PRIu32 ";",
			 text[0] ? " " : "", values->cpus.value);
	return status;
}

static int compile(struct question *question, const char *program)
{
	const char *sweep = question->values->sweep;
	struct clew_query_error error = {0};
	size_t size = program ? strlen(program) : 0;
	char options[128];
	int r = write_options(question->values, options, sizeof(options));

	if (r)
		return r;
	if (asprintf(&question->text, "%s\n%s%s\n%s", program ?: "", sweep ?: "",
		     sweep && !strchr(sweep, ';') ? ";" : "", options) < 0) {
		question->text = NULL;
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "what-if: out of memory: free some and try again");
	}
	question->sweep_at = sweep ? size + 1 : SIZE_MAX;
	question->options_at = options[0] ? strlen(question->text) - strlen(options) : SIZE_MAX;
	/*
	 * The program is also compiled alone, so that no statement of it can
	 * continue in the text behind it.
	 */
	if (sweep || options[0]) {
		r = clew_program_compile(question->text, size, false, &question->program, &error);
		if (r < 0)
			return fail(question, r, &error);
		clew_program_free(question->program);
		question->program = NULL;
	}
	if (sweep && options[0]) {
		r = clew_program_compile(question->text, question->options_at, true,
					 &question->program, &error);
		if (r < 0)
			return fail(question, r, &error);
		clew_program_free(question->program);
		question->program = NULL;
	}
	r = clew_program_compile(question->text,
				 sweep || options[0] ? strlen(question->text) : size, sweep != NULL,
				 &question->program, &error);
	if (r < 0)
		return fail(question, r, &error);
	if (sweep && !clew_program_sweeps(question->program))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--sweep: '%s' has no range of factors: write one, as in by 0..1",
				 sweep);
	return 0;
}

/* ---- a sweep ---- */

static void print_sweep(const struct question *question, const struct step *steps, uint32_t count)
{
	enum { WIDTH = 50 };
	const struct clew_what_if *first = &steps[0].result;
	uint64_t before = (uint64_t)(first->before_end - first->before_start), most = before;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t length =
			(uint64_t)(steps[i].result.after_end - steps[i].result.after_start);

		most = length > most ? length : most;
	}
	fputs("sweep: ", stdout);
	clew_print_safe(stdout, question->values->sweep);
	printf("\nas recorded the whole takes %s\n\n%10s %14s %9s\n", CLEW_DURATION(before),
	       "factor", "the whole", "of before");
	for (uint32_t i = 0; i < count; i++) {
		uint64_t length =
			(uint64_t)(steps[i].result.after_end - steps[i].result.after_start);
		int bar = most ? (int)((double)length / (double)most * WIDTH + .5) : 0;

		printf("%10.4g %14s %7.1f %%  ", steps[i].factor, CLEW_OFFSET(length, most),
		       before ? 100.0 * (double)length / (double)before : 100.0);
		for (int j = 0; j < bar; j++)
			putchar('#');
		putchar('\n');
	}
	clew_print_model_truth(stdout, question->model, CLEW_WHOLE);
}

static void json_range(struct clew_json *json, const char *key, clew_time start, clew_time end)
{
	clew_json_object(json, key);
	clew_json_signed(json, "start", start);
	clew_json_signed(json, "end", end);
	clew_json_object_end(json);
}

static void json_sweep(const struct question *question, const struct step *steps, uint32_t count)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	json_range(&json, "before", steps[0].result.before_start, steps[0].result.before_end);
	clew_json_array(&json, "sweep");
	for (uint32_t i = 0; i < count; i++) {
		clew_json_object(&json, NULL);
		clew_json_number(&json, "factor", steps[i].factor);
		clew_json_signed(&json, "start", steps[i].result.after_start);
		clew_json_signed(&json, "end", steps[i].result.after_end);
		clew_json_signed(&json, "ns",
				 steps[i].result.after_end - steps[i].result.after_start);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, question->model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static int sweep(struct question *question)
{
	enum { STEPS = 10, MOST = 100000 };
	uint32_t steps = question->values->steps.given ? question->values->steps.value : STEPS;
	struct clew_query_error error = {0};
	struct step *all;
	int r = 0;

	if (steps < 1 || steps > MOST)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--steps: %" PRIu32 " cannot be: give a number from 1 to %d",
				 steps, MOST);
	all = calloc((size_t)steps + 1, sizeof(*all));
	if (!all)
		return fail(question, -ENOMEM, &error);
	question->options.steps = steps;
	for (uint32_t i = 0; i <= steps && r == 0; i++) {
		question->options.step = i;
		all[i].factor = clew_program_factor(question->program, i, steps);
		r = clew_what_if(question->model, question->program, &question->options, NULL,
				 &all[i].result, &error);
	}
	if (r < 0)
		r = fail(question, r, &error);
	else if (question->values->json)
		json_sweep(question, all, steps + 1);
	else
		print_sweep(question, all, steps + 1);
	free(all);
	return r;
}

/* ---- before and after ---- */

static const struct clew_model *sorted_before, *sorted_after;

static uint64_t change_of(uint32_t span)
{
	const struct clew_span *a = &sorted_before->spans[span], *b = &sorted_after->spans[span];
	int64_t length = (b->end - b->start) - (a->end - a->start), start = b->start - a->start;

	return (uint64_t)(length < 0 ? -length : length) + (uint64_t)(start < 0 ? -start : start);
}

static int compare_changes(const void *a, const void *b)
{
	uint64_t x = change_of(*(const uint32_t *)a), y = change_of(*(const uint32_t *)b);

	if (x != y)
		return x > y ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void print_signed(clew_time ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%s",
		 ns < 0	  ? "-"
		 : ns > 0 ? "+"
			  : "",
		 CLEW_DURATION((uint64_t)(ns < 0 ? -ns : ns)));
	printf(" %12s", text);
}

static void print_length(const char *title, clew_time before, clew_time after)
{
	printf("%-10s %12s  %12s", title, CLEW_DURATION((uint64_t)before),
	       CLEW_DURATION((uint64_t)after));
	print_signed(after - before);
	if (before)
		printf("  %7.1f %%", 100.0 * (double)after / (double)before);
	putchar('\n');
}

static void print_resources(const struct clew_what_if *result)
{
	if (result->cpus)
		printf("%" PRIu32
		       " CPU%s, any for any thread: a trace does not tell who may run where\n",
		       result->cpus, result->cpus == 1 ? "" : "s");
	if (result->lock_waits)
		printf("%" PRIu64 " waits for locks were in queues again\n", result->lock_waits);
	if (result->requests)
		printf("%" PRIu64 " requests were in queues again\n", result->requests);
}

static void print_statements(const struct question *question)
{
	for (uint32_t i = 0; i < clew_program_count(question->program); i++) {
		size_t offset, size;
		char *text;

		clew_program_statement(question->program, i, &offset, &size);
		text = strndup(question->text + offset, size);
		printf("%8" PRIu64 " times  ", question->matches[i]);
		clew_print_safe(stdout, text ?: "");
		putchar('\n');
		free(text);
	}
}

static int print_text(const struct question *question, const struct clew_model *after,
		      const struct clew_what_if *result)
{
	enum { TOP = 20 };
	uint32_t top = question->values->top.given ? question->values->top.value : TOP, changed = 0;
	struct clew_span_names names = {.model = question->model};
	uint32_t *order = malloc(((size_t)after->span_count + 1) * sizeof(*order));

	if (!order)
		return fail(question, -ENOMEM, NULL);
	sorted_before = question->model;
	sorted_after = after;
	for (uint32_t i = 0; i < after->span_count; i++)
		if (change_of(i))
			order[changed++] = i;
	qsort(order, changed, sizeof(*order), compare_changes);
	print_statements(question);
	print_resources(result);
	printf("%-10s %12s  %12s %12s\n", "", "before", "after", "");
	print_length("the whole", result->before_end - result->before_start,
		     result->after_end - result->after_start);
	if (changed)
		printf("\n%14s %12s  %12s %12s\n", "start", "before", "after", "");
	for (uint32_t i = 0; i < changed && i < top; i++) {
		const struct clew_span *a = &question->model->spans[order[i]],
				       *b = &after->spans[order[i]];

		print_signed(b->start - a->start);
		printf("  %12s  %12s", CLEW_DURATION((uint64_t)(a->end - a->start)),
		       CLEW_DURATION((uint64_t)(b->end - b->start)));
		print_signed((b->end - b->start) - (a->end - a->start));
		fputs("  ", stdout);
		clew_print_span(stdout, &names, order[i]);
		putchar('\n');
	}
	if (changed > top)
		printf("%14s and %" PRIu32 " more\n", "", changed - top);
	printf("\n%" PRIu32 " of %" PRIu32 " spans change\n", changed, after->span_count);
	if (result->backward_edges)
		printf("%" PRIu64
		       " dependencies go backwards in time and are not followed: see clew check\n",
		       result->backward_edges);
	clew_print_model_truth(stdout, question->model, CLEW_WHOLE);
	clew_span_names_done(&names);
	free(order);
	return 0;
}

static void print_json(const struct question *question, const struct clew_model *after,
		       const struct clew_what_if *result)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	json_range(&json, "before", result->before_start, result->before_end);
	json_range(&json, "after", result->after_start, result->after_end);
	clew_json_unsigned(&json, "backward_edges", result->backward_edges);
	clew_json_known(&json, "cpus", result->cpus, 0);
	clew_json_unsigned(&json, "lock_waits", result->lock_waits);
	clew_json_unsigned(&json, "requests", result->requests);
	clew_json_array(&json, "statements");
	for (uint32_t i = 0; i < clew_program_count(question->program); i++) {
		size_t offset, size;
		char *text;

		clew_program_statement(question->program, i, &offset, &size);
		text = strndup(question->text + offset, size);
		clew_json_object(&json, NULL);
		clew_json_string(&json, "text", text);
		clew_json_unsigned(&json, "times", question->matches[i]);
		clew_json_object_end(&json);
		free(text);
	}
	clew_json_array_end(&json);
	clew_json_model(&json, after);
	clew_json_model_truth(&json, question->model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static int answer(struct question *question)
{
	struct clew_query_error error = {0};
	struct clew_what_if result;
	struct clew_model *after;
	int r;

	question->matches = calloc((size_t)clew_program_count(question->program) + 1,
				   sizeof(*question->matches));
	question->options.matches = question->matches;
	r = question->matches ? clew_what_if(question->model, question->program, &question->options,
					     &after, &result, &error)
			      : -ENOMEM;
	if (r < 0)
		return fail(question, r, &error);
	if (question->values->json)
		print_json(question, after, &result);
	else
		r = print_text(question, after, &result);
	clew_model_free(after);
	return r;
}

int clew_command_what_if(const struct clew_command *command, int argc, char **argv)
{
	struct what_if_values values = {};
	struct question question = {.values = &values};
	struct clew_model *model = NULL;
	bool *only = NULL;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!operands[1] && !values.sweep && !values.cpus.given && !values.resources)
		return clew_fail(CLEW_EXIT_INPUT, "what-if: no program: give one, as 'scale "
						  "spans(X) by .5;', or --sweep, or --cpus");
	if (values.steps.given && !values.sweep)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--steps: there is no sweep: add --sweep, or leave it out");
	status = compile(&question, operands[1]);
	if (!status)
		status = clew_open_model(operands[0], &model, NULL);
	if (!status) {
		question.model = model;
		status = clew_choose_hierarchy(model, values.hierarchy, NULL,
					       &question.options.hierarchy);
		if (!status)
			status = clew_groups_spans(model, &values.group, &only);
		question.options.only = only;
		if (!status)
			status = values.sweep ? sweep(&question) : answer(&question);
		free(only);
		clew_model_free(model);
	}
	clew_program_free(question.program);
	free(question.text);
	free(question.matches);
	return status;
}
