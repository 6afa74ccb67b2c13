/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A report added up. Each window leaves the times of its tasks, its waits by object, what its
 * requests had of disks. Operations are found in the trace of all names, which has what separates
 * them; their causes are found when it is known which ones are shown.
 */
#include "answers/report/report_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/report/report_left.h"

struct report_sum {
	const struct report_asked *asked;
	struct clew_task_times times;
	struct clew_task_times machine; /* of all tasks, if a recorded command was asked about */
	struct vector disks;		/* struct report_disk_share */
	struct clew_wait_groups groups;
	bool alone; /* the trace of the only window is there until the report is made */
};

struct report_sum *report_sum_begin(const struct report_asked *asked)
{
	struct report_sum *sum = calloc(1, sizeof(*sum));

	if (!sum)
		return NULL;
	sum->asked = asked;
	sum->disks.item = sizeof(struct report_disk_share);
	return sum;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	return report_leave(trace, ((const struct report_sum *)context)->asked, window, out);
}

/* ---- adding windows ---- */

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

static int add_times(struct clew_task_times *times, const struct report_left_times *left)
{
	int r = 0;

	for (size_t i = 0; i < left->count && r == 0; i++)
		r = clew_task_times_add(times, &left->times[i]);
	for (size_t i = 0; i < left->had_cpu_count && r == 0; i++)
		r = clew_task_times_add_cpu(times, (uint32_t)left->had_cpu[i].key,
					    left->had_cpu[i].part, left->had_cpu[i].value);
	return r;
}

static int add(void *context, const struct shared *found)
{
	const struct report_left *left = found->root;
	struct report_sum *sum = context;
	int r = add_disks(sum, left);

	sum->alone = left->alone;
	if (r == 0)
		r = add_times(&sum->times, &left->chosen);
	if (r == 0)
		r = add_times(&sum->machine, &left->machine);
	return r < 0 ? r : clew_wait_groups_add(&sum->groups, &left->groups);
}

struct clew_windows_taker report_sum_taker(struct report_sum *sum)
{
	return (struct clew_windows_taker){
		.look = look, .add = add, .context = sum, .samples = true, .works = true};
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

/* The headline about all threads, beside a report about a recorded command. */
static int add_machine(struct report_sum *sum, struct report *report)
{
	const struct clew_chosen all = {};
	struct report machine = {};
	int r = report_begin(report->trace, report->relations, &all, report->from, report->to,
			     &sum->machine, &machine);

	if (r == 0) {
		report->machine = report_headline(&machine);
		r = report->machine ? 0 : -ENOMEM;
	}
	report_done(&machine);
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
	if (r == 0 && sum->alone)
		r = report_add_functions(ret_report);
	if (r == 0)
		r = report_add_classes(ret_report, sum->alone, asked->command);
	for (size_t i = 0; i < ret_report->operation_count && r == 0 && sum->alone; i++)
		r = report_explain(names, relations, &ret_report->operations[i]);
	if (r == 0)
		ret_report->deadlock = report_find_deadlock(ret_report);
	if (r == 0 && asked->command)
		r = add_machine(sum, ret_report);
	return r == 0 && sum->alone ? report_find_helps(ret_report, asked->command) : r;
}

void report_sum_free(struct report_sum *sum)
{
	if (!sum)
		return;
	clew_task_times_done(&sum->times);
	clew_task_times_done(&sum->machine);
	vector_done(&sum->disks);
	clew_wait_groups_done(&sum->groups);
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
