/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the parts of the consistency check share.
 */
#ifndef CLEW_MODEL_CHECK_INTERNAL_H
#define CLEW_MODEL_CHECK_INTERNAL_H

#include <clew/model_make.h>
#include <model/model_internal.h>

struct check {
	const struct clew_model *model;
	struct clew_problem *problems;
	size_t count, room;
	int r; /* -ENOMEM: nothing more is found */
};

void check_add(struct check *check, const char *kind, bool warning, uint32_t es, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* Of the span that an ES names. */
const char *check_name(const struct check *check, uint32_t es);

void check_cycles(struct check *check);

#endif
