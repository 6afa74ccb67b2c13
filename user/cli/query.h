/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Patterns and positions as arguments. Functions return 0 or, after clew_fail(), an
 * exit status; of a text that cannot be compiled two more lines show where it goes
 * wrong. `what` names the argument: "pattern", "--from".
 */
#ifndef CLEW_CLI_QUERY_H
#define CLEW_CLI_QUERY_H

#include <clew/query.h>

int clew_compile_query(const char *what, const char *text, struct clew_query **ret_query);

/*
 * Chooses the hierarchy that category paths are meant in: that of a name, or where
 * it is NULL the first. `query`: fails if it has categories and the trace none; may be NULL.
 */
int clew_choose_hierarchy(const struct clew_model *model, const char *name,
			  const struct clew_query *query, uint32_t *ret_hierarchy);

/* The one position that a text means. `hierarchy`: the name of one, or NULL. */
int clew_find_position(const char *what, const char *text, const struct clew_model *model,
		       const char *hierarchy, struct clew_position *ret_position);
/* The spans that a text selects, at least one; a position is refused. The array is the caller's to
 * free. */
int clew_find_spans(const char *what, const char *text, const struct clew_model *model,
		    const char *hierarchy, uint32_t **ret_spans, size_t *ret_count);

/* The two lines behind an error's: a text, and a mark under its byte `offset`. */
void clew_point_at(const char *text, size_t offset);

/* Says what kept a query from being answered. */
int clew_fail_query(const char *what, int error);

#endif
