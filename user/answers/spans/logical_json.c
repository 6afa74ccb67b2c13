/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logical spans in JSON. */
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answers/spans/logical_sum.h"
#include "words/task.h"

static void json_time(struct clew_json *json, const char *key, uint64_t at)
{
	clew_json_maybe(json, key, at && at != CLEW_TIME_OPEN, at);
}

static void json_thread(struct clew_json *json, const char *key, const struct clew_jobs *jobs,
			uint32_t task, uint64_t at)
{
	if (task == CLEW_NO_TASK) {
		clew_json_null(json, key);
		return;
	}
	clew_json_object(json, key);
	clew_json_task_fields(json, jobs->trace, task, at);
	clew_json_object_end(json);
}

/* The number of a span in the list of all, from 0. */
static void json_number(struct clew_json *json, const char *key, uint32_t number)
{
	clew_json_known(json, key, number, CLEW_NO_NUMBER);
}

static void json_piece(struct clew_json *json, const struct clew_jobs *jobs,
		       const struct clew_job_piece *piece)
{
	clew_json_object(json, NULL);
	clew_json_string(json, "state", clew_job_piece_word(piece->kind));
	clew_json_unsigned(json, "start_ns", piece->start);
	json_time(json, "end_ns", piece->end);
	json_thread(json, piece->kind == CLEW_JOB_RUNS ? "thread" : "by", jobs, piece->task,
		    piece->start);
	if (piece->kind == CLEW_JOB_SUSPENDED) {
		clew_json_maybe(json, "why", piece->has_why, piece->why);
		json_number(json, "by_span", piece->waker);
	}
	clew_json_object_end(json);
}

static void json_job(struct clew_json *json, const struct clew_jobs *jobs,
		     const struct clew_job *job)
{
	struct clew_job_times times;

	clew_job_times(jobs, job, &times);
	clew_json_object(json, NULL);
	clew_json_unsigned(json, "span", (uint64_t)(job - clew_job_at(jobs, 0)));
	clew_json_string(json, "runtime", job->runtime->name);
	clew_json_string(json, "kind", job->kind->name);
	clew_json_string(json, "name", clew_job_name(jobs, job));
	clew_json_array(json, "key");
	for (unsigned i = 0; i < job->key_count; i++) {
		char number[32];

		snprintf(number, sizeof(number), "0x%" PRIx64, job->key[i]);
		clew_json_string(json, NULL, number);
	}
	clew_json_array_end(json);
	clew_json_string(json, "closed", clew_job_closed_word(job->closed));
	json_time(json, "submitted_ns", job->submitted);
	json_time(json, "started_ns", job->started);
	json_time(json, "ended_ns", job->end);
	clew_json_bool(json, "late",
		       clew_trace_until(jobs->trace, job->end) - job->begin > CLEW_JOB_LATE_NS);
	json_time(json, "resumed_ns", clew_job_resumed(jobs, job));
	json_thread(json, "submitter", jobs, job->submitter, job->begin);
	json_number(json, "parent", job->parent);
	clew_json_unsigned(json, "origins", job->origins);
	clew_json_maybe(json, "queue", job->has_queue, job->queue);
	clew_json_maybe(json, "status", job->has_status, job->status);
	clew_json_unsigned(json, "queued_ns", times.queued);
	clew_json_unsigned(json, "execution_ns", times.execution);
	clew_json_unsigned(json, "suspended_ns", times.suspended);
	clew_json_array(json, "pieces");
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER; i = clew_job_piece_at(jobs, i)->next)
		json_piece(json, jobs, clew_job_piece_at(jobs, i));
	clew_json_array_end(json);
	clew_json_object_end(json);
}

static void json_histogram(struct clew_json *json, const char *key,
			   const struct histogram *histogram)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = {{"p50_ns", .5}, {"p90_ns", .9}, {"p99_ns", .99}, {"p999_ns", .999}};

	if (!histogram->count) {
		clew_json_null(json, key);
		return;
	}
	clew_json_object(json, key);
	clew_json_unsigned(json, "count", histogram->count);
	clew_json_unsigned(json, "sum_ns", histogram->sum);
	clew_json_unsigned(json, "mean_ns", histogram->sum / histogram->count);
	for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		clew_json_unsigned(json, shares[i].name,
				   histogram_percentile(histogram, shares[i].share));
	clew_json_unsigned(json, "max_ns", histogram->greatest);
	clew_json_object_end(json);
}

static void json_row(struct clew_json *json, const struct logical_row *row)
{
	clew_json_object(json, NULL);
	clew_json_string(json, "runtime", row->runtime->name);
	if (row->kind) {
		clew_json_string(json, "kind", row->kind->name);
		clew_json_string(json, "name", row->name);
	}
	clew_json_unsigned(json, "count", row->count);
	clew_json_unsigned(json, "built", row->built);
	clew_json_number(json, "success_rate", (double)row->built / (double)row->count);
	clew_json_object(json, "closed");
	for (unsigned i = 0; i < CLEW_JOB_CLOSED_COUNT; i++)
		if (row->closed[i])
			clew_json_unsigned(json, clew_job_closed_word(i), row->closed[i]);
	clew_json_object_end(json);
	clew_json_unsigned(json, "no_submit", row->no_submit);
	clew_json_unsigned(json, "no_start", row->no_start);
	clew_json_unsigned(json, "late", row->late);
	clew_json_unsigned(json, "cross_thread", row->cross_thread);
	clew_json_unsigned(json, "children", row->children);
	clew_json_unsigned(json, "depth", row->depth);
	clew_json_unsigned(json, "suspensions", row->suspensions);
	clew_json_unsigned(json, "suspended_ns", row->suspended);
	json_histogram(json, "queued", &row->queued);
	json_histogram(json, "execution", &row->execution);
	json_histogram(json, "total", &row->total);
	clew_json_object_end(json);
}

/* The files in which runtimes were looked for. */
static void json_files(struct clew_json *json, const struct clew_jobs *jobs)
{
	const char *at = clew_trace_meta(jobs->trace, "runtimes");
	struct logical_file file;

	clew_json_array(json, "files");
	while (logical_next_file(&at, &file)) {
		clew_json_object(json, NULL);
		clew_json_string(json, "runtime", file.name);
		clew_json_string(json, "path", file.path);
		clew_json_unsigned(json, "points", file.points);
		clew_json_unsigned(json, "probe_ns", file.ns);
		clew_json_string(json, "refused", *file.why ? file.why : NULL);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

/* The points of each kind of spans, and how often each was met. */
static void json_points(struct clew_json *json, const struct clew_jobs *jobs)
{
	clew_json_array(json, "points");
	for (size_t i = 0; i < jobs->layers->runtime_count; i++)
		for (size_t k = 0; k < jobs->layers->runtimes[i].event_count; k++) {
			const struct clew_runtime *runtime = &jobs->layers->runtimes[i];
			const struct clew_runtime_event *event = &runtime->events[k];
			const struct clew_runtime_point *point = &runtime->points[event->point];

			if (clew_place_is_record(point->kind))
				continue;
			clew_json_object(json, NULL);
			clew_json_string(json, "runtime", runtime->name);
			clew_json_string(json, "kind", runtime->spans[event->span].name);
			clew_json_string(json, "verb", clew_event_verb_word(event->verb));
			clew_json_string(json, "at", point->symbol);
			clew_json_unsigned(json, "seen", jobs->seen[point->number]);
			clew_json_object_end(json);
		}
	clew_json_array_end(json);
}

/* The holders of the lock that was waited for, one after the other. */
static void json_holders(struct clew_json *json, const struct clew_jobs *jobs,
			 const struct clew_job_wait *wait)
{
	uint64_t at = wait->from, end = clew_trace_until(jobs->trace, logical_wait_end(wait));
	struct clew_job_holder holder;

	clew_json_array(json, "holders");
	while (at < end) {
		bool known = clew_job_holder_of(jobs, wait, at, &holder);

		if (known) {
			clew_json_object(json, NULL);
			json_thread(json, "thread", jobs, holder.task, at);
			json_number(json, "span", holder.job);
			clew_json_unsigned(json, "from_ns", at);
			clew_json_unsigned(json, "until_ns", holder.until);
			clew_json_string(json, "evidence",
					 clew_evidence_name(holder.exact ? CLEW_EVIDENCE_EXACT
									 : CLEW_EVIDENCE_OBSERVED));
			clew_json_object_end(json);
		}
		at = holder.until > at ? holder.until : end;
	}
	clew_json_array_end(json);
}

static int json_locks(struct clew_json *json, const struct clew_logical *logical)
{
	const struct clew_jobs *jobs = logical->jobs;
	struct logical_locks locks;
	int r = logical_locks(logical, &locks);
	const struct logical_lock *list = locks.list.data;

	clew_json_array(json, "locks");
	for (size_t i = 0; r >= 0 && i < locks.list.count; i++) {
		const struct clew_job_wait *wait = list[i].wait;
		char object[32];

		clew_json_object(json, NULL);
		clew_json_string(json, "runtime", wait->runtime->name);
		clew_json_string(json, "kind", wait->kind->name);
		clew_json_string(json, "name", wait->label);
		snprintf(object, sizeof(object), "0x%" PRIx64, wait->object);
		clew_json_string(json, "object", object);
		clew_json_unsigned(json, "count", list[i].count);
		clew_json_unsigned(json, "wait_ns", list[i].ns);
		clew_json_unsigned(json, "max_ns", list[i].max);
		clew_json_unsigned(json, "unheld_ns", list[i].unheld);
		clew_json_array(json, "holders");
		for (size_t k = 0; k < list[i].holder_count; k++) {
			clew_json_object(json, NULL);
			clew_json_string(json, "name", list[i].holders[k].name);
			json_thread(json, "thread", jobs, list[i].holders[k].task, wait->from);
			clew_json_unsigned(json, "ns", list[i].holders[k].ns);
			clew_json_unsigned(json, "exact_ns", list[i].holders[k].exact_ns);
			clew_json_object_end(json);
		}
		clew_json_array_end(json);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	logical_locks_done(&locks);
	return r;
}

static void json_wait(struct clew_json *json, const struct clew_jobs *jobs,
		      const struct clew_job_wait *wait)
{
	char number[32];

	clew_json_object(json, NULL);
	clew_json_string(json, "runtime", wait->runtime->name);
	clew_json_string(json, "kind", wait->kind->name);
	snprintf(number, sizeof(number), "0x%" PRIx64, wait->object);
	clew_json_string(json, "object", number);
	json_thread(json, "thread", jobs, wait->task, wait->from);
	clew_json_unsigned(json, "start_ns", wait->from);
	json_time(json, "woken_ns", wait->to);
	json_time(json, "end_ns", wait->over);
	json_thread(json, "by", jobs, wait->waker, wait->to);
	json_number(json, "by_span", wait->job);
	clew_json_known(json, "members", wait->members, 0);
	if (wait->kind->lock) {
		clew_json_string(json, "name", wait->label);
		json_number(json, "span", wait->waiter);
		json_holders(json, jobs, wait);
	}
	clew_json_object_end(json);
}

static void json_waits(struct clew_json *json, const struct clew_logical *logical)
{
	const struct clew_jobs *jobs = logical->jobs;

	clew_json_array(json, "waits");
	for (size_t i = 0; i < jobs->waits.count; i++) {
		const struct clew_job_wait *wait = (struct clew_job_wait *)jobs->waits.data + i;

		if (clew_logical_wants_wait(logical, wait))
			json_wait(json, jobs, wait);
	}
	clew_json_array_end(json);
}

static void json_waited(struct clew_json *json, const struct logical_sum *sum)
{
	const struct logical_waits *rows = sum->waits.data;

	clew_json_array(json, "waits_by_kind");
	for (size_t i = 0; i < sum->waits.count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "runtime", rows[i].runtime->name);
		clew_json_string(json, "kind", rows[i].kind->name);
		clew_json_unsigned(json, "count", rows[i].count);
		clew_json_unsigned(json, "woken", rows[i].woken);
		json_histogram(json, "length", &rows[i].length);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_counts(struct clew_json *json, const char *key, const uint64_t *counts)
{
	clew_json_object(json, key);
	for (unsigned i = 0; i <= CLEW_JOB_SUSPENDED; i++)
		clew_json_unsigned(json, clew_job_piece_word(i), counts[i]);
	clew_json_object_end(json);
}

static void json_queues(struct clew_json *json, const struct logical_sum *sum)
{
	const struct clew_jobs *jobs = sum->logical->jobs;
	const struct logical_queue *queues = sum->queues.data;

	clew_json_array(json, "queues");
	for (size_t i = 0; i < sum->queues.count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "runtime", queues[i].runtime->name);
		clew_json_string(json, "kind", queues[i].kind->name);
		json_thread(json, "process", jobs, queues[i].process, clew_trace_end(jobs->trace));
		if (queues[i].has_queue)
			clew_json_unsigned(json, "queue", queues[i].queue);
		else
			clew_json_null(json, "queue");
		json_counts(json, "most", queues[i].most);
		json_counts(json, "at_end", queues[i].now);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_opens(struct clew_json *json, const struct logical_sum *sum)
{
	const struct clew_jobs *jobs = sum->logical->jobs;
	const struct logical_open *opens = sum->opens.data;

	clew_json_array(json, "open");
	for (size_t i = 0; i < sum->opens.count; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "runtime", opens[i].job->runtime->name);
		clew_json_string(json, "kind", opens[i].job->kind->name);
		clew_json_string(json, "name", opens[i].name);
		clew_json_string(json, "submitted_in", opens[i].in);
		json_thread(json, "submitter", jobs, opens[i].job->submitter, opens[i].job->begin);
		clew_json_unsigned(json, "count", opens[i].count);
		clew_json_unsigned(json, "first_ns", opens[i].job->begin);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

int clew_json_logical(struct clew_json *json, const struct clew_logical *logical)
{
	const struct clew_jobs *jobs = logical->jobs;
	struct logical_sum sum;
	int r = logical_sum(logical, &sum);

	clew_json_object(json, "logical");
	clew_json_unsigned(json, "count", sum.count);
	clew_json_unsigned(json, "stray_ends", jobs->strays);
	clew_json_array(json, "by_runtime");
	for (size_t i = 0; r >= 0 && i < sum.totals.count; i++)
		json_row(json, (const struct logical_row *)sum.totals.data + i);
	clew_json_array_end(json);
	clew_json_array(json, "by_name");
	for (size_t i = 0; r >= 0 && i < sum.rows.count; i++)
		json_row(json, (const struct logical_row *)sum.rows.data + i);
	clew_json_array_end(json);
	json_waited(json, &sum);
	r = r < 0 ? r : json_locks(json, logical);
	json_queues(json, &sum);
	json_opens(json, &sum);
	json_files(json, jobs);
	json_points(json, jobs);
	if (logical->each) {
		clew_json_array(json, "list");
		for (size_t i = 0; r >= 0 && i < jobs->list.count; i++)
			if (clew_logical_wants(logical, clew_job_at(jobs, i)))
				json_job(json, jobs, clew_job_at(jobs, i));
		clew_json_array_end(json);
		json_waits(json, logical);
	}
	clew_json_object_end(json);
	logical_sum_done(&sum);
	return r;
}
