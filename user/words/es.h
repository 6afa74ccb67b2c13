/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spans and ESs in the answers about a causal trace.
 */
#ifndef CLEW_WORDS_ES_H
#define CLEW_WORDS_ES_H

#include <clew/model.h>
#include <stdio.h>

#include "format/json.h"

/*
 * Paths of spans. The last one is kept, as neighbours in an answer are often of
 * one span. All members but `model` are zeroed at first.
 */
struct clew_span_names {
	const struct clew_model *model;
	char *path;
	uint32_t span;
};

/* The path of a span, valid until the next call; "" without memory. */
const char *clew_span_name(struct clew_span_names *names, uint32_t span);
void clew_span_names_done(struct clew_span_names *names);

/* The name of the process that a thread's span belongs to, if the thread has another name; NULL: it
 * has the same one, or the span is no thread's. The caller frees it. */
char *clew_span_process(const struct clew_model *model, uint32_t span);
/* Prints the path of a span, and " of PROCESS". A disk has its name instead of its numbers. */
void clew_print_span(FILE *out, struct clew_span_names *names, uint32_t span);
/* Prints the name of a resource that time was charged to; that of a disk as above. */
void clew_print_resource(FILE *out, const struct clew_model *model, const char *name);

/* The fields "span", "process" (null as for clew_span_process()) and "es" (its number in the span)
 * of the open object. */
void clew_json_es_fields(struct clew_json *json, struct clew_span_names *names, uint32_t es);

/* Sorts spans by their order in the trace and drops repetitions. */
void clew_sort_spans(uint32_t *spans, size_t *count);

#endif
