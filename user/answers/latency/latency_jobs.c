/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of logical spans, from submit to end. A span's group is below that of the span, or of
 * the call, in which it was submitted. While it runs its time is its thread's.
 */
#include <errno.h>
#include <stdlib.h>

#include "answers/latency/latency_internal.h"
#include "base/sort.h"
#include "explain/job_chosen.h"

/* The group that a span's is below; CLEW_NO_NUMBER: it is a root. */
static int place_parent(struct clew_latency_names *names, const struct clew_job *job,
			uint32_t *ret_group)
{
	const struct clew_trace_task *task = clew_trace_task(names->trace, job->submitter);
	const struct clew_trace_frame *frame =
		task ? clew_trace_frame_at(names->trace, task->serial, job->begin) : NULL;

	*ret_group = CLEW_NO_NUMBER;
	if (task && latency_run_around(names, task->serial, job->begin, frame ? frame->start : 0,
				       ret_group))
		return 0;
	return frame ? latency_place_frame(names, task, frame, ret_group) : 0;
}

/* A span that was submitted earlier has a group already. */
static int place_job(struct clew_latency_names *names, const struct clew_jobs *jobs,
		     uint32_t number)
{
	const struct clew_job *job = clew_job_at(jobs, number);
	const struct clew_trace_task *task = clew_trace_task(names->trace, job->submitter);
	struct latency_name name = {.name.name = clew_job_name(jobs, job),
				    .name.place = name.place};
	uint32_t parent, group;
	int r = place_parent(names, job, &parent);

	if (r < 0)
		return r;
	snprintf(name.place, sizeof(name.place), "%s.%s", job->runtime->name, job->kind->name);
	if (task)
		latency_take_properties(names, task, job->begin, &name);
	r = clew_latency_place(names->latency, parent, &name.name, &group);
	names->job_groups[number] = group + 1;
	return r;
}

/* Adds the parts of spans' time to `splits`: CLEW_SPLIT_COUNT sums each. */
static int add_splits(const struct clew_trace *trace, const struct clew_jobs *jobs,
		      uint64_t *splits)
{
	struct sort_key *keys = malloc((2 * jobs->pieces.count + 1) * sizeof(*keys));
	struct clew_time_split split = {};
	uint32_t task = CLEW_NO_TASK;
	int r = keys ? 0 : -ENOMEM;

	for (size_t i = 0; i < jobs->pieces.count && r >= 0; i++)
		keys[i] = (struct sort_key){.key = clew_job_piece_at(jobs, i)->task,
					    .index = (uint32_t)i};
	if (r >= 0)
		sort_keys(keys, keys + jobs->pieces.count, jobs->pieces.count);
	for (size_t i = 0; i < jobs->pieces.count && r >= 0; i++) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, keys[i].index);
		uint64_t *of = &splits[(size_t)piece->job * CLEW_SPLIT_COUNT],
			 end = clew_trace_until(trace, piece->end);

		if (piece->kind != CLEW_JOB_RUNS) {
			of[piece->kind == CLEW_JOB_QUEUED ? CLEW_SPLIT_RUNQUEUE
							  : CLEW_SPLIT_OTHER] += end - piece->start;
			continue;
		}
		if (piece->task != task) {
			clew_time_split_done(&split);
			task = piece->task;
			r = clew_time_split_make(trace, task, &split);
		}
		if (r >= 0)
			clew_time_split_add(&split, piece->start, end, of);
	}
	clew_time_split_done(&split);
	free(keys);
	return r;
}

/* True if it is not known how long a span took. */
static bool is_open(const struct clew_job *job)
{
	return !clew_job_asked(job) || job->end == CLEW_TIME_OPEN || job->closed == CLEW_JOB_OPEN ||
	       job->closed == CLEW_JOB_LOST || job->closed == CLEW_JOB_SUPERSEDED;
}

static int add_job(struct clew_latency_names *names, const struct clew_job *job, uint32_t group,
		   const uint64_t *split)
{
	if (group == CLEW_NO_NUMBER) {
		names->latency->unplaced++;
		return 0;
	}
	if (is_open(job)) {
		clew_latency_at(names->latency, group)->open++;
		return 0;
	}
	return clew_latency_add(names->latency, group, job->end - clew_job_asked(job), 0, split);
}

static int add_all(struct clew_latency_names *names, const struct clew_jobs *jobs)
{
	const struct clew_latency_options *options = names->options;
	uint64_t *splits = calloc(jobs->list.count + 1, CLEW_SPLIT_COUNT * sizeof(*splits));
	int r = splits ? add_splits(names->trace, jobs, splits) : -ENOMEM;

	for (uint32_t i = 0; i < jobs->list.count && r >= 0; i++)
		r = place_job(names, jobs, i);
	for (uint32_t i = 0; i < jobs->list.count && r >= 0; i++) {
		const struct clew_job *job = clew_job_at(jobs, i);

		if (clew_job_is_chosen(&options->chosen, jobs, job, options->from, options->to))
			r = add_job(names, job, names->job_groups[i] - 1,
				    &splits[(size_t)i * CLEW_SPLIT_COUNT]);
	}
	free(splits);
	return r;
}

int latency_jobs_gather(struct clew_latency_names *names)
{
	const struct clew_jobs *jobs;
	size_t moments;
	int r;

	clew_trace_moments(names->trace, &moments);
	if (!moments)
		return 0;
	r = clew_relations_new(names->trace, NULL, &names->relations);
	/* Whoever asks for the spans says that their description cannot be read. */
	if (r == -EINVAL)
		return 0;
	jobs = r < 0 ? NULL : clew_relations_jobs(names->relations);
	if (!jobs)
		return r < 0 ? r : 0;
	names->job_groups = calloc(jobs->list.count + 1, sizeof(*names->job_groups));
	return names->job_groups ? add_all(names, jobs) : -ENOMEM;
}

void latency_jobs_done(struct clew_latency_names *names)
{
	free(names->job_groups);
	clew_relations_free(names->relations);
}
