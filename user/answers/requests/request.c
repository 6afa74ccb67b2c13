/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A block request in words and as JSON. */
#include "answers/requests/requests.h"

#include <stdlib.h>

static struct clew_row row_of(const struct request_words *words,
			      const struct clew_trace_request *request)
{
	return (struct clew_row){.trace = words->trace,
				 .item = request,
				 .number = (size_t)(request - words->requests),
				 .context = words};
}

void request_json(struct clew_json *json, const struct request_words *words,
		  const struct clew_trace_request *request)
{
	struct clew_row row = row_of(words, request);

	clew_json_object(json, NULL);
	clew_json_row(json, clew_request_columns, &row);
	clew_json_object_end(json);
	free(row.text);
}

void request_print(const struct request_words *words, const struct clew_trace_request *request)
{
	const struct clew_row row = row_of(words, request);

	clew_print_row(stdout, clew_request_columns, &row);
}
