/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files that lines were looked for in. */
#include "words/lines.h"

#include "format/text.h"

static const struct {
	const char *word;
	const char *text;
} states[CLEW_LINES_STATES] = {
	[CLEW_LINES_FOUND] = {"found", NULL},
	[CLEW_LINES_NONE] = {"none", "its debugging information is not here"},
	[CLEW_LINES_GONE] = {"gone", "it is not at its path any more"},
	[CLEW_LINES_CHANGED] = {"changed", "another file is at its path now"},
	[CLEW_LINES_UNASKED] = {"unasked",
				"no server could be asked for its debugging information"},
	[CLEW_LINES_OTHER] = {"other", "its debugging information is that of another build"},
	[CLEW_LINES_SHARED] = {"shared", "a part of its debugging information is missing"},
	[CLEW_LINES_UNREADABLE] = {"unreadable", "its debugging information is damaged"},
	[CLEW_LINES_UNNAMED] = {"unnamed", "it has no build-id"},
};

void clew_print_lines_told(FILE *out, const struct clew_trace *trace)
{
	size_t count, found = 0;
	const struct clew_lines_file *files = clew_trace_lines_files(trace, &count);

	for (size_t i = 0; i < count; i++)
		found += files[i].state == CLEW_LINES_FOUND;
	if (count)
		fprintf(out, "Lines of %zu of %zu file%s\n", found, count, count == 1 ? "" : "s");
	for (size_t i = 0; i < count; i++) {
		if (files[i].state == CLEW_LINES_FOUND)
			continue;
		fputs("  none of ", out);
		clew_print_safe(out, files[i].path);
		fprintf(out, ": %s\n", states[files[i].state].text);
	}
}

void clew_json_lines_told(struct clew_json *json, const struct clew_trace *trace)
{
	size_t count;
	const struct clew_lines_file *files = clew_trace_lines_files(trace, &count);

	if (!clew_trace_has_lines(trace))
		return;
	clew_json_array(json, "lines");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "object", files[i].path);
		clew_json_string(json, "state", states[files[i].state].word);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}
