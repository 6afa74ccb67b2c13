/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Patterns and positions as arguments. Functions return 0 or, after
 * clew_fail(), an exit status. For a text that cannot be compiled, two more
 * lines show where it goes wrong. `what` is the argument's name: "pattern",
 * "--from".
 */
#ifndef CLEW_CLI_OPERAND_QUERY_H
#define CLEW_CLI_OPERAND_QUERY_H

#include <clew/query.h>

int clew_compile_query(const char *what, const char *text, struct clew_query **ret_query);

/*
 * Chooses the hierarchy of category paths: the one with this name, or the first
 * if `name` is NULL. Fails if `query` (may be NULL) has categories and the
 * trace has no hierarchy.
 */
int clew_choose_hierarchy(const struct clew_model *model, const char *name,
			  const struct clew_query *query, uint32_t *ret_hierarchy);

/* Where patterns search. */
struct clew_scope {
	const char *hierarchy; /* the one that category paths mean; NULL: the first */
	const bool *only;      /* by span: those that may be chosen; NULL: all */
};

/*
 * Finds the positions that --from and --to mean, one each. They may have moments as in moment.h.
 */
int clew_find_ends(const char *from, const char *to, const struct clew_model *model,
		   const struct clew_scope *scope, struct clew_position *ret_from,
		   struct clew_position *ret_to);
/*
 * Finds the spans that a text selects, at least one; a position is refused. The
 * array is the caller's to free.
 */
int clew_find_spans(const char *what, const char *text, const struct clew_model *model,
		    const struct clew_scope *scope, uint32_t **ret_spans, size_t *ret_count);
/*
 * The spans without parents of a scope, in order. The array is the caller's to free; NULL: no
 * memory.
 */
uint32_t *clew_scope_roots(const struct clew_model *model, const struct clew_scope *scope,
			   size_t *ret_count);

/* True if a pattern selects threads by their names alone; NULL selects all threads. */
bool clew_is_by_name(const char *pattern);

/* Prints two lines: a text, and a mark under its byte `offset`. */
void clew_point_at(const char *text, size_t offset);

/* Reports why a query could not be answered. */
int clew_fail_query(const char *what, int error);

#endif
