/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads and prints the lines of the capture's "left_alone": COUNT, REASON, PROVIDER:NAME,
 * PATH with tabs between. Lines of one file are next to each other.
 */
#include "answers/functions/left_alone.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "format/text.h"
#include "opener/opener.h"

#define FILES_SHOWN  8
#define PROBES_SHOWN 4 /* of a file */

struct line {
	uint64_t sites;
	char reason[32];
	char probe[256];
	char path[4096];
};

/*
 * Reads a line and moves *text behind it. False: there is none, or it has
 * another form.
 */
static bool take_line(const char **text, struct line *ret_line)
{
	int length = 0;

	if (!*text ||
	    sscanf(*text, "%" SCNu64 "\t%31[^\t\n]\t%255[^\t\n]\t%4095[^\n]%n", &ret_line->sites,
		   ret_line->reason, ret_line->probe, ret_line->path, &length) != 4)
		return false;
	*text += length;
	*text += **text == '\n';
	return true;
}

static void print_file(FILE *out, const char *before, const char *text, const char *path)
{
	const char *at = text;
	uint64_t sites = 0;
	size_t probes = 0;
	struct line line;

	while (take_line(&at, &line) && !strcmp(line.path, path))
		sites += line.sites;
	fprintf(out, "%s%" PRIu64 " probe%s in ", before, sites, sites == 1 ? "" : "s");
	clew_print_safe(out, path);
	fputs(" left alone, for the program's sake:", out);
	for (at = text; take_line(&at, &line) && !strcmp(line.path, path); probes++) {
		if (probes >= PROBES_SHOWN)
			continue;
		fputs(probes ? ", " : " ", out);
		clew_print_safe(out, line.probe);
		fprintf(out, " (%s", line.reason);
		if (line.sites > 1)
			fprintf(out, ", %" PRIu64 " sites", line.sites);
		putc(')', out);
	}
	if (probes > PROBES_SHOWN)
		fprintf(out, " and %zu more", probes - PROBES_SHOWN);
	putc('\n', out);
}

void clew_print_left_alone(FILE *out, const char *before, const char *text)
{
	char path[sizeof(((struct line *)NULL)->path)] = "";
	const char *at = text, *start = text;
	struct line line;
	size_t files = 0;

	for (; take_line(&at, &line); start = at) {
		if (!strcmp(line.path, path))
			continue;
		strcpy(path, line.path);
		if (files++ < FILES_SHOWN)
			print_file(out, before, start, path);
	}
	if (files > FILES_SHOWN)
		fprintf(out,
			"%sprobes in %zu more files left alone: `clew info --json` lists them\n",
			before, files - FILES_SHOWN);
}

void clew_json_left_alone(struct clew_json *json, const char *key, const char *text)
{
	struct line line;

	clew_json_array(json, key);
	while (take_line(&text, &line)) {
		clew_json_object(json, NULL);
		clew_json_string(json, "path", line.path);
		clew_json_string(json, "probe", line.probe);
		clew_json_string(json, "reason", line.reason);
		clew_json_unsigned(json, "sites", line.sites);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

void clew_print_late_files(FILE *out, const char *before, uint64_t count)
{
	if (count)
		fprintf(out, "%sleft out: %" PRIu64 " file%s that did not open within %d s\n",
			before, count, count == 1 ? "" : "s", CLEW_OPEN_SECONDS);
}
