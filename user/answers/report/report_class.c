/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations by class, the longest ones of the classes that hurt most, and, for a program that
 * was asked for, where the time of the longest one of the first class went.
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

/* Has the longest operation of each of the classes that hurt most shown. */
static void show_longest(struct report *report)
{
	const struct clew_operation_classes *found = &report->classes;

	report->operation_total = found->operation_count;
	for (size_t i = 0;
	     i < found->class_count && report->operation_count < REPORT_MOST_OPERATIONS; i++) {
		const struct clew_operation_class *class = &found->classes[i];

		/* All time of such a class may be in the operations of others. */
		if (class->hurts || !i)
			report->operations[report->operation_count++] = (struct report_operation){
				.operation = found->operations[class->first].operation, .class = i};
	}
}

/* True if the headline is about the longest operation of a class. One about a program says already
 * where a whole command or start went. Without a choice it is about what others waited for. */
static bool is_headed(const struct report *report, const struct clew_operation_class *class,
		      bool command)
{
	if (report->chosen.some)
		return class->kind != CLEW_OPERATION_COMMAND && class->kind != CLEW_OPERATION_START;
	return command && class->hurts &&
	       (class->kind == CLEW_OPERATION_REQUEST || class->kind == CLEW_OPERATION_SERVED ||
		class->kind == CLEW_OPERATION_CONNECT);
}

int report_add_classes(struct report *report, bool whole, bool command)
{
	const struct clew_operation_classes *found = &report->classes;
	int r = clew_classes_find(report->trace, &report->chosen, report->from, report->to,
				  &report->classes);

	if (r < 0 || !found->class_count)
		return r;
	show_longest(report);
	if (whole && is_headed(report, &found->classes[0], command))
		head(report, &found->operations[found->classes[0].first]);
	return 0;
}
