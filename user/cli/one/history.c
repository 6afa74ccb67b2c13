/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew history: since when operations take longer, as the daemon's history has it. */
#include "answers/compare/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "compare/history.h"
#include "daemon/place.h"

#define MOST_CLASSES 3	/* unless some are asked for, */
#define MOST_ASKED   20 /* and then */
#define MOST_HOURS   (24 * (HISTORY_DAYS + 1))

struct history_values {
	const char *class;
	uint64_t last;
	bool json;
};

const struct clew_option clew_history_options[] = {
	{0, "class", "WORDS",
	 "only classes of operations with these words in their names, or a glob for them",
	 clew_take_string, offsetof(struct history_values, class)},
	{0, "last", "DURATION", "so far back (24h)", clew_take_seconds,
	 offsetof(struct history_values, last)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct history_values, json)},
	CLEW_OPTION_END,
};

/* The question and where it is answered. */
struct asking {
	const struct history_values *values;
	const char *directory;
	uint64_t first, end; /* whole hours */
	struct compare all;  /* of the time, for the names of classes */
	struct compare_result found;
	const char **classes;
	struct compare_options options;
	struct clew_history_answer answer;
};

static int fail_to_read(const struct asking *asking, int r)
{
	if (r == -ENOMEM)
		return clew_fail_memory();
	return clew_fail(CLEW_EXIT_INPUT, "%s: %s: name the directory of a history",
			 asking->directory, strerror(-r));
}

/* Chooses the classes with most time. */
static int choose_classes(struct asking *asking)
{
	size_t most = asking->values->class ? MOST_ASKED : MOST_CLASSES, count;
	struct history_found found;
	int r = history_read(asking->directory, asking->first, asking->end, &asking->all,
			     COMPARE_AFTER, &found);

	if (r < 0)
		return fail_to_read(asking, r);
	if (compare_find(&asking->all, &asking->found) < 0)
		return clew_fail_memory();
	count = asking->found.alone_count[COMPARE_AFTER];
	asking->answer.damaged = found.damaged;
	if (!count)
		return clew_fail(CLEW_EXIT_NEGATIVE,
				 "%s has no such operations: ask for a longer time by --last, or "
				 "leave out --class",
				 asking->directory);
	asking->answer.left_out = count > most ? count - most : 0;
	count = count < most ? count : most;
	asking->classes = calloc(count + 1, sizeof(*asking->classes));
	if (!asking->classes)
		return clew_fail_memory();
	for (size_t i = 0; i < count; i++)
		asking->classes[i] = compare_name_at(&asking->all.classes,
						     asking->found.alone[COMPARE_AFTER][i].class)
					     ->text;
	asking->answer.classes = asking->classes;
	asking->answer.class_count = count;
	return 0;
}

/* Compares an hour with the one before it. */
static int find_hour(const struct asking *asking, struct clew_history_hour *hour)
{
	struct history_found found;
	int r;

	compare_begin(&hour->compare, &asking->options);
	r = history_read(asking->directory, hour->from - HISTORY_HOUR, hour->from, &hour->compare,
			 COMPARE_BEFORE, &found);
	if (r == 0)
		r = history_read(asking->directory, hour->from, hour->from + HISTORY_HOUR,
				 &hour->compare, COMPARE_AFTER, &found);
	if (r == 0)
		r = compare_find(&hour->compare, &hour->result);
	return r < 0 ? fail_to_read(asking, r) : 0;
}

static int find_hours(struct asking *asking, struct clew_history_hour *hours)
{
	int status = 0;

	asking->options = (struct compare_options){.only = asking->answer.classes,
						   .only_count = asking->answer.class_count};
	asking->answer.hours = hours;
	for (uint64_t from = asking->first; from < asking->end && !status; from += HISTORY_HOUR) {
		struct clew_history_hour *hour = &hours[asking->answer.hour_count++];

		hour->from = from;
		status = find_hour(asking, hour);
	}
	return status;
}

static int ask(struct asking *asking)
{
	const struct compare_options options = {.class = asking->values->class};
	struct clew_history_hour *hours = calloc(MOST_HOURS + 1, sizeof(*hours));
	int status = hours ? 0 : clew_fail_memory();

	compare_begin(&asking->all, &options);
	if (!status)
		status = choose_classes(asking);
	if (!status)
		status = find_hours(asking, hours);
	if (!status && asking->values->json)
		clew_json_history(stdout, &asking->answer);
	else if (!status)
		clew_print_history(stdout, &asking->answer);
	for (size_t i = 0; i < asking->answer.hour_count; i++) {
		compare_result_done(&hours[i].result);
		compare_done(&hours[i].compare);
	}
	compare_result_done(&asking->found);
	compare_done(&asking->all);
	free(asking->classes);
	free(hours);
	return status;
}

int clew_command_history(const struct clew_command *command, int argc, char **argv)
{
	struct history_values values = {.last = 24 * HISTORY_HOUR};
	struct asking asking = {.values = &values};
	char **operands, *directory;
	uint64_t now;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	directory = operands[0] ? strdup(operands[0]) : clew_place_history();
	if (!directory)
		return clew_fail(CLEW_EXIT_INPUT,
				 "no daemon keeps a history here: write `history "
				 "/var/lib/clew/history` into its configuration, or name a "
				 "directory");
	if (values.last > MOST_HOURS * HISTORY_HOUR)
		values.last = MOST_HOURS * HISTORY_HOUR;
	now = clock_read(CLOCK_REALTIME);
	asking.directory = directory;
	asking.end = now - now % HISTORY_HOUR + HISTORY_HOUR;
	asking.first = asking.end - (values.last + HISTORY_HOUR - 1) / HISTORY_HOUR * HISTORY_HOUR;
	status = ask(&asking);
	free(directory);
	return status;
}
