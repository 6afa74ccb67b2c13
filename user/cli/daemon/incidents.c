/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew incidents: what the daemon's rules fired for, and the explanation of one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/daemon/incidents.h"
#include "cli/daemon/daemon_ask.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "daemon/incident.h"
#include "daemon/place.h"

struct incidents_values {
	const char *directory;
	bool json;
};

const struct clew_option clew_incidents_options[] = {
	{0, "directory", "DIRECTORY", "look there (where the daemon puts them)", clew_take_string,
	 offsetof(struct incidents_values, directory)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct incidents_values, json)},
	CLEW_OPTION_END,
};

/* The explanation of one, and where its files are. */
static int print_one(const struct clew_incident *incident, const char *directory)
{
	char path[4096], line[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/why.txt", directory, incident->id);
	file = fopen(path, "re");
	if (!file)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name another incident", path,
				 strerror(errno));
	printf("%s  %s  %s/%s\n\n", incident->time, incident->rule, directory, incident->id);
	while (fgets(line, sizeof(line), file))
		fputs(line, stdout);
	fclose(file);
	return 0;
}

static int answer(const struct incidents_values *values, const char *id,
		  struct clew_incident *incidents, size_t count)
{
	size_t first = 0;

	/* One is named by its whole name or by its number. */
	for (; id && first < count; first++) {
		char number[24];

		snprintf(number, sizeof(number), "%llu",
			 (unsigned long long)incidents[first].number);
		if (!strcmp(incidents[first].id, id) || !strcmp(number, id))
			break;
	}
	if (id && first == count)
		return clew_fail(CLEW_EXIT_INPUT, "there is no incident '%s': see clew incidents",
				 id);
	if (values->json)
		clew_json_incidents(stdout, incidents + first, id ? 1 : count, values->directory);
	else if (id)
		return print_one(&incidents[first], values->directory);
	else
		clew_print_incidents(stdout, incidents, count);
	return id || count ? CLEW_EXIT_DONE : CLEW_EXIT_NEGATIVE;
}

int clew_command_incidents(const struct clew_command *command, int argc, char **argv)
{
	struct incidents_values values = {};
	struct clew_incident *incidents;
	char **operands, *asked = NULL;
	size_t count;
	int status, r;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!values.directory && clew_place_daemon() > 0) {
		status = clew_daemon_ask("incidents", &asked);
		if (status)
			return status;
		values.directory = asked;
	}
	if (!values.directory)
		values.directory = CLEW_INCIDENTS;
	r = clew_incidents_list(values.directory, &incidents, &count);
	if (r < 0)
		status = clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name another --directory",
				   values.directory, strerror(-r));
	if (!status)
		status = answer(&values, operands[0], incidents, count);
	clew_incidents_free(incidents, count);
	free(asked);
	return status;
}
