/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A block request in a list: in words and as JSON. */
#ifndef CLEW_ANSWERS_REQUESTS_REQUESTS_H
#define CLEW_ANSWERS_REQUESTS_REQUESTS_H

#include "answers/columns.h"
#include "relate/relate.h"

/* The data that the words are made from. */
struct request_words {
	const struct clew_trace *trace;
	const struct clew_trace_request *requests; /* all of the trace */
	struct clew_relations *relations;
};

/* Items are struct clew_trace_request; the context of JSON is struct request_words. */
extern const struct clew_column clew_request_columns[];

void request_json(struct clew_json *json, const struct request_words *words,
		  const struct clew_trace_request *request);
void request_print(const struct request_words *words, const struct clew_trace_request *request);

#endif
