/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says what would help. */
#include <stdlib.h>
#include <string.h>

#include "answers/classes.h"
#include "answers/report/report.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/file.h"
#include "words/object.h"

/* A lock is said to be held over a call if its holder was in that call for so many percent of the
 * time that others waited for it. */
#define LEAST_OVER 80

static void print_name(FILE *out, const struct report *report, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(report->trace, serial);

	clew_print_safe(out, task ? task->comm : "a task");
}

static void print_lock(FILE *out, const struct report *report, const struct clew_change *change)
{
	const char *call = clew_call_name(change->over[0].call);
	bool over = call && change->over[0].ns * 100 >= change->ns * LEAST_OVER;

	if (!over)
		fputs("no wait for ", out);
	if (!clew_print_object(out, report->trace, &change->wait->object, change->wait))
		fputs("the lock", out);
	fputs(over ? " not held over " : ", which ", out);
	if (over)
		fprintf(out, "%s by ", call);
	print_name(out, report, change->task);
	if (!over)
		fputs(" holds", out);
}

static void print_change(FILE *out, const struct report *report, const struct report_help *help)
{
	const struct clew_change *change = &help->change;

	switch ((enum clew_change_kind)change->kind) {
	case CLEW_CHANGE_CPU:
		fputs("one CPU more", out);
		if (!help->alone)
			return;
		fprintf(out, ", %u for ", help->cpus);
		if (report->helps.command)
			fputs("it", out);
		else
			print_name(out, report, change->task);
		fputs(" alone", out);
		return;
	case CLEW_CHANGE_DEVICE:
		fprintf(out, "each request at %s half as long",
			CLEW_DISK(report->trace, change->device));
		return;
	case CLEW_CHANGE_LOCK:
		print_lock(out, report, change);
		return;
	case CLEW_CHANGE_SLEEP:
		fputs("the sleeps of ", out);
		break;
	case CLEW_CHANGE_RUN:
		fputs("the computing of ", out);
		break;
	case CLEW_CHANGE_ANSWER:
		fputs("the answers from outside to ", out);
		break;
	case CLEW_CHANGE_QUOTA:
		fputs("no CPU quota for ", out);
		print_name(out, report, change->task);
		return;
	}
	print_name(out, report, change->task);
	fputs(" half as long", out);
}

static void print_after(FILE *out, const struct report_help *help)
{
	char least[32], most[32];

	clew_format_duration(help->least, least, sizeof(least));
	clew_format_duration(help->most, most, sizeof(most));
	fputs(least, out);
	if (strcmp(least, most))
		fprintf(out, " to %s", most);
}

/* "p99 of 412 requests of wget to 127.0.0.1:80" */
static void print_measured(FILE *out, const struct report *report)
{
	const struct clew_operation_class *class = &report->classes.classes[0];

	if (report->helps.command) {
		fputs("the command", out);
		return;
	}
	if (class->count == 1)
		fputs("the ", out);
	else
		fprintf(out, "%s of %zu ", class->count >= 100 ? "p99" : "the longest",
			class->count);
	clew_print_class(out, report->trace, &report->classes, 0, class->count == 1);
}

/* "one CPU more: the command 8.10 ms -> 4.60 ms", or ": no change". */
static void print_help(FILE *out, const struct report *report, const struct report_help *help)
{
	print_change(out, report, help);
	if (help->no_change) {
		fputs(": no change", out);
		return;
	}
	fputs(": ", out);
	print_measured(out, report);
	fprintf(out, " %s -> ", CLEW_DURATION(report->helps.before));
	print_after(out, help);
}

void report_print_helps(FILE *out, const struct report *report, size_t width)
{
	for (size_t i = 0; i < report->helps.count; i++) {
		const struct report_help *help = &report->helps.list[i];
		char *text = NULL;
		size_t size;
		FILE *stream = open_memstream(&text, &size);

		if (!stream)
			return;
		print_help(stream, report, help);
		fclose(stream);
		fputs("  ", out);
		clew_print_wrapped(out, text, 2, 4, width);
		free(text);
		/* Where a terminal breaks it, it can still be pasted. */
		fprintf(out, "    what-if: %s\n", help->program);
	}
}

static void json_text(struct clew_json *json, const char *key, const struct report *report,
		      const struct report_help *help)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (stream) {
		print_change(stream, report, help);
		fclose(stream);
	}
	clew_json_string(json, key, text);
	free(text);
}

void report_json_helps(struct clew_json *json, const struct report *report)
{
	clew_json_array(json, "would_help");
	for (size_t i = 0; i < report->helps.count; i++) {
		const struct report_help *help = &report->helps.list[i];

		clew_json_object(json, NULL);
		json_text(json, "text", report, help);
		clew_json_string(json, "program", help->program);
		clew_json_unsigned(json, "before_ns", report->helps.before);
		clew_json_unsigned(json, "least_ns", help->least);
		clew_json_unsigned(json, "most_ns", help->most);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}
