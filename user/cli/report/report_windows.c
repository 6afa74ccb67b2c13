/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew report of a long capture. Each window leaves the times of its tasks, its waits by object,
 * what its requests had of disks, and its longest operations with their causes. See
 * report_windows.h.
 *
 * An operation is of the window in which the wait behind it ends; one that began before that
 * window knows everything is found when the windows are added. Its causes are found when it is
 * known that it is to be shown.
 */
#include "cli/report/report_windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/operand/long_operations.h"
#include "cli/operand/open.h"
#include "cli/operand/windows.h"
#include "cli/report/report_left.h"

/* The picked groups of waits: those for files, for locks, and what the headline is about. */
enum { PICKED_FILES, PICKED_LOCKS, PICKED_HEADLINE, PICKED_COUNT };

struct long_report {
	struct clew_selection *selection;
	struct clew_trace *tasks; /* of the whole capture; NULL: all threads are asked for */
	struct clew_trace *names;
	struct clew_relations *relations; /* there are none, as nothing was announced */
	struct clew_chosen chosen;
	struct clew_task_times times;
	struct vector disks; /* struct report_disk_share */
	struct clew_wait_groups groups;
	struct clew_last_idle last_idle;
	struct report_left_operation operations[REPORT_MOST_OPERATIONS];
	size_t operation_count, operation_total;
	struct clew_wait_groups picked[PICKED_COUNT];
	struct clew_sleep *waits; /* of the picked groups, one after another */
	struct report report;
};

static int look(void *context, struct clew_trace *trace, const struct clew_trace_window *window,
		struct shared *out)
{
	return report_leave(trace, &((const struct long_report *)context)->chosen, window, out);
}

/* ---- in the calling process ---- */

static void free_causes(struct report_left_operation *operation)
{
	for (size_t i = 0; i < operation->it.cause_count; i++)
		free(operation->it.causes[i].text);
	*operation = (struct report_left_operation){};
}

/* Has an operation own its texts. 0 or -ENOMEM. */
static int own_causes(struct report_left_operation *operation)
{
	int r = 0;

	for (size_t i = 0; i < operation->it.cause_count; i++) {
		struct clew_told *cause = &operation->it.causes[i];

		cause->text = strdup(cause->text);
		r = cause->text ? r : -ENOMEM;
	}
	return r;
}

/* Keeps an operation if it is one of the longest. 0 or -ENOMEM. */
static int add_operation(struct long_report *it, const struct report_left_operation *operation)
{
	size_t place = it->operation_count;

	while (place && clew_operation_compare(&operation->it.operation,
					       &it->operations[place - 1].it.operation) < 0)
		place--;
	if (place == REPORT_MOST_OPERATIONS)
		return 0;
	if (it->operation_count == REPORT_MOST_OPERATIONS)
		free_causes(&it->operations[--it->operation_count]);
	memmove(&it->operations[place + 1], &it->operations[place],
		(it->operation_count - place) * sizeof(*it->operations));
	it->operation_count++;
	it->operations[place] = *operation;
	return own_causes(&it->operations[place]);
}

/* Adds the operation that began before a window knows anything, if there is one. 0 or -ENOMEM. */
static int add_ends(struct long_report *it, const struct report_left *left,
		    const struct clew_idle_ends *ends)
{
	struct report_left_operation operation = {};
	int r = clew_last_idle_add(&it->last_idle, ends, left->from, left->to,
				   &operation.it.operation);

	if (r <= 0)
		return r;
	it->operation_total++;
	return add_operation(it, &operation);
}

static int add_disks(struct long_report *it, const struct report_left *left)
{
	struct vector *disks = &it->disks;

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
	struct long_report *it = context;
	int r = add_disks(it, left);

	for (size_t i = 0; i < left->time_count && r == 0; i++)
		r = clew_task_times_add(&it->times, &left->times[i]);
	for (size_t i = 0; i < left->had_cpu_count && r == 0; i++)
		r = clew_task_times_add_cpu(&it->times, (uint32_t)left->had_cpu[i].key,
					    left->had_cpu[i].part, left->had_cpu[i].value);
	it->operation_total += left->operation_total;
	for (size_t i = 0; i < left->operation_count && r == 0; i++)
		r = add_operation(it, &left->operations[i]);
	for (size_t i = 0; i < left->end_count && r == 0; i++)
		r = add_ends(it, left, &left->ends[i]);
	return r < 0 ? r : clew_wait_groups_add(&it->groups, &left->groups);
}

/* ---- the report ---- */

static bool is_picked(void *context, const struct clew_sum_key *key)
{
	const struct report *report = context;

	return report_left_spent(key) == report->spent &&
	       clew_summary_program(&report->summary, report->trace, report_left_task(key)) ==
		       report->program;
}

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

/* Puts the waits of picked groups behind those that are there. The sums' numbers of waits are then
 * indexes there. 0 or -ENOMEM. */
static int place_waits(struct long_report *it, unsigned which, size_t *count,
		       struct clew_sum **ret_sums)
{
	struct clew_wait_groups *picked = &it->picked[which];
	struct clew_sum *sums = clew_wait_groups_sums(picked);

	*ret_sums = sums;
	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < picked->count; i++) {
		it->waits[*count + i] = *clew_wait_groups_wait(picked, (uint32_t)i);
		sums[i].longest += (uint32_t)*count;
	}
	*count += picked->count;
	return 0;
}

static int add_waits(struct long_report *it)
{
	bool (*const wanted[PICKED_COUNT])(void *context, const struct clew_sum_key *key) = {
		[PICKED_FILES] = is_for_files,
		[PICKED_LOCKS] = is_for_locks,
		[PICKED_HEADLINE] = is_picked,
	};
	struct report *report = &it->report;
	struct clew_sum *headline = NULL;
	size_t total = 0, count = 0;
	int r = 0;

	for (unsigned i = 0; i < PICKED_COUNT && r == 0; i++) {
		if (i == PICKED_HEADLINE && !report_wants_wait(report))
			continue;
		r = clew_wait_groups_pick(&it->groups, it->names, wanted[i], report,
					  &it->picked[i]);
		total += it->picked[i].count;
	}
	report->waits = it->waits = malloc((total + 1) * sizeof(*it->waits));
	if (r < 0 || !it->waits)
		return -ENOMEM;
	report->file_count = it->picked[PICKED_FILES].count;
	report->lock_count = it->picked[PICKED_LOCKS].count;
	r = place_waits(it, PICKED_FILES, &count, &report->files);
	if (r == 0)
		r = place_waits(it, PICKED_LOCKS, &count, &report->locks);
	if (r == 0)
		r = place_waits(it, PICKED_HEADLINE, &count, &headline);
	if (r == 0 && it->picked[PICKED_HEADLINE].count)
		report->wait = headline[0].longest;
	free(headline);
	return r;
}

/* Finds the causes of an operation in a trace of that time. */
static int explain(const char *operand, struct report_operation *operation)
{
	struct clew_trace *trace;
	int status = clew_load_interval(operand, "looking at a slow operation",
					operation->operation.from, operation->operation.to, &trace);

	if (status)
		return status;
	if (report_explain(trace, NULL, operation) < 0)
		status = clew_fail_memory();
	clew_trace_free(trace);
	return status;
}

static int add_operations(struct long_report *it, const char *operand)
{
	int status = 0;

	for (size_t i = 0; i < it->operation_count && !status; i++) {
		if (!it->operations[i].told)
			status = explain(operand, &it->operations[i].it);
		/* The report owns the texts. */
		it->report.operations[it->report.operation_count++] = it->operations[i].it;
		it->operations[i].it.cause_count = 0;
	}
	it->report.operation_total = it->operation_total;
	return status;
}

/* ---- */

static bool wants(void *context, const struct clew_trace_task *task)
{
	const struct long_report *it = context;

	/* A window does not know of a task all that the capture says. */
	task = it->tasks ? clew_trace_task(it->tasks, task->serial) : task;
	return task && clew_selection_wants(it->selection, task);
}

static int gather(struct long_report *it, const char *operand, struct clew_reader *reader)
{
	const struct clew_windows_taker taker = {
		.look = look, .add = add, .context = it, .samples = true};
	int status = 0;

	if (clew_selection_chooses(it->selection) ||
	    (it->selection->recorded_first && clew_reader_meta(reader, "command"))) {
		status = clew_windows_names(operand, reader, &it->tasks);
		if (!status)
			status = clew_selection_check(it->selection, it->tasks);
	}
	if (!status)
		status = clew_windows_look(operand, reader, 0, &taker, &it->names);
	if (!status && !it->tasks)
		status = clew_selection_check(it->selection, it->names);
	if (!status)
		status = clew_try_relations(it->names, &it->relations);
	return status;
}

int report_windows_make(const char *operand, struct clew_reader *reader,
			struct clew_selection *selection, struct long_report **ret_made)
{
	struct long_report *it = *ret_made = calloc(1, sizeof(*it));
	int status, r;

	if (!it)
		return clew_fail_memory();
	it->selection = selection;
	it->chosen = (struct clew_chosen){.wants = wants, .context = it};
	it->disks.item = sizeof(struct report_disk_share);
	clew_last_idle_init(&it->last_idle);
	status = gather(it, operand, reader);
	if (status)
		return status;
	r = report_begin(it->names, it->relations, &it->chosen, clew_trace_start(it->names),
			 clew_trace_end(it->names), &it->times, &it->report);
	if (r == 0)
		r = report_add_disks(&it->report, &it->disks);
	if (r == 0)
		r = add_waits(it);
	return r < 0 ? clew_fail_memory() : add_operations(it, operand);
}

const struct report *report_windows_report(const struct long_report *made)
{
	return &made->report;
}

void report_windows_done(struct long_report *made)
{
	if (!made)
		return;
	for (size_t i = 0; i < made->operation_count; i++)
		free_causes(&made->operations[i]);
	for (unsigned i = 0; i < PICKED_COUNT; i++)
		clew_wait_groups_done(&made->picked[i]);
	report_done(&made->report);
	clew_task_times_done(&made->times);
	vector_done(&made->disks);
	clew_wait_groups_done(&made->groups);
	clew_last_idle_done(&made->last_idle);
	free(made->waits);
	clew_relations_free(made->relations);
	clew_trace_free(made->names);
	clew_trace_free(made->tasks);
	free(made);
}
