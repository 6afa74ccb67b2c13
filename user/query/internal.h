/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A query as it was written: lists in an arena, in the order of the text. Nothing
 * here belongs to a trace, and nothing changes once it is compiled.
 */
#ifndef CLEW_QUERY_INTERNAL_H
#define CLEW_QUERY_INTERNAL_H

#include "base/vector.h"
#include "query/regex.h"
#include <clew/query.h>
#include <errno.h>

enum fragment_kind {
	FRAGMENT_NAME,
	FRAGMENT_REGEX,
	FRAGMENT_ONE,	 /* one level of any name */
	FRAGMENT_LEVELS, /* any number of levels; never two in a row */
};

struct fragment {
	struct fragment *next;
	enum fragment_kind kind;
	const char *name;
	struct regex *regex; /* the query's */
};

struct path {
	struct fragment *first;
	size_t count; /* 0: there is no path */
};

/* Category path > span path. */
struct spec {
	struct spec *next;
	struct path category;
	struct path spans;
};

enum spawning { SPAWNING_NONE, SPAWNING_DIRECT, SPAWNING_ANY_DEPTH };

/* The right side of one of the operators -> and =>, or the first stage of a pattern. */
struct stage {
	struct stage *next;
	enum spawning spawning;
	struct spec *specs;
};

enum condition_kind { CONDITION_COMPARE, CONDITION_AND, CONDITION_OR };
enum metric { METRIC_TOTAL, METRIC_SUSPENDED, METRIC_SELF, METRIC_TOTAL_UNSUSPENDED };
enum comparison {
	COMPARE_EQUAL,
	COMPARE_UNEQUAL,
	COMPARE_GREATER,
	COMPARE_AT_LEAST,
	COMPARE_LESS,
	COMPARE_AT_MOST
};

struct condition {
	struct condition *next;	 /* in the and, or that it is of */
	struct condition *first; /* of an and, or */
	enum condition_kind kind;
	enum metric metric;
	enum comparison comparison;
	clew_time duration;
};

enum place { PLACE_NONE, PLACE_PERCENT, PLACE_MARK, PLACE_MOMENT };
enum policy { POLICY_ALL, POLICY_EARLIEST, POLICY_LATEST };

struct owned_regex {
	struct owned_regex *next;
	struct regex *regex;
};

struct clew_query {
	struct arena arena;
	struct owned_regex *regexes;
	struct stage *stages;
	struct condition *condition; /* NULL: none */
	bool has_categories;
	enum place place; /* PLACE_NONE: a pattern of spans */
	enum policy policy;
	/* For PLACE_PERCENT: the whole part and the digits behind the point. */
	uint32_t percent;
	const char *decimals;
	struct regex *mark;
	clew_time moment; /* since the start of the trace */
};

/* The findings of one evaluation as it goes. */
struct evaluation {
	const struct clew_query *query;
	const struct clew_model *model;
	const struct clew_forest *forest;
	struct clew_forest *own_forest;
	uint32_t hierarchy;
	const bool *only; /* as in struct clew_query_options */
	struct regex_scratch *scratch;
	clew_time *unsuspended; /* of each span with all below it; NULL until wanted */
};

/* Numbers of spans or categories. */
struct list {
	uint32_t *items;
	size_t count;
	size_t capacity;
};

/* 0 or -ENOMEM. */
int query_list_grow(struct list *list);

static inline int query_list_append(struct list *list, uint32_t item)
{
	if (list->count == list->capacity && query_list_grow(list) < 0)
		return -ENOMEM;
	list->items[list->count++] = item;
	return 0;
}

/* ---- match.c ---- */

/* Appends the spans that a path selects below `roots`, below all root spans where that is NULL;
 * each once. */
int query_match_spans(struct evaluation *evaluation, const struct path *path,
		      const struct list *roots, struct list *spans);
/* The same of the hierarchy's categories. */
int query_match_categories(struct evaluation *evaluation, const struct path *path,
			   struct list *categories);

/* ---- condition.c ---- */

/* Keeps the spans for which a condition holds, in order. */
int query_filter(struct evaluation *evaluation, const struct condition *condition,
		 struct list *spans);

/* Lengths of a span's ESs added up. */
clew_time query_span_running(const struct clew_model *model, uint32_t span);

#endif
