/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the parts of the consistency check.
 */
#ifndef CLEW_MODEL_CHECK_INTERNAL_H
#define CLEW_MODEL_CHECK_INTERNAL_H

#include "model/internal.h"
#include <clew/model_make.h>

struct check {
	const struct clew_model *model;
	struct clew_problem *problems;
	size_t count, room;
	int r; /* -ENOMEM: nothing more is found */
};

void check_add(struct check *check, const char *kind, bool warning, uint32_t es, const char *format,
	       ...) __attribute__((format(printf, 5, 6)));
/* The name of the span that an ES names. */
const char *check_name(const struct check *check, uint32_t es);

void check_cycles(struct check *check);

/* Kinds of problems that a model may have. */
enum {
	SUSPECT_TIMES = 1, /* times and owners of ESs */
	SUSPECT_CYCLES = 2,
	SUSPECT_ENDS = 4,
	SUSPECT_SYMMETRY = 8,
	SUSPECT_TRIGGER = 16,
	SUSPECT_NEGATIVE_EDGES = 32,
	SUSPECT_ALL = 63,
};

/* The checks that may find a problem: bits SUSPECT_*. 0 or -ENOMEM. */
int check_quick(const struct clew_model *model, unsigned *ret_suspects);

#endif
