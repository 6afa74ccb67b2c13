/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Headings of operations by class, by name or by number. */
#include "answers/ask/slowest.h"

#include "answers/classes.h"
#include "answers/report/report_differs.h"
#include "format/text.h"

#define COMMAND_WIDTH 60 /* of a recorded command, as the first line has it */

void clew_print_slowest(FILE *out, const struct clew_trace *trace,
			const struct clew_slowest *slowest, size_t i, size_t width)
{
	if (slowest->classes.class_count) {
		if (!i)
			clew_print_classes(out, trace, &slowest->classes, slowest->class, width);
		fputs("\n== ", out);
		clew_print_class(out, trace, &slowest->classes, slowest->class, true);
		fprintf(out, ", %zu of the %zu slowest, of %zu in all ==\n", i + 1, slowest->count,
			slowest->total);
		clew_print_differs(out, trace, &slowest->classes, slowest->class, i, width);
		return;
	}
	if (!slowest->ask) {
		fprintf(out, "%s== operation %zu of the %zu slowest, of %zu in all%s ==\n",
			i ? "\n" : "", i + 1, slowest->count, slowest->total,
			slowest->between_sleeps ? ", each between two sleeps" : "");
		return;
	}
	fputs("\n== ", out);
	clew_print_asked(out, trace, &slowest->operations[i]);
	if (slowest->count > 1)
		fprintf(out, ": %zu of the %zu slowest", i + 1, slowest->count);
	else if (slowest->total > 1)
		fprintf(out, ": the slowest of %zu", slowest->total);
	fputs(" ==\n", out);
}

int clew_json_slowest(struct clew_json *json, const struct clew_asked_of *in,
		      const struct clew_slowest *slowest)
{
	int r = 0;

	if (slowest->ask)
		r = clew_json_ask(json, slowest->ask, in, slowest->operations, slowest->total);
	if (!slowest->classes.class_count)
		return r;
	clew_json_object(json, "class");
	clew_json_class(json, in->trace, &slowest->classes, slowest->class);
	clew_json_object_end(json);
	clew_json_array(json, "classes");
	for (size_t i = 0; i < slowest->classes.class_count; i++) {
		clew_json_object(json, NULL);
		clew_json_class(json, in->trace, &slowest->classes, i);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	return r;
}

void clew_json_slowest_one(struct clew_json *json, const struct clew_trace *trace,
			   const struct clew_slowest *slowest, size_t i)
{
	if (slowest->ask)
		clew_json_asked(json, trace, &slowest->operations[i]);
	if (slowest->classes.class_count)
		clew_json_differs(json, trace, &slowest->classes, slowest->class, i);
}

void clew_print_about(FILE *out, const struct clew_trace *trace, enum clew_about about)
{
	if (about == CLEW_ABOUT_ALL) {
		fputs("The slowest operation of all threads, as none were chosen (--comm GLOB, "
		      "--tid N, --call NAME and others choose).\n",
		      out);
		return;
	}
	fputs(about == CLEW_ABOUT_SLOWEST ? "The slowest operation of `" : "About `", out);
	clew_print_cut(out, clew_trace_meta(trace, "command"), COMMAND_WIDTH);
	fputs(about == CLEW_ABOUT_SLOWEST ? "` and its children" : "`, which was recorded", out);
	fputs(" (the whole machine: --slowest).\n", out);
}

void clew_json_about(struct clew_json *json, enum clew_about about)
{
	static const char *const words[] = {"slowest", "slowest of the command", "command"};

	clew_json_string(json, "about", words[about]);
}
