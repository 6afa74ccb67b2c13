/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text behind the words of a group of segments. */
#include "answers/why/details.h"

#include <stdio.h>
#include <stdlib.h>

#include "words/functions.h"
#include "words/running.h"
#include "words/samples.h"

char *clew_details_append(char *text, const struct clew_trace *trace,
			  const struct clew_segment *const *segments, size_t count)
{
	struct clew_running running;
	char *longer = NULL;
	size_t size;
	FILE *out = text ? open_memstream(&longer, &size) : NULL;
	int r;

	if (!out) {
		free(text);
		return NULL;
	}
	fputs(text, out);
	free(text);
	clew_running_find(trace, segments, count, &running);
	clew_print_running(out, &running);
	r = clew_print_segment_samples(out, ", ", trace, segments, count);
	if (r >= 0)
		r = clew_print_functions(out, trace, segments, count);
	if (fclose(out) || r < 0) {
		free(longer);
		return NULL;
	}
	return longer;
}
