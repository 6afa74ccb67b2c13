/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins the moments of runtimes to spans, in one pass in order of time.
 */
#include "relate/job_join.h"
#include "relate/job_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* ---- events ---- */

static int take_event(struct join *join, struct taking *taking)
{
	const struct clew_runtime_event *event = taking->event;
	unsigned verb = event->verb;
	uint64_t key = 0, numbers[CLEW_RUNTIME_KEYS] = {}, value;
	uint32_t number;
	const char *text;
	int r = 0;

	if (!job_find_outer(join, taking))
		return 0;
	if (event->outer_kind == CLEW_OUTER_BEHIND)
		r = job_pop_entry(join, taking->happened->task,
				  taking->runtime->points[event->outer].number);
	if (r < 0 || (event->has_condition &&
		      (!job_value(taking, &event->condition, &value, &text) || !value)))
		return r;
	if (event->key_count ? !job_key(join, taking, numbers, &key)
			     : job_running(join, taking, &key) == CLEW_NO_NUMBER) {
		join->jobs->strays += verb == CLEW_VERB_END;
		return 0;
	}
	if (taking->runtime->spans[event->span].lock)
		return job_take_lock(join, taking, key, numbers[0]);
	if (verb == CLEW_VERB_WAIT)
		return job_wait(join, taking, key, numbers[0]);
	if (verb == CLEW_VERB_WAITED)
		return job_waited(join, taking, key);
	if (verb == CLEW_VERB_WAKE)
		return job_wake(join, taking, key);
	if (verb == CLEW_VERB_STATE)
		verb = job_state(taking);
	number = event->key_count ? job_look_up(&join->live, key, 0)
				  : job_running(join, taking, &key);
	if (verb == CLEW_VERB_SUBMIT)
		return job_submit(join, taking, key, numbers, number);
	if (verb == CLEW_VERB_AFTER || verb == CLEW_VERB_NAME) {
		number = job_look_up(&join->known, key, 0);
		return number == CLEW_NO_NUMBER ? 0 : job_describe(join, taking, number);
	}
	if (number == CLEW_NO_NUMBER && verb == CLEW_VERB_START && !job_has_whole(join, taking))
		return 0;
	if (number == CLEW_NO_NUMBER) {
		/* Only what begins, or goes on, makes a span that nobody was seen to submit. */
		if (verb == CLEW_VERB_END || verb == CLEW_VERB_CANCEL || verb == CLEW_VERBS) {
			join->jobs->strays += verb == CLEW_VERB_END &&
					      job_look_up(&join->known, key, 0) == CLEW_NO_NUMBER;
			return 0;
		}
		r = job_new(join, taking, key, numbers, &number);
	}
	return r < 0 ? r : job_take(join, taking, verb, key, number);
}

/* Events at which the points of a runtime are, and of which the outer one is left. */
static int take_happened(struct join *join, const struct clew_runtime *runtime,
			 const struct happened *happened, uint16_t point)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < runtime->event_count; i++) {
		struct taking taking = {
			.runtime = runtime, .event = &runtime->events[i], .happened = happened};

		if (runtime->events[i].point == point)
			r = take_event(join, &taking);
	}
	return r;
}

static bool is_outer(const struct clew_runtime *runtime, uint16_t point)
{
	for (size_t i = 0; i < runtime->event_count; i++)
		if (runtime->events[i].outer == point)
			return true;
	return false;
}

/* The entry of the function that a point leaves; CLEW_RUNTIME_NONE: nobody asks for it. */
static uint16_t entry_of(const struct clew_runtime *runtime, const struct clew_runtime_point *point)
{
	for (uint16_t i = 0; i < runtime->point_count; i++)
		if (runtime->points[i].kind == CLEW_PLACE_ENTER &&
		    runtime->points[i].hidden == point->hidden &&
		    !strcmp(runtime->points[i].object, point->object) &&
		    !strcmp(runtime->points[i].symbol, point->symbol))
			return i;
	return CLEW_RUNTIME_NONE;
}

/* Something that other records have, for runtimes that have it as a point. */
static int take_record(struct join *join, const struct happened *happened, unsigned kind)
{
	const struct clew_layers *layers = join->jobs->layers;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < layers->runtime_count; i++)
		for (uint16_t k = 0; r >= 0 && k < layers->runtimes[i].point_count; k++)
			if (layers->runtimes[i].points[k].kind == kind)
				r = take_happened(join, &layers->runtimes[i], happened, k);
	return r;
}

static int take_moment(struct join *join, const struct happened *happened)
{
	const struct clew_moment *moment = happened->moment;
	const struct clew_runtime *runtime = NULL;
	const struct clew_runtime_point *point =
		clew_runtime_point(join->jobs->layers, moment->point, &runtime);
	uint16_t number, entry;
	int r;

	if (moment->point >= CLEW_MOMENT_RING)
		return take_record(join, happened,
				   moment->point == CLEW_MOMENT_RING ? CLEW_PLACE_RING_SUBMIT
								     : CLEW_PLACE_RING_COMPLETE);
	if (!point)
		return 0;
	join->jobs->seen[moment->point]++;
	number = (uint16_t)(point - runtime->points);
	if (point->kind == CLEW_PLACE_ENTER && is_outer(runtime, number)) {
		r = job_push_entry(join, moment);
		if (r < 0)
			return r;
	}
	r = take_happened(join, runtime, happened, number);
	if (r < 0 || point->kind != CLEW_PLACE_LEAVE)
		return r;
	entry = entry_of(runtime, point);
	if (entry == CLEW_RUNTIME_NONE)
		return r;
	return job_unwind(join, moment->task, runtime->points[entry].number, moment->stack + 1);
}

/* Where records were lost, nobody knows which submit an event belongs to, and who was woken. */
static int take_losses(struct join *join, uint64_t until)
{
	int r = 0;

	for (; join->gaps && join->gap->from < until; join->gap++, join->gaps--) {
		for (size_t i = 0; r >= 0 && i < join->jobs->list.count; i++)
			if (clew_job_at(join->jobs, i)->end == CLEW_TIME_OPEN)
				r = job_close(join, (uint32_t)i, join->gap->from, CLEW_JOB_LOST);
		map_done(&join->live);
		map_done(&join->top);
		map_done(&join->entries);
		map_done(&join->waiting);
		map_done(&join->groups);
		join->live = join->top = join->entries = join->waiting = join->groups =
			(struct map){};
	}
	return r;
}

/* ---- all that happened, in order ---- */

static bool is_thread(const struct clew_trace_task *task)
{
	return task && task->serial && !(task->flags & CLEW_TASK_KTHREAD);
}

static int list_happened(const struct clew_trace *trace, struct happened **ret, size_t *ret_count)
{
	size_t moments, tasks = clew_trace_task_count(trace), count = 0;
	const struct clew_moment *const *all = clew_trace_moments(trace, &moments);
	struct happened *list = calloc(moments + 2 * tasks + 1, sizeof(*list));

	*ret = list;
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < moments; i++)
		if (all[i]->task)
			list[count++] = (struct happened){.moment = all[i],
							  .time = all[i]->header.time,
							  .task = all[i]->task,
							  .kind = CLEW_PLACE_ENTER};
	for (size_t i = 0; moments && i < tasks; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);
		const struct clew_edge *fork =
			is_thread(task) ? clew_trace_fork_of(trace, task->serial) : NULL;

		/* Their times are rounded down. */
		if (fork && task->process != task->serial)
			list[count++] =
				(struct happened){.time = fork->from_at | (CLEW_CLOCK_STEP - 1),
						  .task = fork->from,
						  .child = task->serial,
						  .kind = CLEW_PLACE_FORK};
		if (is_thread(task) && task->death != CLEW_TIME_OPEN)
			list[count++] =
				(struct happened){.time = task->death | (CLEW_CLOCK_STEP - 1),
						  .task = task->serial,
						  .kind = CLEW_PLACE_EXIT};
	}
	*ret_count = count;
	return 0;
}

static int join_all(struct join *join)
{
	struct happened *list;
	struct sort_key *keys = NULL;
	size_t count;
	int r = list_happened(join->jobs->trace, &list, &count);

	if (r >= 0) {
		keys = malloc((2 * count + 1) * sizeof(*keys));
		r = keys ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r >= 0 && i < count; i++)
		keys[i] = (struct sort_key){.key = list[i].time, .index = (uint32_t)i};
	if (r >= 0)
		sort_keys(keys, keys + count, count);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		const struct happened *happened = &list[keys[i].index];

		r = take_losses(join, happened->time);
		if (r >= 0)
			r = happened->moment ? take_moment(join, happened)
					     : take_record(join, happened, happened->kind);
	}
	free(keys);
	free(list);
	return r;
}

static int by_task(const void *a, const void *b)
{
	const struct clew_job_wait *left = a, *right = b;

	if (left->task != right->task)
		return left->task < right->task ? -1 : 1;
	return left->from < right->from ? -1 : left->from > right->from;
}

/* Closes what ended with its process. */
static void close_dead(struct clew_jobs *jobs)
{
	for (size_t i = 0; i < jobs->list.count; i++) {
		struct clew_job *span = clew_job_at(jobs, i);
		const struct clew_trace_task *process = clew_trace_task(jobs->trace, span->process);
		struct clew_job_piece *piece =
			span->last == CLEW_NO_NUMBER ? NULL : clew_job_piece_at(jobs, span->last);

		if (span->end != CLEW_TIME_OPEN || !process || process->death == CLEW_TIME_OPEN)
			continue;
		span->end = process->death > span->begin ? process->death : span->begin;
		span->closed = CLEW_JOB_EXIT;
		if (piece && piece->end == CLEW_TIME_OPEN)
			piece->end = span->end > piece->start ? span->end : piece->start;
	}
}

/* Spans of an earlier segment go on. */
static int take_kept(struct join *join, const struct clew_jobs_kept *kept)
{
	struct clew_jobs *jobs = join->jobs;
	int r = 0;

	for (uint32_t i = 0; i < kept->list.count && r >= 0; i++) {
		const struct clew_job_kept *it = (struct clew_job_kept *)kept->list.data + i;
		struct clew_job *job;

		if (it->runtime >= jobs->layers->runtime_count ||
		    it->kind >= jobs->layers->runtimes[it->runtime].span_count ||
		    vector_reserve(&jobs->list, jobs->list.count + 1) < 0)
			return -ENOMEM;
		job = clew_job_at(jobs, jobs->list.count);
		*job = it->job;
		job->runtime = &jobs->layers->runtimes[it->runtime];
		job->kind = &job->runtime->spans[it->kind];
		job->label = arena_copy(&jobs->arena, job->label, strlen(job->label));
		if (job->submitted_in)
			job->submitted_in = arena_copy(&jobs->arena, job->submitted_in,
						       strlen(job->submitted_in));
		if (!job->label || (it->job.submitted_in && !job->submitted_in))
			return -ENOMEM;
		r = map_set(&join->live, job->joined, 0, ++jobs->list.count);
		r = r < 0 ? r : map_set(&join->known, job->joined, 0, jobs->list.count);
		r = r < 0 ? r
			  : job_begin_piece(join, i, it->piece.kind, it->piece.start,
					    it->piece.task);
		if (r >= 0 && it->piece.kind == CLEW_JOB_RUNS)
			r = map_set(&join->top, it->piece.task, 0, i + 1);
	}
	return r;
}

int clew_jobs_new(const struct clew_trace *trace, const struct clew_layers *layers,
		  struct clew_jobs **ret_jobs)
{
	return clew_jobs_new_behind(trace, layers, NULL, ret_jobs);
}

int clew_jobs_new_behind(const struct clew_trace *trace, const struct clew_layers *layers,
			 const struct clew_jobs_kept *kept, struct clew_jobs **ret_jobs)
{
	struct clew_jobs *jobs = calloc(1, sizeof(*jobs));
	struct join join = {.jobs = jobs, .stack.item = sizeof(struct entry)};
	int r;

	if (!jobs)
		return -ENOMEM;
	jobs->trace = trace;
	jobs->layers = layers;
	jobs->list.item = sizeof(struct clew_job);
	jobs->pieces.item = sizeof(struct clew_job_piece);
	jobs->waits.item = sizeof(struct clew_job_wait);
	jobs->held.item = sizeof(struct clew_job_held);
	jobs->seen = calloc(UINT16_MAX + 1, sizeof(*jobs->seen));
	join.gaps = clew_trace_gaps(trace, clew_trace_start(trace), UINT64_MAX, &join.gap);
	r = !jobs->seen ? -ENOMEM : kept ? take_kept(&join, kept) : 0;
	r = r < 0 ? r : join_all(&join);
	map_done(&join.live);
	map_done(&join.known);
	map_done(&join.top);
	map_done(&join.entries);
	map_done(&join.waiting);
	map_done(&join.groups);
	vector_done(&join.stack);
	if (r >= 0) {
		close_dead(jobs);
		if (jobs->waits.count > 1)
			qsort(jobs->waits.data, jobs->waits.count, jobs->waits.item, by_task);
		job_lock_finish(&join);
	}
	map_done(&join.threads);
	map_done(&join.first);
	if (r < 0) {
		clew_jobs_free(jobs);
		return r;
	}
	*ret_jobs = jobs;
	return 0;
}
