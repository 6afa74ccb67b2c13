/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds logical spans up by runtime and by what they run. Times are of spans that ended by
 * themselves, or whose part is known: the queue's of those that were seen to be submitted and to
 * start, the total of those that were seen to be submitted and to end.
 */
#include "answers/spans/logical_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"

void clew_job_times(const struct clew_jobs *jobs, const struct clew_job *job,
		    struct clew_job_times *ret)
{
	*ret = (struct clew_job_times){};
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER;) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);
		uint64_t ns = clew_trace_until(jobs->trace, piece->end) - piece->start;

		if (piece->kind == CLEW_JOB_RUNS) {
			bool known = false;

			ret->runs++;
			ret->execution += ns;
			for (uint32_t k = 0; k < ret->thread_count && !known; k++)
				known = ret->threads[k] == piece->task;
			if (!known && ret->thread_count < CLEW_JOB_THREADS)
				ret->threads[ret->thread_count++] = piece->task;
			ret->more_threads |=
				!known && ret->threads[ret->thread_count - 1] != piece->task;
		} else if (piece->kind == CLEW_JOB_QUEUED) {
			ret->queued += ns;
		} else {
			ret->suspended += ns;
			ret->suspensions++;
		}
		i = piece->next;
	}
}

static struct logical_row *row_at(const struct logical_sum *sum, size_t number)
{
	return (struct logical_row *)sum->rows.data + number;
}

static int find_row(struct logical_sum *sum, struct map *places, const struct clew_job *job,
		    struct logical_row **ret)
{
	const char *name = clew_job_name(sum->logical->jobs, job);
	uint64_t key = hash_text(hash_mix(HASH_SEED, (uintptr_t)job->kind), name);
	const uint64_t *known = map_get(places, key, 0);
	int r;

	if (known) {
		*ret = row_at(sum, *known);
		return 0;
	}
	r = vector_reserve(&sum->rows, sum->rows.count + 1);
	if (r < 0)
		return r;
	*ret = row_at(sum, sum->rows.count);
	**ret = (struct logical_row){.runtime = job->runtime,
				     .kind = job->kind,
				     .name = name,
				     .queued = histogram_new(3),
				     .execution = histogram_new(3),
				     .total = histogram_new(3)};
	return map_set(places, key, 0, sum->rows.count++);
}

/* True if the submit, the start and the end of a span were seen, as far as there are any. */
static bool is_built(const struct clew_job *job)
{
	return clew_job_asked(job) &&
	       (job->closed == CLEW_JOB_CANCELED || (job->closed == CLEW_JOB_DONE && job->started));
}

static int add_job(const struct logical_sum *sum, struct logical_row *row,
		   const struct clew_job *job)
{
	const struct clew_jobs *jobs = sum->logical->jobs;
	bool ended = job->closed == CLEW_JOB_DONE || job->closed == CLEW_JOB_CANCELED;
	uint32_t depth = sum->depths[job - clew_job_at(jobs, 0)];
	struct clew_job_times times;
	int r = 0;

	clew_job_times(jobs, job, &times);
	row->count++;
	row->built += is_built(job);
	row->depth = depth > row->depth ? depth : row->depth;
	row->closed[job->closed]++;
	row->no_submit += !clew_job_asked(job);
	row->no_start += job->end != CLEW_TIME_OPEN && !job->started;
	row->late += clew_trace_until(jobs->trace, job->end) - job->begin > CLEW_JOB_LATE_NS;
	row->suspended += times.suspended;
	row->suspensions += times.suspensions;
	for (uint32_t i = 0; i < times.thread_count; i++)
		if (job->submitter != CLEW_NO_TASK && times.threads[i] != job->submitter) {
			row->cross_thread++;
			break;
		}
	row->children += job->parent != CLEW_NO_NUMBER;
	if (job->submitted && job->started)
		r = histogram_add(&row->queued, job->started - job->submitted);
	if (r >= 0 && ended && job->started)
		r = histogram_add(&row->execution, times.execution);
	if (r >= 0 && ended && clew_job_asked(job))
		r = histogram_add(&row->total, job->end - clew_job_asked(job));
	return r;
}

/* The row of all spans of a runtime. NULL: no memory. */
static struct logical_row *total_of(struct logical_sum *sum, const struct clew_runtime *runtime)
{
	struct logical_row *rows = sum->totals.data;

	for (size_t i = 0; i < sum->totals.count; i++)
		if (rows[i].runtime == runtime)
			return &rows[i];
	if (vector_reserve(&sum->totals, sum->totals.count + 1) < 0)
		return NULL;
	rows = sum->totals.data;
	rows[sum->totals.count] = (struct logical_row){.runtime = runtime,
						       .queued = histogram_new(3),
						       .execution = histogram_new(3),
						       .total = histogram_new(3)};
	return &rows[sum->totals.count++];
}

/* A span comes behind the one that submitted it. */
static int find_depths(struct logical_sum *sum)
{
	const struct clew_jobs *jobs = sum->logical->jobs;

	sum->depths = calloc(jobs->list.count + 1, sizeof(*sum->depths));
	for (size_t i = 0; sum->depths && i < jobs->list.count; i++) {
		uint32_t parent = clew_job_at(jobs, i)->parent;

		if (parent < i)
			sum->depths[i] = sum->depths[parent] + 1;
	}
	return sum->depths ? 0 : -ENOMEM;
}

/* Most time first. */
static int by_total(const void *a, const void *b)
{
	const struct logical_row *x = a, *y = b;
	uint64_t left = x->total.sum + x->suspended, right = y->total.sum + y->suspended;

	if (left != right)
		return left < right ? 1 : -1;
	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static int add_wait(struct logical_sum *sum, const struct clew_job_wait *wait)
{
	struct logical_waits *rows = sum->waits.data;
	uint64_t end = logical_wait_end(wait);
	size_t i = 0;

	while (i < sum->waits.count && rows[i].kind != wait->kind)
		i++;
	if (i == sum->waits.count) {
		if (vector_reserve(&sum->waits, i + 1) < 0)
			return -ENOMEM;
		rows = sum->waits.data;
		rows[i] = (struct logical_waits){
			.runtime = wait->runtime, .kind = wait->kind, .length = histogram_new(3)};
		sum->waits.count++;
	}
	rows[i].count++;
	rows[i].woken += wait->to != CLEW_TIME_OPEN;
	return end == CLEW_TIME_OPEN ? 0 : histogram_add(&rows[i].length, end - wait->from);
}

static int add_waits(struct logical_sum *sum)
{
	const struct clew_jobs *jobs = sum->logical->jobs;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < jobs->waits.count; i++) {
		const struct clew_job_wait *wait = (struct clew_job_wait *)jobs->waits.data + i;

		if (clew_logical_wants_wait(sum->logical, wait))
			r = add_wait(sum, wait);
	}
	return r;
}

int logical_sum(const struct clew_logical *logical, struct logical_sum *ret)
{
	struct map places = {};
	int r;

	*ret = (struct logical_sum){.logical = logical,
				    .rows.item = sizeof(struct logical_row),
				    .totals.item = sizeof(struct logical_row),
				    .waits.item = sizeof(struct logical_waits),
				    .queues.item = sizeof(struct logical_queue),
				    .opens.item = sizeof(struct logical_open)};
	r = find_depths(ret);
	for (size_t i = 0; r >= 0 && i < logical->jobs->list.count; i++) {
		const struct clew_job *job = clew_job_at(logical->jobs, i);
		struct logical_row *row;

		if (!clew_logical_wants(logical, job))
			continue;
		ret->count++;
		r = find_row(ret, &places, job, &row);
		r = r < 0 ? r : add_job(ret, row, job);
		row = r < 0 ? NULL : total_of(ret, job->runtime);
		r = row ? add_job(ret, row, job) : -ENOMEM;
	}
	r = r < 0 ? r : add_waits(ret);
	r = r < 0 ? r : logical_queues(ret);
	r = r < 0 ? r : logical_opens(ret);
	map_done(&places);
	if (ret->rows.count > 1)
		qsort(ret->rows.data, ret->rows.count, sizeof(struct logical_row), by_total);
	return r;
}

static void rows_done(struct vector *rows)
{
	struct logical_row *row = rows->data;

	for (size_t i = 0; i < rows->count; i++) {
		histogram_done(&row[i].queued);
		histogram_done(&row[i].execution);
		histogram_done(&row[i].total);
	}
	vector_done(rows);
}

void logical_sum_done(struct logical_sum *sum)
{
	rows_done(&sum->rows);
	rows_done(&sum->totals);
	free(sum->depths);
	for (size_t i = 0; i < sum->waits.count; i++)
		histogram_done(&((struct logical_waits *)sum->waits.data)[i].length);
	vector_done(&sum->waits);
	vector_done(&sum->queues);
	vector_done(&sum->opens);
}

size_t logical_never_seen(const struct clew_logical *logical, const struct clew_runtime *runtime,
			  const struct clew_runtime_span *kind, const char **ret_verbs, size_t most)
{
	uint64_t seen[CLEW_VERBS] = {}, all = 0;
	bool has[CLEW_VERBS] = {};
	size_t count = 0;

	for (size_t i = 0; i < runtime->event_count; i++) {
		const struct clew_runtime_event *event = &runtime->events[i];
		const struct clew_runtime_point *point = &runtime->points[event->point];

		if (&runtime->spans[event->span] != kind || clew_place_is_record(point->kind) ||
		    event->cheap)
			continue;
		has[event->verb] = true;
		seen[event->verb] += logical->jobs->seen[point->number];
		all += logical->jobs->seen[point->number];
	}
	for (unsigned verb = 0; all && verb <= CLEW_VERB_END && count < most; verb++)
		if (has[verb] && !seen[verb] &&
		    (verb == CLEW_VERB_SUBMIT || verb == CLEW_VERB_START || verb == CLEW_VERB_END))
			ret_verbs[count++] = clew_event_verb_word(verb);
	return count;
}
