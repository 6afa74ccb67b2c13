/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says what is different in a slow operation. */
#include "answers/report/report_differs.h"

#include <stdlib.h>

#include "answers/report/report.h"
#include "explain/went.h"
#include "format/text.h"
#include "format/wrap.h"

void clew_print_differs(FILE *out, const struct clew_trace *trace,
			const struct clew_operation_classes *found, size_t class, size_t place,
			size_t width)
{
	struct clew_differs differs[CLEW_SPENT_COUNT];
	size_t count = clew_went_differs(trace, found, class, place, differs);
	char *text = NULL;
	size_t size;
	FILE *stream = count ? open_memstream(&text, &size) : NULL;

	if (!stream)
		return;
	fputs("What is different: it", stream);
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "%s %s for %s (usually %s)", i ? "," : "",
			report_spent_words(differs[i].spent), CLEW_DURATION(differs[i].ns),
			CLEW_DURATION(differs[i].usual_ns));
	fputc('.', stream);
	fclose(stream);
	clew_print_wrapped(out, text, 0, 0, width);
	free(text);
}

void clew_json_differs(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_operation_classes *found, size_t class, size_t place)
{
	struct clew_differs differs[CLEW_SPENT_COUNT];
	size_t count = clew_went_differs(trace, found, class, place, differs);

	clew_json_array(json, "different");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "class", clew_spent_word(differs[i].spent));
		clew_json_unsigned(json, "ns", differs[i].ns);
		clew_json_unsigned(json, "usual_ns", differs[i].usual_ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}
