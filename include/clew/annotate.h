/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks where dependencies begin and end, so that positions can name them.
 *
 *	mark incoming dependencies(send) of spans(server/all) as label(request-);
 *	mark outgoing dependencies(all) of spans((^worker)) as label(out-);
 *
 * A rule marks in each of its spans the first such ES, in order of time, with the label and 0,
 * the next with 1 and so on: where an incoming dependency takes effect, the ES's start; of outgoing
 * ones its end. A mark is in the first ES that holds its moment, before other marks of that moment.
 */
#ifndef CLEW_ANNOTATE_H
#define CLEW_ANNOTATE_H

#include <clew/model.h>
#include <clew/query.h>

struct clew_annotation;

/* Compiles rules (docs/annotate.md). -EINVAL: *ret_error says what is wrong at which byte; -ENOMEM.
 */
int clew_annotation_compile(const char *text, size_t size, struct clew_annotation **ret_rules,
			    struct clew_query_error *ret_error);
void clew_annotation_free(struct clew_annotation *rules);
/* How many rules there are, and which bytes of the text are number `rule`. */
uint32_t clew_annotation_count(const struct clew_annotation *rules);
void clew_annotation_rule(const struct clew_annotation *rules, uint32_t rule, size_t *ret_offset,
			  size_t *ret_size);

/*
 * The trace with the marks; all else stays as it is, under its numbers. `options` NULL: the first
 * hierarchy. `ret_marks`: of each rule how many marks it made; may be NULL. The model is the
 * caller's to free.
 *
 * -EINVAL: a rule cannot be applied to this trace, *ret_error says why and at which byte of the
 * text; -EBADMSG: the trace is inconsistent; -E2BIG: more than 2^32 - 2 marks; -ENOMEM.
 */
int clew_annotate(const struct clew_model *model, const struct clew_annotation *rules,
		  const struct clew_query_options *options, struct clew_model **ret_model,
		  uint64_t *ret_marks, struct clew_query_error *ret_error);

#endif
