/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One block request of `clew requests`, in JSON and in words. */
#ifndef CLEW_ANSWERS_REQUEST_WORDS_H
#define CLEW_ANSWERS_REQUEST_WORDS_H

#include "relate/relate.h"
#include "trace/trace.h"

#include "format/json.h"

/* The data that the words are made from. */
struct request_words {
	const struct clew_trace *trace;
	const struct clew_trace_request *requests; /* all of the trace */
	struct clew_relations *relations;
};

void request_json(struct clew_json *json, const struct request_words *words,
		  const struct clew_trace_request *request);
void request_print(const struct request_words *words, const struct clew_trace_request *request);

#endif
