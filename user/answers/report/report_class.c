/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations by class of a program that was asked for, and where the time of the longest one
 * of the class that hurts most went.
 */
#include "answers/report/report.h"

#include "explain/went.h"

/* Turns the headline to an operation. */
static void head(struct report *report, const struct clew_kind_operation *operation)
{
	struct clew_went went = {};
	enum clew_spent most;

	clew_went_add(report->trace, operation, &went);
	most = clew_went_most(&went);
	report->by_class = true;
	report->program =
		clew_summary_program(&report->summary, report->trace, operation->operation.task);
	report->spent = most;
	report->cause = UINT32_MAX;
	report->class_ns = went.ns[most];
	report->class_total = operation->operation.to - operation->operation.from;
	report->wait = went.waits[most];
}

int report_add_classes(struct report *report)
{
	const struct clew_operation_classes *found = &report->classes;
	int r = clew_classes_find(report->trace, &report->chosen, report->from, report->to,
				  &report->classes);

	if (r < 0 || !found->class_count)
		return r;
	/* The headline about the program says already where a whole command or start went. */
	if (found->classes[0].kind != CLEW_OPERATION_COMMAND &&
	    found->classes[0].kind != CLEW_OPERATION_START)
		head(report, &found->operations[found->classes[0].first]);
	return 0;
}
