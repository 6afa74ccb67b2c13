/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* In which functions the programs of a report ran, by samples of what ran. */
#include <stdlib.h>

#include "answers/report/report.h"
#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/samples.h"

#define MOST_PROGRAMS 5
#define LEAST_SAMPLES 5 /* fewer tell nothing about a program */
#define NAME_WIDTH    20

/* The samples of all chosen tasks of a program. 0 or -ENOMEM. */
static int samples_of(const struct report *report, uint32_t program, struct clew_samples *samples)
{
	size_t count = clew_trace_task_count(report->trace);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		uint32_t serial = clew_trace_task_at(report->trace, i)->serial;

		if (report->summary.program_of[i] == program &&
		    clew_is_chosen(&report->chosen, report->trace, serial))
			r = clew_samples_add(samples, report->trace, serial, report->from,
					     report->to);
	}
	return r;
}

/* One program in its lines; nothing where it has too few samples. True: it has enough. */
static bool print_program(FILE *out, const struct report *report, uint32_t program, size_t width,
			  const char *heading)
{
	struct clew_samples samples = {};
	char *text = NULL, *name = NULL;
	size_t size, name_size;
	FILE *stream = open_memstream(&text, &size), *names = open_memstream(&name, &name_size);
	bool enough = stream && names && samples_of(report, program, &samples) == 0 &&
		      samples.samples.count >= LEAST_SAMPLES &&
		      clew_print_samples(stream, "", report->trace, &samples) == 0;

	if (names)
		clew_print_safe(names, report->summary.programs[program].name);
	if (names)
		fclose(names);
	if (stream)
		fclose(stream);
	enough = enough && text && *text && name;
	if (enough) {
		fputs(heading, out);
		fputs("  ", out);
		clew_print_column(out, name, NAME_WIDTH);
		fputs("  ", out);
		clew_print_wrapped(out, text, NAME_WIDTH + 4, NAME_WIDTH + 4, width);
	}
	free(text);
	free(name);
	clew_samples_done(&samples);
	return enough;
}

void report_print_samples(FILE *out, const struct report *report, size_t width)
{
	char heading[128];
	size_t shown = 0;

	snprintf(heading, sizeof(heading), "\n%sIn which functions programs ran%s\n",
		 clew_style_begin(CLEW_STYLE_HEADING), clew_style_end(CLEW_STYLE_HEADING));
	for (uint32_t i = 0; i < report->summary.count && shown < MOST_PROGRAMS; i++)
		shown += print_program(out, report, i, width, shown ? "" : heading);
}

void report_json_samples(struct clew_json *json, const struct report *report, uint32_t program)
{
	struct clew_samples samples = {};

	if (samples_of(report, program, &samples) == 0)
		clew_json_samples(json, report->trace, &samples);
	clew_samples_done(&samples);
}
