/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Patterns that select spans of a causal trace, and positions in them.
 *
 *	s0.0.0/3                          a path of names from a root span
 *	(^fsync)                          root spans whose names begin like that
 *	p0/t0 > all                       what is in a category
 *	a -> all, a => all                what a spawned itself, or in any number of steps
 *	all where total_duration >= duration(5ms) and suspended_duration > duration(1ms)
 *	s0.0.0 @ 50%                      half of its running time is over
 *	all @ (^start$) earliest          the first mark of that label
 *	s0.0.0 @ duration(1.25s)          that long after the start of the trace
 *
 * A compiled query does not depend on a trace. It and the model may be used by
 * any number of threads at once. docs/patterns.md describes the language.
 */
#ifndef CLEW_QUERY_H
#define CLEW_QUERY_H

#include <clew/forest.h>
#include <clew/model.h>

struct clew_query;

/*
 * The error in a text, and at which of its bytes it is; `offset` is 0 .. size, the
 * last being behind the end.
 */
struct clew_query_error {
	size_t offset;
	char message[160]; /* "what is wrong: what to do" */
};

/*
 * Compiles a pattern or a position of `size` bytes, which is freed by
 * clew_query_free(). Parentheses around the whole belong to the pattern: `(x)`
 * is a regular expression, `x` a name. -EINVAL: *ret_error says what is wrong;
 * -ENOMEM.
 */
int clew_query_compile(const char *text, size_t size, struct clew_query **ret_query,
		       struct clew_query_error *ret_error);
void clew_query_free(struct clew_query *query);

/* True if it is a position, not a pattern of spans. */
bool clew_query_is_position(const struct clew_query *query);
/* True if it names categories, so that it needs a hierarchy. */
bool clew_query_has_categories(const struct clew_query *query);
/* True if names and categories alone say which spans it selects: it asks neither for times nor for
 * who started whom. */
bool clew_query_is_by_name(const struct clew_query *query);

struct clew_query_options {
	uint32_t hierarchy; /* index of the hierarchy of category paths; CLEW_NONE: they are ignored
			     */
	/*
	 * For `->` and `=>`; NULL: a forest by the default rules is made when
	 * needed.
	 */
	const struct clew_forest *forest;
	/*
	 * By span: only those that are true are selected, or searched for positions; NULL:
	 * all.
	 */
	const bool *only;
};

/*
 * The spans that a query selects; for a position, the spans that it is searched
 * in. Within one path each span appears once, siblings before their children.
 * Paths that a comma joins follow each other, so that a span may appear twice.
 * `options` NULL: the first hierarchy. The array is the caller's to free (NULL:
 * no span). Returns 0; -ENOMEM; -E2BIG: a regular expression takes too much to
 * decide.
 */
int clew_query_spans(const struct clew_query *query, const struct clew_model *model,
		     const struct clew_query_options *options, uint32_t **ret_spans,
		     size_t *ret_count);

/*
 * The categories that a query's category paths select in the hierarchy; with
 * `span_paths`, a span path without a category path is taken for one. A query
 * with `->` or `=>`, or without a hierarchy, selects none. Order, ownership and
 * errors as above.
 */
int clew_query_categories(const struct clew_query *query, const struct clew_model *model,
			  const struct clew_query_options *options, bool span_paths,
			  uint32_t **ret_categories, size_t *ret_count);

/* A moment, ns, within an ES. */
struct clew_position {
	uint32_t es;
	clew_time at;
};

struct clew_positions {
	struct clew_position *items;
	size_t count;
	size_t outside;	  /* for a moment since the start: how many spans do not reach it */
	size_t suspended; /* and how many were suspended then */
};

/*
 * The positions that a query finds, in order of their spans, then of time. Free
 * them with clew_positions_done(), which also takes a zeroed structure.
 * -EINVAL: it is not a position; else as clew_query_spans().
 */
int clew_query_positions(const struct clew_query *query, const struct clew_model *model,
			 const struct clew_query_options *options,
			 struct clew_positions *ret_positions);
void clew_positions_done(struct clew_positions *positions);

/*
 * A duration with a sign, ns: "1h2m3.5s", "-5ms", "0". It is made of decimal
 * numbers, each with a unit (ns us ms s m h); fractions of a ns are cut off.
 * -EINVAL: not of that form; -ERANGE: too long; *ret_offset is then the byte
 * where it went wrong.
 */
int clew_duration_parse(const char *text, size_t size, clew_time *ret_duration, size_t *ret_offset);

#endif
