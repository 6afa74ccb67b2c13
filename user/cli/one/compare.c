/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew compare: what takes longer in one recording than in another, because of what, and whether
 * the difference is more than noise.
 */
#include "answers/compare/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/write.h"
#include "cli/operand/input.h"
#include "compare/history.h"
#include "compare/on_path.h"
#include "compare/windows.h"
#include "daemon/place.h"

#define MOST_RENAMES 64

struct compare_values {
	struct clew_selection selection;
	struct compare_options options;
	struct compare_rename renames[MOST_RENAMES];
	char *rename_memory[MOST_RENAMES];
	const char *output;
	const char *history;
	bool recorded; /* a command, in one of the captures */
	bool is_long;  /* the first capture after: it has no causal trace in one piece */
	bool yesterday;
	bool halves;
	bool json;
	bool html;
};

static const char *const by_words[] = {
	[COMPARE_BY_CAUSE] = "cause",	    [COMPARE_BY_PATH] = "path",
	[COMPARE_BY_FUNCTION] = "function", [COMPARE_BY_OBJECT] = "object",
	[COMPARE_BY_CGROUP] = "cgroup",
};

static int take_by(const struct clew_option *option, const char *argument, void *value)
{
	for (unsigned i = 0; i < sizeof(by_words) / sizeof(by_words[0]); i++) {
		if (!strcmp(by_words[i], argument)) {
			*(enum compare_by *)value = (enum compare_by)i;
			return 0;
		}
	}
	return clew_fail(CLEW_EXIT_INPUT,
			 "--%s: '%s' is not known: write cause, path, function, object or cgroup",
			 option->name, argument);
}

/* OLD=NEW, at the first '='. */
static int take_rename(const struct clew_option *option, const char *argument, void *value)
{
	struct compare_values *values = value;
	const char *equals = strchr(argument, '=');
	size_t number = values->options.rename_count;
	char *copy;

	if (!equals || equals == argument || !equals[1])
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is not OLD=NEW: write the two names of a class or of "
				 "a cause",
				 option->name, argument);
	if (number == MOST_RENAMES)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: more than %d: leave some out",
				 option->name, MOST_RENAMES);
	copy = strdup(argument);
	if (!copy)
		return clew_fail_memory();
	copy[equals - argument] = '\0';
	values->rename_memory[number] = copy;
	values->renames[number] =
		(struct compare_rename){.from = copy, .to = copy + (equals - argument) + 1};
	values->options.rename_count++;
	return 0;
}

const struct clew_option clew_compare_options[] = {
	{0, "by", "KEY", "causes by cause, path, function, object or cgroup (cause)", take_by,
	 offsetof(struct compare_values, options.by)},
	{0, "class", "GLOB", "only classes of operations named like this, or with these words",
	 clew_take_string, offsetof(struct compare_values, options.class)},
	{0, "comm", "GLOB", "only threads named like this", clew_take_string,
	 offsetof(struct compare_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct compare_values, selection.group, "threads"),
	{0, "map", "OLD=NEW", "what a class or a cause was called before, and is called now",
	 take_rename, 0},
	{0, "halves", NULL,
	 "compare a recording with itself, each second block of time with those between",
	 clew_take_flag, offsetof(struct compare_values, halves)},
	{0, "yesterday", NULL,
	 "the last hour with that hour yesterday, as the daemon's history has them", clew_take_flag,
	 offsetof(struct compare_values, yesterday)},
	{0, "history", "DIRECTORY", "of --yesterday: where the history is (the daemon's)",
	 clew_take_string, offsetof(struct compare_values, history)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct compare_values, json)},
	{0, "html", NULL, "write a page for a browser, compare.html", clew_take_flag,
	 offsetof(struct compare_values, html)},
	{'o', "output", "FILE", "of --html: write there (-: standard output)", clew_take_string,
	 offsetof(struct compare_values, output)},
	CLEW_OPTION_END,
};

/* The captures of both sides, or when they were. */
struct operands {
	char **names[COMPARE_SIDES];
	const char *times[COMPARE_SIDES];
	size_t count[COMPARE_SIDES];
};

/* The number of words behind "--", before options are read: reading them moves it. */
static size_t count_behind(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return (size_t)(argc - i - 1);
	return 0;
}

/* Divides the operands, of which `behind` stand behind "--", 0: there is none. */
static int divide(const struct compare_values *values, char **operands, size_t behind,
		  struct operands *ret_sides)
{
	size_t count = 0;

	while (operands[count])
		count++;
	*ret_sides = (struct operands){.names = {operands, operands + count}, .count = {count}};
	if (values->yesterday)
		return 0;
	if (!count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "compare: no capture: name one before and one after");
	if (values->halves)
		return behind ? clew_fail(CLEW_EXIT_INPUT,
					  "--halves: is about one side: leave out -- and what "
					  "follows it")
			      : 0;
	if (!behind && count != 2)
		return clew_fail(CLEW_EXIT_INPUT,
				 "compare: %zu capture%s without --: give one before and one "
				 "after, or write -- between several of each",
				 count, count == 1 ? "" : "s");
	behind = behind ?: 1;
	if (behind == count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "compare: no capture before --: name one of before");
	ret_sides->names[COMPARE_AFTER] = operands + count - behind;
	ret_sides->count[COMPARE_BEFORE] = count - behind;
	ret_sides->count[COMPARE_AFTER] = behind;
	return 0;
}

/* Adds a capture that is looked at in windows. */
static int add_windows(struct compare *compare, enum compare_side_name side,
		       struct clew_input *input, const struct clew_chosen *chosen)
{
	struct compare_windows windows = {.compare = compare, .side = side, .chosen = chosen};
	const struct clew_windows_taker taker = compare_windows_taker(&windows);
	int status = clew_input_works(input, "operations are those", &windows.works);

	if (!status)
		status = clew_input_look(input, &taker);
	if (!status && compare_windows_end(&windows, input->trace) < 0)
		status = clew_fail_memory();
	return status;
}

static int add_capture(struct compare *compare, enum compare_side_name side,
		       struct compare_values *values, const char *operand)
{
	struct clew_selection selection = values->selection;
	struct clew_input input = {};
	struct clew_input_choice choice = {.input = &input, .selection = &selection};
	const struct clew_chosen chosen = {
		.wants = clew_input_wants, .context = &choice, .some = true};
	int status = clew_input_open(
		operand,
		&(struct clew_input_needs){.works = true, .functions = true, .announced = true},
		&input);

	if (!status)
		status = clew_input_choose(&input, &selection);
	values->recorded |= !status && selection.recorded.root != CLEW_NO_TASK;
	if (side == COMPARE_AFTER && !compare->captures[side])
		values->is_long = input.reader != NULL;
	if (!status && input.reader)
		status = add_windows(compare, side, &input, &chosen);
	else if (!status && compare_add(compare, side, input.trace, &chosen) < 0)
		status = clew_fail_memory();
	clew_input_done(&input);
	clew_selection_done(&selection);
	return status;
}

static int write_page(void *context, FILE *out)
{
	clew_html_compare(out, context);
	return 0;
}

static int say(const struct compare_values *values, const struct clew_compare_answer *answer)
{
	const char *name = values->output ?: "compare.html";
	int status = 0;

	if (values->html) {
		status = clew_write_file(name, write_page, (void *)answer);
		if (!status && strcmp(name, "-"))
			printf("The page is %s: open it in a browser.\n", name);
	} else if (values->json) {
		clew_json_compare(stdout, answer);
	} else {
		clew_print_compare(stdout, answer);
	}
	return status;
}

static bool has_changes(const struct compare_result *result)
{
	return result->class_count && result->classes[0].verdict == COMPARE_CHANGED;
}

/* Tries the causes that changed in the first capture after. */
static int try_on_path(const struct compare *compare, struct compare_result *result,
		       const char *operand)
{
	struct clew_model *model;
	int status = clew_open_model_frames(operand, 1, &model, NULL);

	if (status)
		return status;
	if (on_path_try(compare, result, model) < 0)
		status = clew_fail_memory();
	clew_model_free(model);
	return status;
}

static int find_and_say(const struct compare_values *values, const struct compare *compare,
			const struct operands *sides)
{
	struct compare_result result;
	const struct clew_compare_answer answer = {
		.compare = compare,
		.result = &result,
		.names = {sides->names[COMPARE_BEFORE],
			  sides->names[values->halves ? COMPARE_BEFORE : COMPARE_AFTER]},
		.times = {sides->times[COMPARE_BEFORE], sides->times[COMPARE_AFTER]},
		.recorded = values->recorded,
		.halves = values->halves,
	};
	int status = compare_find(compare, &result) < 0 ? clew_fail_memory() : 0;

	if (!status && !result.class_count && !result.alone_count[0] && !result.alone_count[1])
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "no operation to compare: see which classes there are with "
				   "`clew report --comm NAME`");
	if (!status && has_changes(&result) && !values->halves && !values->yesterday &&
	    !values->is_long)
		status = try_on_path(compare, &result, sides->names[COMPARE_AFTER][0]);
	if (!status)
		status = say(values, &answer);
	compare_result_done(&result);
	return status;
}

/* Reads the last hour, and the one a day before it. */
static int add_hours(struct compare *compare, const char *directory, struct operands *sides,
		     char texts[COMPARE_SIDES][64])
{
	static const char *const words[COMPARE_SIDES] = {"that hour yesterday", "the last hour"};
	uint64_t now = clock_read(CLOCK_REALTIME);

	for (unsigned side = 0; side < COMPARE_SIDES; side++) {
		uint64_t to = side == COMPARE_AFTER ? now : now - 24 * HISTORY_HOUR;
		struct history_found found;
		int r = history_read(directory, to - HISTORY_HOUR, to, compare,
				     (enum compare_side_name)side, &found);

		if (r < 0)
			return clew_fail(r == -ENOMEM ? CLEW_EXIT_SYSTEM : CLEW_EXIT_INPUT,
					 "%s: %s: name the directory of a history", directory,
					 strerror(-r));
		if (!found.periods)
			return clew_fail(CLEW_EXIT_NEGATIVE,
					 "%s has nothing of %s: see what there is with `clew "
					 "history`",
					 directory, words[side]);
		snprintf(texts[side], 64, "%s, %zu periods", words[side], found.periods);
		sides->times[side] = texts[side];
	}
	return 0;
}

static int add_history(const struct compare_values *values, struct compare *compare,
		       struct operands *sides, char texts[COMPARE_SIDES][64])
{
	char *directory = values->history ? strdup(values->history) : clew_place_history();
	int status;

	if (!directory)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--yesterday: no daemon keeps a history here: write `history "
				 "/var/lib/clew/history` into its configuration, or name one by "
				 "--history");
	status = add_hours(compare, directory, sides, texts);
	free(directory);
	return status;
}

static int run(struct compare_values *values, struct operands *sides)
{
	char texts[COMPARE_SIDES][64];
	struct compare compare;
	int status = 0;

	compare_begin(&compare, &values->options);
	if (values->yesterday)
		status = add_history(values, &compare, sides, texts);
	for (unsigned side = 0; side < COMPARE_SIDES && !status; side++)
		for (size_t i = 0; i < sides->count[side] && !status; i++)
			status = add_capture(&compare, (enum compare_side_name)side, values,
					     sides->names[side][i]);
	if (!status && values->halves)
		compare_halve(&compare);
	if (!status)
		status = find_and_say(values, &compare, sides);
	compare_done(&compare);
	return status;
}

static int check(const struct compare_values *values, char **operands)
{
	if (values->html && values->json)
		return clew_fail(CLEW_EXIT_INPUT, "--html and --json: choose one of them");
	if (values->output && !values->html)
		return clew_fail(CLEW_EXIT_INPUT, "-o: is about a page: use it with --html");
	if (values->history && !values->yesterday)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--history: is about --yesterday: use it with that");
	if (values->yesterday &&
	    (operands[0] || values->halves || values->selection.comm ||
	     clew_groups_asked(&values->selection.group) || values->options.by != COMPARE_BY_CAUSE))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--yesterday: a history has classes and causes alone: leave out "
				 "captures, --halves, --by and what chooses threads");
	return 0;
}

int clew_command_compare(const struct clew_command *command, int argc, char **argv)
{
	struct compare_values values = {};
	size_t behind = count_behind(argc, argv);
	struct operands sides;
	char **operands;
	int status;

	values.options.renames = values.renames;
	values.selection.recorded_first = true;
	if (clew_options_parse(command, argc, argv, &values, &operands, &status)) {
		status = check(&values, operands);
		if (!status)
			status = divide(&values, operands, behind, &sides);
		if (!status)
			status = run(&values, &sides);
	}
	for (size_t i = 0; i < values.options.rename_count; i++)
		free(values.rename_memory[i]);
	return status;
}
