/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs of a blame, added up by the functions in which the two threads were and by the threads'
 * names without their numbers.
 */
#ifndef CLEW_ANSWERS_PATH_BLAME_FUNCTIONS_H
#define CLEW_ANSWERS_PATH_BLAME_FUNCTIONS_H

#include <clew/blame.h>
#include <stdio.h>

/* One side of a row. */
struct clew_blame_place {
	char *thread;	      /* NULL: a limit */
	const char *function; /* a string of the model; NULL: in none */
	size_t threads;	      /* how many there are */
};

struct clew_blame_row {
	clew_time ns;
	uint32_t kind; /* as in struct clew_blame_pair */
	struct clew_blame_place victim, antagonist;
};

struct clew_blame_rows {
	struct clew_blame_row *rows; /* the largest first */
	size_t count;
};

/* `pairs`: those of clew_blame_find() with `innermost`. 0 or -ENOMEM; clew_blame_rows_done()
 * either way. */
int clew_blame_by_function(const struct clew_model *model, const struct clew_blame_pair *pairs,
			   size_t count, struct clew_blame_rows *ret_rows);
void clew_blame_rows_done(struct clew_blame_rows *rows);

/* Prints "writer in flush() had the disk that worker (3 threads) waited for in store()". */
void clew_print_blame_row(FILE *out, const struct clew_blame_row *row, bool all_running);

#endif
