/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Classes of operations in words and in JSON. */
#include "answers/classes.h"

#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "format/wrap.h"
#include "words/class.h"
#include "words/task.h"

#define MOST_OTHERS 3

static const struct clew_kind_operation *first_of(const struct clew_operation_classes *found,
						  size_t class)
{
	return &found->operations[found->classes[class].first];
}

void clew_print_class(FILE *out, const struct clew_trace *trace,
		      const struct clew_operation_classes *found, size_t class, bool one)
{
	clew_print_class_of(out, trace, first_of(found, class), one);
}

void clew_print_usual(FILE *out, const struct clew_operation_class *class)
{
	if (!class->usual)
		return;
	if (class->usual == class->p50)
		fprintf(out, ", usually %s (p50 of %zu)", CLEW_DURATION(class->usual),
			class->count);
	else
		fprintf(out, ", the shortest of %zu took %s", class->count,
			CLEW_DURATION(class->usual));
}

/* True if there may be more requests, for which no thread waited. */
static bool is_of_waits(const struct clew_operation_class *class)
{
	return (class->kind == CLEW_OPERATION_REQUEST || class->kind == CLEW_OPERATION_SERVED) &&
	       !class->messages;
}

static void print_all(FILE *out, const struct clew_trace *trace,
		      const struct clew_operation_classes *found, size_t class)
{
	const struct clew_operation_class *it = &found->classes[class];
	unsigned shown = 0;

	if (it->count > 1) {
		fprintf(out, "The slowest of %zu ", it->count);
		clew_print_class(out, trace, found, class, false);
	} else {
		fputs("The only ", out);
		clew_print_class(out, trace, found, class, true);
	}
	fprintf(out, " that %s: %s",
		is_of_waits(it) ? "somebody waited for" : "the recording shows",
		CLEW_DURATION(it->longest));
	clew_print_usual(out, it);
	fputc('.', out);
	for (size_t i = 0; i < found->class_count && shown < MOST_OTHERS; i++) {
		const struct clew_operation_class *other = &found->classes[i];

		if (i == class)
			continue;
		fprintf(out, "%s%zu ", shown++ ? "; " : " Beside these: ", other->count);
		clew_print_class(out, trace, found, i, other->count == 1);
		fprintf(out, " up to %s (--class %s)", CLEW_DURATION(other->longest),
			clew_operation_kind_name(other->kind));
	}
	if (shown)
		fputc('.', out);
	if (first_of(found, class)->begun_before)
		fputs(" It was under way when the recording began.", out);
	if (first_of(found, class)->goes_on)
		fputs(" It was under way when the recording ended.", out);
}

void clew_print_classes(FILE *out, const struct clew_trace *trace,
			const struct clew_operation_classes *found, size_t class, size_t width)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	print_all(stream, trace, found, class);
	fclose(stream);
	clew_print_wrapped(out, text, 0, 0, width);
	free(text);
}

/* Names other threads that did something then. */
static void print_others(FILE *out, const struct clew_trace *trace,
			 const struct clew_operation_classes *found,
			 const struct clew_kind_operation *one)
{
	uint32_t named[MOST_OTHERS];
	unsigned count = 0;

	for (size_t i = 0; i < found->operation_count && count < MOST_OTHERS; i++) {
		uint32_t task = found->operations[i].operation.task;
		bool known = task == one->operation.task;

		for (unsigned k = 0; k < count && !known; k++)
			known = named[k] == task;
		if (known)
			continue;
		fputs(count ? ", " : "; others are ", out);
		clew_print_task(out, trace, task, found->operations[i].operation.to);
		named[count++] = task;
	}
	if (count)
		fputs(" (--tid)", out);
}

void clew_print_one_of_several(FILE *out, const struct clew_trace *trace,
			       const struct clew_operation_classes *found,
			       const struct clew_kind_operation *one, size_t width)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	fputs("Several threads did something then. This is the ", stream);
	clew_print_class(stream, trace, found, one->class, true);
	fputs(" that the interval overlaps most, of ", stream);
	clew_print_task(stream, trace, one->operation.task, one->operation.to);
	print_others(stream, trace, found, one);
	fputc('.', stream);
	fclose(stream);
	clew_print_wrapped(out, text, 0, 0, width);
	fputc('\n', out);
	free(text);
}

void clew_json_class(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_operation_classes *found, size_t class)
{
	const struct clew_operation_class *it = &found->classes[class];
	const struct clew_trace_task *process = clew_trace_task(trace, it->program);
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (stream) {
		clew_print_class(stream, trace, found, class, false);
		fclose(stream);
	}
	clew_json_string(json, "kind", clew_operation_kind_name(it->kind));
	clew_json_string(json, "program", process ? process->comm : NULL);
	clew_json_string(json, "text", text);
	clew_json_bool(json, "messages", it->messages);
	clew_json_unsigned(json, "count", it->count);
	clew_json_unsigned(json, "total_ns", it->sum);
	clew_json_unsigned(json, "p50_ns", it->p50);
	clew_json_unsigned(json, "p99_ns", it->p99);
	clew_json_unsigned(json, "max_ns", it->longest);
	clew_json_known(json, "usual_ns", it->usual, 0);
	free(text);
}
