/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks where dependencies begin and end, so that positions can name them.
 *
 *	mark incoming dependencies(send) of spans(server/all) as label(request-);
 *	mark outgoing dependencies(all) of spans((^worker)) as label(out-);
 *
 * In each of its spans a rule marks the ESs that have such a dependency, in
 * order of time, with the label and a number from 0 on. The mark of an incoming
 * dependency is at the ES's start, that of an outgoing one at its end. A mark is
 * in the first ES that contains its moment, before other marks of that moment.
 */
#ifndef CLEW_ANNOTATE_H
#define CLEW_ANNOTATE_H

#include <clew/model.h>
#include <clew/query.h>

struct clew_annotation;

/*
 * Compiles `size` bytes of rules (docs/annotate.md). The result is freed by
 * clew_annotation_free(), and may be used by several threads at once. -EINVAL:
 * *ret_error says what is wrong, at which byte; -ENOMEM.
 */
int clew_annotation_compile(const char *text, size_t size, struct clew_annotation **ret_rules,
			    struct clew_query_error *ret_error);
void clew_annotation_free(struct clew_annotation *rules);
/*
 * The number of rules; and the bytes of the text that are rule number `rule`,
 * from 0.
 */
uint32_t clew_annotation_count(const struct clew_annotation *rules);
void clew_annotation_rule(const struct clew_annotation *rules, uint32_t rule, size_t *ret_offset,
			  size_t *ret_size);

/*
 * Makes a copy of the trace with the marks; everything else keeps its index.
 * `options` NULL: the first hierarchy. `ret_marks`: an array for as many
 * numbers as there are rules, gets how many marks each made; may be NULL.
 * *ret_model is freed by clew_model_free().
 *
 * -EINVAL: a rule cannot be applied to this trace, *ret_error says why, at
 * which byte of the text; -EBADMSG: the trace is inconsistent; -E2BIG: more
 * than 2^32 - 2 marks; -ENOMEM.
 */
int clew_annotate(const struct clew_model *model, const struct clew_annotation *rules,
		  const struct clew_query_options *options, struct clew_model **ret_model,
		  uint64_t *ret_marks, struct clew_query_error *ret_error);

#endif
