/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew what-if: a trace as it would have been, before and after; and sweeps, how long
 * the whole takes for a factor from here to there.
 */
#include "answers/whatif/whatif.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/one/what_if_try.h"
#include "cli/operand/groups.h"
#include "cli/operand/open.h"
#include "cli/operand/query.h"

#define TOP 20 /* spans in text */

struct what_if_values {
	struct clew_group_choice group;
	const char *sweep;
	const char *hierarchy;
	const char *resources;
	struct clew_number cpus;
	struct clew_number steps;
	struct clew_number top;
	struct clew_try_values tried;
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
	{0, "try", "OBJECT:FUNCTION",
	 "make this function take longer, in a process or a command, and time operations",
	 clew_take_string, offsetof(struct what_if_values, tried.function)},
	{0, "quota", "cpu=N|disk=N", "instead: give the program less: 50%, 0.5 CPU, 10M a second",
	 clew_take_string, offsetof(struct what_if_values, tried.quota)},
	{0, "span", "OBJECT:FUNCTION", "with either: the operation, which calls that function",
	 clew_take_string, offsetof(struct what_if_values, tried.span)},
	{0, "class", "WORDS", "with either: the operations of a class, as clew report names it",
	 clew_take_string, offsetof(struct what_if_values, tried.class)},
	{0, "operation", "NAME", "with either: the calls of that name that programs announce",
	 clew_take_string, offsetof(struct what_if_values, tried.operation)},
	{0, "delay", "DURATION,..", "with --try: by how much, each 2ms at most (250us,500us,1ms)",
	 clew_take_string, offsetof(struct what_if_values, tried.delay)},
	{0, "blocks", "N", "with either: so many blocks of time, half of them as usual (40)",
	 clew_take_number, offsetof(struct what_if_values, tried.blocks)},
	{0, "block", "DURATION", "with either: so long is a block (500ms)", clew_take_seconds,
	 offsetof(struct what_if_values, tried.block)},
	{'p', "pid", "PID", "with either: in this process and its children", clew_take_number,
	 offsetof(struct what_if_values, tried.pid)},
	{0, "yes-slow-it-down", NULL, "with --try: in each process that has the function",
	 clew_take_flag, offsetof(struct what_if_values, tried.everybody)},
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

static struct clew_what_if_answer answer_of(const struct question *question)
{
	const struct what_if_values *values = question->values;

	return (struct clew_what_if_answer){.model = question->model,
					    .program = question->program,
					    .text = question->text,
					    .matches = question->matches,
					    .sweep = values->sweep,
					    .top = values->top.given ? values->top.value : TOP};
}

static int sweep(struct question *question)
{
	enum { STEPS = 10, MOST = 100000 };
	uint32_t steps = question->values->steps.given ? question->values->steps.value : STEPS;
	struct clew_query_error error = {0};
	const struct clew_what_if_answer answer = answer_of(question);
	struct clew_what_if_step *all;
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
		clew_json_sweep(&answer, all, steps + 1);
	else
		clew_print_sweep(&answer, all, steps + 1);
	free(all);
	return r;
}

/* ---- before and after ---- */

static int answer(struct question *question)
{
	struct clew_query_error error = {0};
	struct clew_what_if_answer said;
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
	said = answer_of(question);
	if (question->values->json)
		clew_json_what_if(&said, after, &result);
	else
		r = clew_print_what_if(&said, after, &result);
	clew_model_free(after);
	return r < 0 ? fail(question, r, NULL) : 0;
}

/* ---- tried ---- */

/* The words behind "--", which are taken off the arguments; NULL: there are none. */
static char **command_words(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++)
		if (!strcmp(argv[i], "--")) {
			argv[i] = NULL;
			*argc = i;
			return argv + i + 1;
		}
	return NULL;
}

/* `trace` and `program`: operands, NULL none. */
static int try(const struct what_if_values *values, const char *trace, const char *program,
	       char **words)
{
	if (!values->tried.function && !values->tried.quota)
		return clew_fail(CLEW_EXIT_INPUT,
				 "what-if: %s without --try: give --try "
				 "OBJECT:FUNCTION or --quota, or leave it out",
				 words ? "a command" : "--span, --class, --blocks or -p");
	if (values->sweep || values->resources || values->cpus.given || values->steps.given ||
	    values->hierarchy || program)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--try takes no program and none of its options: leave out %s",
				 program ? program : "--sweep and the like");
	if (words && !words[0])
		return clew_fail(CLEW_EXIT_INPUT,
				 "what-if: no command after --: name one, or leave out --");
	return clew_what_if_try(&values->tried, trace, words, values->json);
}

int clew_command_what_if(const struct clew_command *command, int argc, char **argv)
{
	struct what_if_values values = {};
	struct question question = {.values = &values};
	struct clew_model *model = NULL;
	bool *only = NULL;
	char **operands;
	int status;

	char **words = command_words(&argc, argv);

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (words || clew_try_is_asked(&values.tried))
		return try(&values, optind < argc ? operands[0] : NULL,
			   optind < argc ? operands[1] : NULL, words);
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
