/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations by class, the longest ones of the classes that hurt most, and, for a program that
 * was asked for, where the time of the longest one of the first class went.
 */
#include "answers/report/report.h"

#include "explain/went.h"

/* Turns the headline to an operation. */
static void head(struct report *report, size_t class)
{
	const struct clew_kind_operation *operation =
		&report->classes.operations[report->classes.classes[class].first];
	struct clew_went went = {};
	enum clew_spent most;

	clew_went_add(report->trace, operation, &went);
	most = clew_went_most(&went);
	report->by_class = true;
	report->headed = class;
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

/*
 * The class whose longest operation the headline is about; SIZE_MAX: none. A headline about a
 * program says already where a whole command or start went. Without a choice the headline of a
 * recorded command is about requests, if they hurt for a part of the time that is worth one.
 */
static size_t find_headed(const struct report *report, bool command)
{
	const struct clew_operation_class *all = report->classes.classes;

	if (report->chosen.some)
		return all[0].kind != CLEW_OPERATION_COMMAND && all[0].kind != CLEW_OPERATION_START
			       ? 0
			       : SIZE_MAX;
	for (size_t i = 0; i < report->classes.class_count && command; i++)
		if ((all[i].kind == CLEW_OPERATION_REQUEST ||
		     all[i].kind == CLEW_OPERATION_SERVED ||
		     all[i].kind == CLEW_OPERATION_CONNECT) &&
		    all[i].hurts * 100 >= (report->to - report->from) * REPORT_LEAST_PERCENT)
			return i;
	return SIZE_MAX;
}

int report_add_classes(struct report *report, bool whole, bool command)
{
	const struct clew_operation_classes *found = &report->classes;
	size_t headed;
	int r = clew_classes_find(report->trace, &report->chosen, report->from, report->to,
				  &report->classes);

	if (r < 0 || !found->class_count)
		return r;
	show_longest(report);
	headed = whole ? find_headed(report, command) : SIZE_MAX;
	if (headed != SIZE_MAX)
		head(report, headed);
	return 0;
}
