/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The logical spans of a trace that was read, and the frames that they replace: while a span runs,
 * the outermost activation of the function that it runs is the same piece of work.
 */
#include "relate/job_kept.h"

#include <errno.h>
#include <string.h>

#include "trace/frames.h"

static bool is_of(const struct clew_trace *trace, const struct clew_trace_frame *frame,
		  const char *name)
{
	const struct clew_trace_function *function = clew_trace_function(trace, frame->function);

	return function && !strcmp(function->title, name);
}

/* True if a frame is in another one of the same function that the run has, too. */
static bool is_inner(const struct clew_trace *trace, const struct clew_trace_frame *frame,
		     const char *name, uint64_t from)
{
	while ((frame = clew_trace_frame_parent(trace, frame)) && frame->start >= from)
		if (is_of(trace, frame, name))
			return true;
	return false;
}

static void replace_in(struct clew_trace *trace, const struct clew_job_piece *run, const char *name)
{
	size_t count, low = 0, high;
	const struct clew_trace_frame *frames = clew_trace_frames(trace, run->task, &count);

	for (high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (frames[middle].start < run->start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && frames[low].start < run->end; low++)
		if (is_of(trace, &frames[low], name) &&
		    !is_inner(trace, &frames[low], name, run->start))
			clew_trace_replace_frame(trace, &frames[low]);
}

static void replace_all(struct clew_trace *trace, const struct clew_jobs *jobs)
{
	for (size_t i = 0; i < jobs->pieces.count; i++) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);
		const struct clew_job *job = clew_job_at(jobs, piece->job);
		const char *name = piece->kind == CLEW_JOB_RUNS && job->code
					   ? clew_trace_code(trace, job->process, job->code)
					   : NULL;

		if (name)
			replace_in(trace, piece, name);
	}
}

/* True if a segment begins where the one before ended. */
static bool follows(const struct clew_trace *trace, const struct clew_jobs_kept *kept)
{
	return kept && kept->end && clew_trace_start(trace) < kept->end + CLEW_SEGMENT_NEAR;
}

int clew_jobs_join(struct clew_trace *trace)
{
	return clew_jobs_join_behind(trace, NULL);
}

int clew_jobs_join_behind(struct clew_trace *trace, const struct clew_jobs_kept *kept)
{
	const char *text = clew_trace_meta(trace, "layers");
	struct clew_layers *layers = NULL;
	struct clew_jobs *jobs = NULL;
	char message[300];
	int r;

	if (!text)
		return 0;
	r = clew_layers_read(text, strlen(text), "layers", &layers, message, sizeof(message));
	if (r >= 0 && layers->runtime_count)
		r = clew_jobs_new_behind(trace, layers, follows(trace, kept) ? kept : NULL, &jobs);
	if (r < 0 || !jobs) {
		clew_layers_free(layers);
		return r == -EINVAL ? 0 : r;
	}
	jobs->own = layers;
	clew_trace_keep_jobs(trace, jobs, clew_jobs_free);
	if (clew_trace_has_frames(trace))
		replace_all(trace, jobs);
	return 0;
}
