/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading options by a table, over getopt_long.
 *
 * Options and operands may be mixed, unless the operands are a command: that
 * stands after "--", and everything there belongs to it.
 */
#include "cli/front/options.h"
#include "base/nearest.h"
#include "symbol/code/function.h"

#include <assert.h>
#include <clew/tokens.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/front/terminal.h"
#include "cli/front/words.h"
#include "format/position.h"
#include "format/wrap.h"

#define MOST_OPTIONS  96
#define VALUE_OF_ROW  256 /* getopt's value of row n is this + n: above any letter */
#define VALUE_OF_HELP (VALUE_OF_ROW + MOST_OPTIONS)

/* The options of every command, behind its own. */
static const struct clew_option common_options[] = {
	{0, "color", "WHEN", "colours: auto (on a terminal), always or never", clew_take_color, 0},
	{0, "no-pager", NULL, "long answers as they are on a terminal, too", clew_take_no_pager, 0},
	CLEW_OPTION_END,
};

/* The first one's row in getopt's tables: above those of any command. */
#define COMMON_ROW (MOST_OPTIONS - 8)

static char default_trace[] = CLEW_DEFAULT_TRACE;
static char *default_operands[] = {default_trace, NULL};

struct getopt_tables {
	struct option longs[MOST_OPTIONS + 2];
	char letters[3 * MOST_OPTIONS + 8];
};

static int argument_need(const struct clew_option *option)
{
	if (!option->argument)
		return no_argument;
	return option->argument[0] == '[' ? optional_argument : required_argument;
}

static void make_tables(const struct clew_command *command, struct getopt_tables *tables)
{
	char *letter = tables->letters;
	size_t n = 0;

	memset(tables, 0, sizeof(*tables));
	if (command->takes_command)
		*letter++ = '+';
	*letter++ = ':';
	*letter++ = 'h';
	for (const struct clew_option *option = command->options; option->name && n < COMMON_ROW;
	     option++, n++) {
		int need = argument_need(option);

		tables->longs[n] = (struct option){
			.name = option->name, .has_arg = need, .val = VALUE_OF_ROW + (int)n};
		if (!option->letter)
			continue;
		*letter++ = option->letter;
		for (int colon = 0; colon < need; colon++)
			*letter++ = ':';
	}
	/* One that has no row would not be known. */
	assert(n < COMMON_ROW);
	for (size_t i = 0; common_options[i].name; i++)
		tables->longs[n++] = (struct option){.name = common_options[i].name,
						     .has_arg = argument_need(&common_options[i]),
						     .val = VALUE_OF_ROW + COMMON_ROW + (int)i};
	tables->longs[n] =
		(struct option){.name = "help", .has_arg = no_argument, .val = VALUE_OF_HELP};
}

static const struct clew_option *row_of(const struct clew_command *command, int value)
{
	if (value >= VALUE_OF_ROW + COMMON_ROW && value < VALUE_OF_HELP)
		return &common_options[value - VALUE_OF_ROW - COMMON_ROW];
	if (value >= VALUE_OF_ROW && value < VALUE_OF_HELP)
		return &command->options[value - VALUE_OF_ROW];
	for (const struct clew_option *option = command->options; option->name; option++)
		if (option->letter && option->letter == value)
			return option;
	return NULL;
}

static bool is_number(const char *word)
{
	return word && word[0] && strspn(word, "0123456789") == strlen(word);
}

/* The long option that was likely meant; NULL: none. */
static const char *nearest_option(const struct clew_command *command, const char *typed)
{
	struct word_nearest nearest = {.typed = typed};

	for (const struct clew_option *option = command->options; option->name; option++)
		word_nearest_try(&nearest, option->name);
	for (const struct clew_option *option = common_options; option->name; option++)
		word_nearest_try(&nearest, option->name);
	return nearest.best;
}

/* True for a word that is an option, not the argument of the one before it. */
static bool is_option(const struct clew_command *command, const char *word)
{
	for (const struct clew_option *option = command->options; option->name; option++)
		if (word[0] == '-' && ((word[1] == '-' && !strcmp(word + 2, option->name)) ||
				       (option->letter && word[1] == option->letter && !word[2])))
			return true;
	return false;
}

/*
 * Reports what getopt found wrong; `word` is the argument that it stopped at.
 */
static int complain(const struct clew_command *command, int problem, const char *word)
{
	const struct clew_option *option = row_of(command, optopt);
	const char *nearest;
	char typed[64];

	if (problem == ':')
		return clew_fail(CLEW_EXIT_INPUT, "%s: option '%s' needs an argument: give it %s",
				 command->name, word, option ? option->argument : "one");
	if (option || optopt == VALUE_OF_HELP)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: option '%s' takes no argument: leave out what follows '='",
				 command->name, word);
	if (optopt)
		return clew_fail(CLEW_EXIT_INPUT, "%s: unknown option '-%c': see `clew help %s`",
				 command->name, optopt, command->name);
	snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word, "="), word);
	nearest = strncmp(typed, "--", 2) ? NULL : nearest_option(command, typed + 2);
	if (nearest)
		return clew_fail(CLEW_EXIT_INPUT, "%s: unknown option '%s': did you mean --%s?",
				 command->name, word, nearest);
	return clew_fail(CLEW_EXIT_INPUT, "%s: unknown option '%s': see `clew help %s`",
			 command->name, word, command->name);
}

/*
 * The number of words; `all`: including optional ones in brackets, ".."
 * standing for any number. Words behind "|" are not counted.
 */
static int words(const char *text, bool all)
{
	const char *other = strchr(text, '|'), *any = strstr(text, "..");
	int count = 0;
	bool optional = false;

	if (all && any && (!other || any < other))
		return INT_MAX;

	for (text += strspn(text, " "); *text && text != other; text += strspn(text, " ")) {
		optional |= *text == '[';
		count += all || !optional;
		text += strcspn(text, " ");
		optional &= text[-1] != ']';
	}
	return count;
}

static int check_operands(const struct clew_command *command, int argc, char **argv,
			  bool after_dashes)
{
	int count = argc - optind, wanted = words(command->operands, false),
	    most = words(command->operands, true);

	if (command->takes_command) {
		if (count && !after_dashes)
			return clew_fail(CLEW_EXIT_INPUT,
					 "%s: '%s' is no option: write -- before a command to run",
					 command->name, argv[optind]);
		if (!count && after_dashes)
			return clew_fail(CLEW_EXIT_INPUT,
					 "%s: no command after --: name one, or leave out --",
					 command->name);
		return 0;
	}
	if (!most && count)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: takes no operand, but got '%s': leave it out", command->name,
				 argv[optind]);
	if (count < wanted && most == 1)
		return clew_fail(CLEW_EXIT_INPUT, "%s: no file: name one, as in `clew %s %s`",
				 command->name, command->name, command->operands);
	if (count < wanted)
		return clew_fail(CLEW_EXIT_INPUT, "%s: %d operand%s too few: write `clew %s %s`",
				 command->name, wanted - count, wanted - count > 1 ? "s" : "",
				 command->name, command->operands);
	if (count > most && most > 1)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"%s: '%s' is too many: write `clew %s %s`, in quotes what has blanks",
			command->name, argv[optind + most], command->name, command->operands);
	if (count > most)
		return clew_fail(CLEW_EXIT_INPUT, "%s: more than one file, '%s' and '%s': name one",
				 command->name, argv[optind], argv[optind + 1]);
	return 0;
}

static bool takes_default_trace(const struct clew_command *command)
{
	return !strncmp(command->operands, "[TRACE", strlen("[TRACE"));
}

/* One option, in lines of 80 columns. */
static void print_option(const char *names, const char *help)
{
	size_t length = strlen(names);

	printf("  %-26s  ", names);
	clew_print_wrapped(stdout, help, length > 26 ? length + 4 : 30, 30, 80);
}

static void print_options(const struct clew_option *options)
{
	for (const struct clew_option *option = options; option->name; option++) {
		char left[64];
		int n = 0;

		if (option->letter)
			n = snprintf(left, sizeof(left), "-%c, ", option->letter);
		n += snprintf(left + n, sizeof(left) - n, "--%s", option->name);
		if (option->argument)
			snprintf(left + n, sizeof(left) - n, " %s", option->argument);
		print_option(left, option->help);
	}
	print_option("-h, --help", "this text");
}

void clew_options_print_help(const struct clew_command *command)
{
	printf("Usage: clew %s [OPTION..]%s%s\n\n%c%s.\n\nOptions:\n", command->name,
	       command->operands[0] ? " " : "", command->operands, command->summary[0] - 'a' + 'A',
	       command->summary + 1);
	print_options(command->options);
	if (strstr(command->operands, "TRACE"))
		fputs("\nTRACE is a capture that `clew record` made, or a causal trace in "
		      "notation;\n"
		      "\"-\" is standard input.\n",
		      stdout);
	if (takes_default_trace(command))
		puts("Without it, it is " CLEW_DEFAULT_TRACE ".");
	puts("Every command takes --color=auto|always|never and --no-pager, too.");
	printf("\nExamples:\n%s", command->examples);
}

bool clew_options_parse(const struct clew_command *command, int argc, char **argv, void *values,
			char ***ret_operands, int *ret_status)
{
	enum clew_output output = command->output;
	struct getopt_tables tables;
	int value;

	make_tables(command, &tables);
	opterr = 0;
	optind = 0; /* glibc: begin afresh */
	while ((value = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1) {
		const struct clew_option *option;
		const char *argument = optarg;

		if (value == 'h' || value == VALUE_OF_HELP) {
			clew_terminal_begin(CLEW_OUTPUT_PROSE);
			clew_options_print_help(command);
			*ret_status = CLEW_EXIT_DONE;
			return false;
		}
		if (value == '?' || value == ':') {
			*ret_status = complain(command, value, argv[optind - 1]);
			return false;
		}
		option = row_of(command, value);
		if (argument && argument == argv[optind - 1] && is_option(command, argument)) {
			*ret_status = clew_fail(CLEW_EXIT_INPUT,
						"%s: option '--%s' needs an argument: give it %s",
						command->name, option->name, option->argument);
			return false;
		}
		/*
		 * getopt takes an optional argument only behind '='. Here a
		 * number may also be a word of its own.
		 */
		if (!argument && argument_need(option) == optional_argument && optind < argc &&
		    is_number(argv[optind]))
			argument = argv[optind++];
		*ret_status = option->take(option, argument, (char *)values + option->offset);
		if (*ret_status)
			return false;
		if (!strcmp(option->name, "json") || !strcmp(option->name, "html") ||
		    !strcmp(option->name, "csv") || !strcmp(option->name, "live"))
			output = CLEW_OUTPUT_RAW;
	}
	*ret_status =
		check_operands(command, argc, argv, optind > 1 && !strcmp(argv[optind - 1], "--"));
	*ret_operands = argv + optind;
	if (takes_default_trace(command) && !**ret_operands)
		*ret_operands = default_operands;
	if (*ret_status == 0)
		clew_terminal_begin(output);
	return *ret_status == 0;
}

int clew_take_flag(const struct clew_option *option, const char *argument, void *value)
{
	(void)option;
	(void)argument;
	*(bool *)value = true;
	return 0;
}

int clew_take_string(const struct clew_option *option, const char *argument, void *value)
{
	if (!argument[0])
		return clew_fail(CLEW_EXIT_INPUT, "--%s: empty %s: give it one", option->name,
				 option->argument);
	*(const char **)value = argument;
	return 0;
}

int clew_take_number(const struct clew_option *option, const char *argument, void *value)
{
	struct clew_number *number = value;
	unsigned long parsed;

	number->given = true;
	number->value = 1;
	if (!argument)
		return 0;
	errno = 0;
	parsed = strtoul(argument, NULL, 10);
	if (!is_number(argument) || errno || parsed == 0 || parsed > INT32_MAX)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is no number from 1 to %d: give it one", option->name,
				 argument, INT32_MAX);
	number->value = parsed;
	return 0;
}

static int take_time(const struct clew_option *option, const char *argument, uint64_t bare_unit,
		     void *value)
{
	int r = clew_parse_duration(argument, bare_unit, value);

	if (r == -ERANGE)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: '%s' is too long: give at most 580 years",
				 option->name, argument);
	if (r < 0 && is_number(argument))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' has no unit: write %sns, %sus, %sms or %ss",
				 option->name, argument, argument, argument, argument, argument);
	if (r < 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is no duration: write a number and ns, us, ms, s, m "
				 "or h, like 1.25s",
				 option->name, argument);
	return 0;
}

int clew_take_duration(const struct clew_option *option, const char *argument, void *value)
{
	/* Nothing at all needs no unit. */
	return take_time(option, argument, !strcmp(argument, "0"), value);
}

int clew_take_seconds(const struct clew_option *option, const char *argument, void *value)
{
	return take_time(option, argument, 1000000000, value);
}

/*
 * Calls `find` for each word of a list. Returns a mask of the values, or 0
 * after an error.
 */
static uint64_t take_words(const struct clew_option *option, const char *argument,
			   int (*find)(const char *word), const char *(*name)(unsigned value),
			   unsigned count)
{
	const char *known[64];
	uint64_t mask = 0;
	char word[32];
	size_t length;

	for (;; argument += length + 1) {
		int found;

		length = strcspn(argument, ",");
		snprintf(word, sizeof(word), "%.*s", (int)length, argument);
		found = length < sizeof(word) ? find(word) : -1;
		if (found < 0 || (unsigned)found >= count) {
			for (unsigned i = 0; i < count; i++)
				known[i] = name(i);
			clew_fail_word(option->name, argument, length, known, count);
			return 0;
		}
		mask |= UINT64_C(1) << found;
		if (!argument[length])
			return mask;
	}
}

int clew_take_wait_kinds(const struct clew_option *option, const char *argument, void *value)
{
	uint64_t mask = take_words(option, argument, clew_wait_kind_from_name, clew_wait_kind_name,
				   CLEW_WAIT_KIND_COUNT);

	*(uint64_t *)value |= mask;
	return mask ? 0 : CLEW_EXIT_INPUT;
}

int clew_take_edge_types(const struct clew_option *option, const char *argument, void *value)
{
	uint64_t mask = take_words(option, argument, clew_edge_type_from_name, clew_edge_type_name,
				   CLEW_EDGE_TYPE_COUNT);

	*(uint32_t *)value |= (uint32_t)mask;
	return mask ? 0 : CLEW_EXIT_INPUT;
}

int clew_take_returns(const struct clew_option *option, const char *argument, void *value)
{
	static const char *const words[] = {
		[CLEW_RETURNS_AUTO] = "auto",
		[CLEW_RETURNS_TRAMPOLINE] = "trampoline",
		[CLEW_RETURNS_EXITS] = "exits",
		[CLEW_RETURNS_NONE] = "none",
	};

	int found = clew_take_word(option, argument, words, sizeof(words) / sizeof(words[0]));

	if (found < 0)
		return CLEW_EXIT_INPUT;
	*(enum clew_returns_wanted *)value = (enum clew_returns_wanted)found;
	return 0;
}
