/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A report added up. Each window leaves the times of its tasks, its waits by object, what its
 * requests had of disks, and its longest operations with their causes.
 *
 * An operation is of the window in which the wait behind it ends; one that began before that
 * window knows everything is found when the windows are added. Its causes are found when it is
 * known that it is to be shown.
 */
#include "answers/report/report_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/report/report_left.h"

struct report_sum {
	const struct report_asked *asked;
	struct clew_task_times times;
	struct vector disks; /* struct report_disk_share */
	struct clew_wait_groups groups;
	struct clew_last_idle last_idle;
	struct report_operation operations[REPORT_MOST_OPERATIONS];
	size_t operation_count, operation_total;
	bool alone; /* the trace of the only window is there until the report is made */
};

struct report_sum *report_sum_begin(const struct report_asked *asked)
{
	struct report_sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	sum->asked = asked;
	sum->disks.item = sizeof(struct report_disk_share);
	clew_last_idle_init(&sum->last_idle);
	return sum;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	return report_leave(trace, ((const struct report_sum *)context)->asked, window, out);
}

/* ---- adding windows ---- */

static void free_causes(struct report_operation *operation)
{
	for (size_t i = 0; i < operation->cause_count; i++)
		free(operation->causes[i].text);
	*operation = (struct report_operation){};
}

/* Has an operation own its texts. 0 or -ENOMEM. */
static int own_causes(struct report_operation *operation)
{
	int r = 0;

	for (size_t i = 0; i < operation->cause_count; i++) {
		struct clew_told *cause = &operation->causes[i];

		cause->text = strdup(cause->text);
		r = cause->text ? r : -ENOMEM;
	}
	return r;
}

/* Keeps an operation if it is one of the longest. 0 or -ENOMEM. */
static int add_operation(struct report_sum *sum, const struct report_operation *operation)
{
	size_t place = sum->operation_count;

	while (place && clew_operation_compare(&operation->operation,
					       &sum->operations[place - 1].operation) < 0)
		place--;
	if (place == REPORT_MOST_OPERATIONS)
		return 0;
	if (sum->operation_count == REPORT_MOST_OPERATIONS)
		free_causes(&sum->operations[--sum->operation_count]);
	memmove(&sum->operations[place + 1], &sum->operations[place],
		(sum->operation_count - place) * sizeof(*sum->operations));
	sum->operation_count++;
	sum->operations[place] = *operation;
	return own_causes(&sum->operations[place]);
}

/* Adds the operation that began before a window knows anything, if there is one. 0 or -ENOMEM. */
static int add_ends(struct report_sum *sum, const struct report_left *left,
		    const struct clew_idle_ends *ends)
{
	struct report_operation operation = {};
	int r = clew_last_idle_add(&sum->last_idle, ends, left->from, left->to,
				   &operation.operation);

	if (r <= 0)
		return r;
	sum->operation_total++;
	return add_operation(sum, &operation);
}

static int add_disks(struct report_sum *sum, const struct report_left *left)
{
	struct vector *disks = &sum->disks;

	if (vector_reserve(disks, disks->count + left->disk_count) < 0)
		return -ENOMEM;
	if (left->disk_count)
		memcpy((struct report_disk_share *)disks->data + disks->count, left->disks,
		       left->disk_count * sizeof(*left->disks));
	disks->count += left->disk_count;
	return 0;
}

static int add(void *context, const struct shared *found)
{
	const struct report_left *left = found->root;
	struct report_sum *sum = context;
	int r = add_disks(sum, left);

	sum->alone = left->alone;
	for (size_t i = 0; i < left->time_count && r == 0; i++)
		r = clew_task_times_add(&sum->times, &left->times[i]);
	for (size_t i = 0; i < left->had_cpu_count && r == 0; i++)
		r = clew_task_times_add_cpu(&sum->times, (uint32_t)left->had_cpu[i].key,
					    left->had_cpu[i].part, left->had_cpu[i].value);
	sum->operation_total += left->operation_total;
	for (size_t i = 0; i < left->operation_count && r == 0; i++)
		r = add_operation(sum, &left->operations[i]);
	for (size_t i = 0; i < left->end_count && r == 0; i++)
		r = add_ends(sum, left, &left->ends[i]);
	return r < 0 ? r : clew_wait_groups_add(&sum->groups, &left->groups);
}

struct clew_windows_taker report_sum_taker(struct report_sum *sum)
{
	return (struct clew_windows_taker){
		.look = look, .add = add, .context = sum, .samples = true};
}

/* ---- the report ---- */

static bool is_for_files(void *context, const struct clew_sum_key *key)
{
	(void)context;
	return report_left_spent(key) == CLEW_SPENT_DISK;
}

static bool is_for_locks(void *context, const struct clew_sum_key *key)
{
	(void)context;
	return report_left_spent(key) == CLEW_SPENT_LOCK;
}

/* True for the waits that the headline is about. */
static bool is_headline(void *context, const struct clew_sum_key *key)
{
	const struct report *report = context;

	return report_left_spent(key) == report->spent &&
	       clew_summary_program(&report->summary, report->trace, report_left_task(key)) ==
		       report->program;
}

/* Finds the waits of one kind of group: *ret_sums, whose numbers are those of waits of *picked, is
 * for free(3). 0 or -ENOMEM. */
static int pick(const struct report_sum *sum, struct report *report,
		bool (*wanted)(void *context, const struct clew_sum_key *key),
		struct report_waits *ret_waits)
{
	int r = clew_wait_groups_pick(&sum->groups, report->trace, wanted, report,
				      &ret_waits->groups);

	ret_waits->count = ret_waits->groups.count;
	ret_waits->sums = r < 0 ? NULL : clew_wait_groups_sums(&ret_waits->groups);
	return ret_waits->sums ? 0 : -ENOMEM;
}

static int add_waits(const struct report_sum *sum, struct report *report)
{
	int r = pick(sum, report, is_for_files, &report->files);

	if (r == 0)
		r = pick(sum, report, is_for_locks, &report->locks);
	if (r < 0 || report->program == UINT32_MAX || report->spent <= CLEW_SPENT_READY)
		return r;
	r = pick(sum, report, is_headline, &report->headline);
	if (r == 0 && report->headline.count)
		report->wait = report_longest(&report->headline, 0);
	return r;
}

/* The report owns the texts of operations. */
static int add_operations(struct report_sum *sum, struct report *report)
{
	int r = 0;

	report->operation_total = sum->operation_total;
	for (size_t i = 0; i < sum->operation_count; i++) {
		struct report_operation *operation = &report->operations[report->operation_count++];

		*operation = sum->operations[i];
		sum->operations[i] = (struct report_operation){};
		if (r == 0 && sum->alone)
			r = report_explain(report->trace, report->relations, operation);
	}
	return r;
}

int report_sum_finish(struct report_sum *sum, const struct clew_trace *names,
		      const struct clew_relations *relations, struct report *ret_report)
{
	const struct report_asked *asked = sum->asked;
	uint64_t to = asked->to < UINT64_MAX ? asked->to : clew_trace_end(names);
	int r = report_begin(names, relations, &asked->chosen, asked->from, to, &sum->times,
			     ret_report);

	if (r == 0)
		r = report_add_disks(ret_report, &sum->disks);
	if (r == 0)
		r = add_waits(sum, ret_report);
	if (r == 0)
		r = add_operations(sum, ret_report);
	if (r == 0 && sum->alone)
		r = report_add_functions(ret_report);
	return r == 0 && sum->alone && asked->chosen.some ? report_add_classes(ret_report) : r;
}

void report_sum_free(struct report_sum *sum)
{
	if (!sum)
		return;
	for (size_t i = 0; i < sum->operation_count; i++)
		free_causes(&sum->operations[i]);
	clew_task_times_done(&sum->times);
	vector_done(&sum->disks);
	clew_wait_groups_done(&sum->groups);
	clew_last_idle_done(&sum->last_idle);
	free(sum);
}

int report_make(const struct clew_trace *trace, const struct clew_relations *relations,
		const struct report_asked *asked, struct report *ret_report)
{
	struct report_sum *sum = report_sum_begin(asked);
	struct clew_windows_taker taker = report_sum_taker(sum);
	int r = sum ? clew_windows_alone(trace, &taker) : -ENOMEM;

	*ret_report = (struct report){};
	if (r == 0)
		r = report_sum_finish(sum, trace, relations, ret_report);
	report_sum_free(sum);
	return r;
}
