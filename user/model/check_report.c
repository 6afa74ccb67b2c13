/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of problems that a consistency check has found.
 */
#include "model/check_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void check_add(struct check *check, const char *kind, bool warning, uint32_t es, const char *format,
	       ...)
{
	struct clew_problem *problem;
	va_list arguments;

	if (check->r < 0)
		return;
	if (check->count == check->room) {
		size_t room = check->room ? check->room * 2 : 16;
		struct clew_problem *problems = realloc(check->problems, room * sizeof(*problems));

		if (!problems) {
			check->r = -ENOMEM;
			return;
		}
		check->problems = problems;
		check->room = room;
	}
	problem = &check->problems[check->count++];
	*problem = (struct clew_problem){.warning = warning, .span = CLEW_NONE, .es = CLEW_NONE};
	snprintf(problem->kind, sizeof(problem->kind), "%s", kind);
	if (es != CLEW_NONE) {
		problem->span = check->model->es[es].span;
		problem->es = es - check->model->spans[problem->span].elementary.first;
	}
	va_start(arguments, format);
	vsnprintf(problem->message, sizeof(problem->message), format, arguments);
	va_end(arguments);
}

const char *check_name(const struct check *check, uint32_t es)
{
	return clew_model_string(check->model, check->model->spans[check->model->es[es].span].name);
}
