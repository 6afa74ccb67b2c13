/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew functions: which functions of a program can be probed, how, and what it costs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/functions/probed.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/one/functions_runtime.h"
#include "format/text.h"
#include "record/functions/probe_judge.h"
#include "record/stacks/objects.h"
#include "symbol/code/closure.h"

struct functions_values {
	bool json;
	bool strict_entry;
	enum clew_returns_wanted returns;
	const char *runtimes;
};

const struct clew_option clew_functions_options[] = {
	{0, "returns", "WAY",
	 "see returns by trampoline, exits or none instead of what is known to be harmless (auto)",
	 clew_take_returns, offsetof(struct functions_values, returns)},
	{0, "strict-entry", NULL, "probe no entry behind an instruction that reads memory",
	 clew_take_flag, offsetof(struct functions_values, strict_entry)},
	{0, "runtime", "NAME,..", "the points of these runtimes instead, as clew record takes them",
	 clew_take_string, offsetof(struct functions_values, runtimes)},
	{0, "json", NULL, "answer in JSON", clew_take_flag,
	 offsetof(struct functions_values, json)},
	CLEW_OPTION_END,
};

/* The object that was asked for, and the files that it means. */
struct asked {
	const struct functions_values *values;
	const char *glob; /* NULL: all functions */
	struct clew_objects objects;
	struct clew_closure *closure;
	struct clew_probe_cost cost;
	bool all_closed;
	char why[CLEW_CLOSURE_WHY];	   /* not, or yes */
	struct clew_functions **functions; /* an object's each, NULL: it is no program */
	struct clew_dwarf **dwarf;	   /* the same, NULL: it has no debugging information */
	struct clew_functions_shown *shown;
	struct probe_judge judge;
};

/* True if something in the process, or in the program, can unwind. */
static void check_closure(struct asked *asked)
{
	int r = 1;

	if (asked->values->returns != CLEW_RETURNS_AUTO)
		return;
	for (size_t i = 0; i < asked->objects.count; i++)
		clew_object_read(&asked->objects.list[i]);
	if (asked->objects.pid)
		for (size_t i = 0; r > 0 && i < asked->objects.count; i++)
			r = clew_closure_file(asked->closure, asked->objects.list[i].descriptor,
					      asked->objects.list[i].path, asked->why);
	else
		r = clew_closure_program(asked->closure, asked->objects.list[0].descriptor,
					 asked->objects.list[0].path, asked->why);
	asked->all_closed = r > 0;
	if (r > 0)
		snprintf(asked->why, sizeof(asked->why),
			 "nothing in the program unwinds or switches stacks");
	else if (r < 0)
		snprintf(asked->why, sizeof(asked->why), "its libraries cannot be read");
}

static void set_returns(const struct asked *asked, struct clew_functions_shown *shown)
{
	static const char *const words[] = {
		[CLEW_RETURNS_TRAMPOLINE] = "all",
		[CLEW_RETURNS_EXITS] = "exits",
		[CLEW_RETURNS_NONE] = "none",
	};

	if (shown->about.go) {
		shown->returns = "none";
		shown->why = "Go moves its stacks";
	} else if (asked->values->returns != CLEW_RETURNS_AUTO) {
		shown->returns = words[asked->values->returns];
		shown->why = "as asked";
	} else {
		shown->returns = asked->all_closed ? "all" : "closed";
		shown->why = asked->why;
	}
}

/* The lines that debugging information adds about the functions, if there is any. */
static int read_signatures(struct asked *asked, size_t number)
{
	struct clew_functions_shown *shown = &asked->shown[number];
	struct clew_dwarf **dwarf = &asked->dwarf[number];
	int r = -ENODATA;

	shown->signatures = calloc(shown->count + 1, sizeof(*shown->signatures));
	if (!shown->signatures)
		return -ENOMEM;
	if (shown->count)
		r = clew_dwarf_open(asked->objects.list[number].descriptor, shown->path,
				    shown->about.build_id, shown->about.build_id_size, dwarf);
	for (size_t i = 0; r >= 0 && i < shown->count; i++)
		shown->signatures[i] =
			clew_dwarf_find(*dwarf, shown->list[i]->address, shown->list[i]->name);
	return r == -ENOMEM ? r : 0;
}

/* The probes that the file carries, if they fit. */
static int read_carried(struct asked *asked, size_t number)
{
	struct clew_functions_shown *shown = &asked->shown[number];
	int descriptor = asked->objects.list[number].descriptor;
	int r = clew_carried_read(descriptor, asked->glob ?: "*", &shown->carried);

	if (r < 0)
		return r;
	shown->left_alone = calloc(shown->carried.count + 1, sizeof(*shown->left_alone));
	if (!shown->left_alone)
		return -ENOMEM;
	probe_judge_begin(&asked->judge, descriptor);
	for (size_t i = 0; i < shown->carried.count; i++)
		shown->left_alone[i] = probe_judge_reason(
			&asked->judge, &clew_carried_at(&shown->carried, i)->probe);
	probe_judge_end(&asked->judge);
	return 0;
}

/* Reads one file's functions. An object of a process that has none that fit is left out. */
static int read_object(struct asked *asked, size_t number)
{
	struct clew_functions_options options = {
		.size = sizeof(options),
		.strict_entry = asked->values->strict_entry,
		.long_nops_stepped = asked->cost.long_nops_stepped,
		.all_closed = asked->all_closed,
		.returns = asked->values->returns,
	};
	struct clew_object *object = &asked->objects.list[number];
	struct clew_functions_shown *shown = &asked->shown[number];
	struct clew_message message;
	int r = clew_object_read(object);

	if (r < 0)
		clew_say(&message, r, "%s: %s", object->path, clew_open_error(r));
	else
		r = clew_functions_open(object->descriptor, object->path, &options,
					&asked->functions[number], &message);
	/* Some mappings of a process are no programs. */
	if (r < 0 && r != -ENOMEM && asked->objects.pid)
		return 0;
	if (r < 0)
		return clew_fail(r == -ENOMEM ? CLEW_EXIT_SYSTEM : CLEW_EXIT_INPUT, "%s",
				 message.text);
	shown->path = object->path;
	clew_functions_about(asked->functions[number], &shown->about);
	r = clew_functions_find(asked->functions[number], asked->glob, &shown->list, &shown->count);
	if (r >= 0)
		r = clew_function_cost(shown->list, shown->count, &shown->cost);
	if (r >= 0)
		r = read_signatures(asked, number);
	if (r >= 0)
		r = read_carried(asked, number);
	set_returns(asked, shown);
	return r < 0 ? clew_fail_memory() : 0;
}

static int fail_nothing_fits(const struct asked *asked, const char *name)
{
	const char *nearest = NULL;

	for (size_t i = 0; i < asked->objects.count && asked->glob && !nearest; i++)
		if (asked->functions[i])
			nearest = clew_functions_nearest(asked->functions[i], asked->glob);
	if (!asked->glob)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"%s has no functions with names: it is stripped; take the file that "
			"its package has with symbols",
			name);
	if (nearest)
		return clew_fail(CLEW_EXIT_INPUT,
				 "no function of %s fits '%s': the nearest name is %s", name,
				 asked->glob, nearest);
	return clew_fail(CLEW_EXIT_INPUT,
			 "no function of %s fits '%s': clew functions %s lists those that it has",
			 name, asked->glob, name);
}

static int answer(struct asked *asked, const char *name)
{
	struct clew_functions_answer found = {
		.shown = asked->shown, .count = asked->objects.count, .probe_cost = &asked->cost};
	bool any = false;
	int status = 0;

	for (size_t i = 0; !status && i < asked->objects.count; i++) {
		status = read_object(asked, i);
		any |= clew_functions_fit(&asked->shown[i]);
		found.cost.probes += asked->shown[i].cost.probes;
		found.cost.exec_us += asked->shown[i].cost.exec_us;
		found.cost.process_kb += asked->shown[i].cost.process_kb;
	}
	if (status)
		return status;
	if (!any)
		return fail_nothing_fits(asked, name);
	if (!asked->values->json)
		return clew_functions_text(stdout, &found) < 0 ? clew_fail_memory()
							       : CLEW_EXIT_DONE;
	clew_functions_json(stdout, &found);
	return CLEW_EXIT_DONE;
}

static void free_asked(struct asked *asked)
{
	for (size_t i = 0; i < asked->objects.count; i++) {
		if (asked->functions)
			clew_functions_close(asked->functions[i]);
		if (asked->dwarf)
			clew_dwarf_close(asked->dwarf[i]);
		if (asked->shown) {
			free(asked->shown[i].signatures);
			free(asked->shown[i].left_alone);
			clew_carried_done(&asked->shown[i].carried);
		}
	}
	free(asked->functions);
	free(asked->dwarf);
	free(asked->shown);
	clew_objects_done(&asked->objects);
	clew_closure_free(asked->closure);
}

int clew_command_functions(const struct clew_command *command, int argc, char **argv)
{
	struct functions_values values = {0};
	struct asked asked = {.values = &values};
	struct clew_message message;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.runtimes)
		return operands[1]
			       ? clew_fail(CLEW_EXIT_INPUT,
					   "--runtime: '%s' names functions: give one of them",
					   operands[1])
			       : clew_functions_runtime(values.runtimes, operands[0], values.json);
	asked.glob = operands[1];
	if (clew_objects_find(operands[0], &asked.objects, &message) < 0)
		return clew_fail(CLEW_EXIT_INPUT, "%s", message.text);
	clew_probe_cost_measure(&asked.cost);
	asked.functions = calloc(asked.objects.count, sizeof(*asked.functions));
	asked.dwarf = calloc(asked.objects.count, sizeof(*asked.dwarf));
	asked.shown = calloc(asked.objects.count, sizeof(*asked.shown));
	if (asked.functions && asked.dwarf && asked.shown && !clew_closure_new(&asked.closure)) {
		check_closure(&asked);
		status = answer(&asked, operands[0]);
	} else {
		status = clew_fail_memory();
	}
	free_asked(&asked);
	return status;
}
