/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the frames of traced functions that become spans, and their intervals. Frames that are
 * spans lie within the one that they were called in, and those of one caller follow each other: a
 * task has one function at a time. The others are added up for the span that is nearest above them.
 * These are the shortest ones if there are too many, frames without a length, and frames of
 * coroutines that go on while others of their task do.
 *
 * Runs of logical spans become spans in the same way, in the frame or the run that they lie in, and
 * frames lie in runs. A frame that a run replaces becomes none: what it called is the run's.
 *
 * A task enters and leaves functions while it runs. A moment that lies in a gap of the task's
 * time, because clocks differ or records were lost, moves to the nearer end of the gap.
 */
#include "convert/to_model.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* State that is only known while the plan of one task is made. */
struct planner {
	struct conversion *conversion;
	const struct clew_trace_frame *frames; /* of the trace */
	uint8_t *chosen;		       /* by frame; NULL: all are */
	uint8_t *runs_chosen;		       /* by piece of a logical span; NULL: all are */
	uint32_t *runs;			       /* pieces that are runs, by task and start */
	size_t run_count, next_run;
	uint32_t *owner;    /* by frame of the task: its plan, or the plan above it */
	uint8_t *is_span;   /* by frame of the task */
	uint32_t last;	    /* the plan that was made last, CLEW_NONE: none of the task's was */
	struct vector gaps; /* struct gap of the task, in order */
	uint64_t end;	    /* of the task's last frame that has no caller */
	struct map sums;    /* (owner, function) -> index of left_out */
};

struct gap {
	uint64_t start, end;
};

/* ---- the task's time ---- */

/* Lists the gaps of a task's time; those that abut are one. */
static int find_gaps(struct planner *planner, const struct trace_task *task)
{
	struct intervals intervals = capture_intervals(planner->conversion->trace, task);
	struct vector *gaps = &planner->gaps;
	struct interval interval;

	gaps->count = 0;
	while (capture_interval_next(&intervals, &interval)) {
		struct gap *last = (struct gap *)gaps->data + gaps->count;

		if (interval.kind == INTERVAL_RUN || interval.start == interval.end)
			continue;
		if (gaps->count && last[-1].end == interval.start) {
			last[-1].end = interval.end;
			continue;
		}
		if (vector_reserve(gaps, gaps->count + 1) < 0)
			return -ENOMEM;
		((struct gap *)gaps->data)[gaps->count++] =
			(struct gap){interval.start, interval.end};
	}
	return 0;
}

static uint64_t moved(const struct planner *planner, const struct trace_task *task, uint64_t at)
{
	const struct gap *gaps = planner->gaps.data;
	size_t low = 0, high = planner->gaps.count;

	at = at < task->begin ? task->begin : at > task->end ? task->end : at;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gaps[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == planner->gaps.count || gaps[low].start >= at)
		return at;
	return at - gaps[low].start <= gaps[low].end - at ? gaps[low].start : gaps[low].end;
}

/* ---- the choice ---- */

static uint64_t length_of(const struct clew_trace *trace, const struct clew_trace_frame *frame)
{
	uint64_t end = frame->end == CLEW_TIME_OPEN ? trace->end : frame->end;

	return end > frame->start ? end - frame->start : 0;
}

static uint64_t length_of_run(const struct clew_jobs *jobs, size_t number)
{
	const struct clew_job_piece *piece = clew_job_piece_at(jobs, number);

	return piece->kind == CLEW_JOB_RUNS
		       ? clew_trace_until(jobs->trace, piece->end) - piece->start
		       : 0;
}

/* Chooses the longest frames and runs. A frame whose caller is not chosen is none of them. */
static int choose(struct planner *planner, size_t most)
{
	const struct clew_trace *trace = planner->conversion->trace;
	const struct clew_jobs *jobs = clew_trace_jobs(trace);
	size_t count = trace->frames.count, pieces = jobs ? jobs->pieces.count : 0;
	struct sort_key *order;

	if (count + planner->run_count <= most)
		return 0;
	planner->chosen = calloc(count + 1, 1);
	planner->runs_chosen = calloc(pieces + 1, 1);
	order = calloc(2 * (count + pieces), sizeof(*order));
	if (!planner->chosen || !planner->runs_chosen || !order || count + pieces > UINT32_MAX) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count + pieces; i++)
		order[i] =
			(struct sort_key){.key = ~(i < count ? length_of(trace, &planner->frames[i])
							     : length_of_run(jobs, i - count)),
					  .index = (uint32_t)i};
	sort_keys(order, order + count + pieces, count + pieces);
	for (size_t i = 0; i < most; i++) {
		uint32_t index = order[i].index;

		*(index < count ? &planner->chosen[index] : &planner->runs_chosen[index - count]) =
			1;
	}
	free(order);
	for (size_t i = 0; i < count; i++)
		if (planner->frames[i].parent != CLEW_NO_NUMBER)
			planner->chosen[i] &= planner->chosen[planner->frames[i].parent];
	return 0;
}

/* Lists the runs of all logical spans. */
static int list_runs(struct planner *planner)
{
	const struct clew_jobs *jobs = clew_trace_jobs(planner->conversion->trace);
	size_t pieces = jobs ? jobs->pieces.count : 0, count = 0;
	struct sort_key *keys = calloc(2 * pieces + 1, sizeof(*keys));

	planner->runs = calloc(pieces + 1, sizeof(*planner->runs));
	if (!keys || !planner->runs) {
		free(keys);
		return -ENOMEM;
	}
	/* Pieces are in order of their starts. */
	for (size_t i = 0; i < pieces; i++)
		if (clew_job_piece_at(jobs, i)->kind == CLEW_JOB_RUNS)
			keys[count++] = (struct sort_key){.key = clew_job_piece_at(jobs, i)->task,
							  .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++)
		planner->runs[i] = keys[i].index;
	planner->run_count = count;
	free(keys);
	return 0;
}

/* ---- the plan ---- */

/* Adds a frame that becomes no span to the sums of the span above it. */
static int leave_out(struct planner *planner, uint32_t thread, uint32_t owner,
		     const struct clew_trace_frame *frame)
{
	struct vector *sums = &planner->conversion->left_out;
	uint64_t place = owner == CLEW_NONE ? (uint64_t)UINT32_MAX + 1 + thread : owner;
	const uint64_t *known = map_get(&planner->sums, place, frame->function);
	struct left_out *sum;

	if (!known) {
		if (vector_reserve(sums, sums->count + 1) < 0 ||
		    map_set(&planner->sums, place, frame->function, sums->count) < 0)
			return -ENOMEM;
		((struct left_out *)sums->data)[sums->count++] =
			(struct left_out){.owner = place, .function = frame->function};
		known = map_get(&planner->sums, place, frame->function);
	}
	sum = (struct left_out *)sums->data + *known;
	sum->count++;
	sum->ns += frame->self;
	return 0;
}

static struct frame_plan *plan_at(const struct planner *planner, uint32_t number)
{
	return (struct frame_plan *)planner->conversion->frame_plans.data + number;
}

/* True if from..to of a task becomes a span: it has a length, lies within the one above it, and
 * begins after what was within that before. */
static bool fits(const struct planner *planner, const struct trace_task *task, uint64_t from,
		 uint64_t to, struct frame_plan *plan)
{
	const struct frame_plan *outer =
		plan->parent == CLEW_NONE ? NULL : plan_at(planner, plan->parent);
	uint64_t begin = outer ? outer->last_end : planner->end,
		 until = outer ? outer->end : task->end;

	plan->start = moved(planner, task, from);
	plan->end = moved(planner, task, to);
	plan->end = plan->end > until ? until : plan->end;
	return plan->start >= begin && plan->end > plan->start;
}

static int add_plan(struct planner *planner, struct frame_plan plan)
{
	struct vector *plans = &planner->conversion->frame_plans;

	if (vector_reserve(plans, plans->count + 1) < 0)
		return -ENOMEM;
	plan.last_end = plan.start;
	if (plan.parent == CLEW_NONE)
		planner->end = plan.end;
	else
		plan_at(planner, plan.parent)->last_end = plan.end;
	planner->last = (uint32_t)plans->count;
	((struct frame_plan *)plans->data)[plans->count++] = plan;
	return 0;
}

/* The innermost plan that is open at a moment. */
static uint32_t open_at(const struct planner *planner, uint64_t at)
{
	uint32_t plan = planner->last;

	while (plan != CLEW_NONE && plan_at(planner, plan)->end <= at)
		plan = plan_at(planner, plan)->parent;
	return plan;
}

/* Plans the runs of a task that begin by a moment. */
static int plan_runs(struct planner *planner, const struct trace_task *task, uint64_t until)
{
	const struct clew_jobs *jobs = clew_trace_jobs(planner->conversion->trace);
	int r = 0;

	for (; planner->next_run < planner->run_count && r == 0; planner->next_run++) {
		uint32_t number = planner->runs[planner->next_run];
		const struct clew_job_piece *run = clew_job_piece_at(jobs, number);
		struct frame_plan plan = {.frame = CLEW_NONE, .job = run->job};

		if (run->task > task->task.serial ||
		    (run->task == task->task.serial && run->start > until))
			break;
		plan.parent = open_at(planner, run->start);
		if (run->task == task->task.serial &&
		    (!planner->runs_chosen || planner->runs_chosen[number]) &&
		    fits(planner, task, run->start, run->end, &plan))
			r = add_plan(planner, plan);
	}
	return r;
}

/* The plan that a frame lies in: its caller's, or a run within that. */
static uint32_t above_frame(const struct planner *planner, const struct clew_trace_frame *frame,
			    uint32_t caller)
{
	uint32_t open = open_at(planner, frame->start), plan = open;

	while (plan != caller && plan != CLEW_NONE && plan_at(planner, plan)->frame == CLEW_NONE)
		plan = plan_at(planner, plan)->parent;
	return plan == caller ? open : caller;
}

/* True if the run that a frame lies in is there in its place. */
static bool is_replaced(const struct planner *planner, const struct clew_trace_frame *frame,
			uint32_t above)
{
	return frame->flags & CLEW_FRAME_REPLACED && above != CLEW_NONE &&
	       plan_at(planner, above)->frame == CLEW_NONE;
}

static int plan_frame(struct planner *planner, const struct trace_task *task, uint32_t thread,
		      uint32_t number)
{
	const struct clew_trace_frame *frame = &planner->frames[number];
	uint32_t place = number - task->frame_first, above = CLEW_NONE;
	struct frame_plan plan = {.frame = number};
	bool within = true;

	if (frame->parent != CLEW_NO_NUMBER) {
		within = planner->is_span[frame->parent - task->frame_first];
		above = planner->owner[frame->parent - task->frame_first];
	}
	plan.parent = above_frame(planner, frame, above);
	planner->owner[place] = plan.parent;
	planner->is_span[place] = within && (!planner->chosen || planner->chosen[number]);
	if (planner->is_span[place] && is_replaced(planner, frame, plan.parent))
		return 0;
	planner->is_span[place] =
		planner->is_span[place] && fits(planner, task, frame->start, frame->end, &plan);
	if (!planner->is_span[place])
		return leave_out(planner, thread, plan.parent, frame);
	planner->owner[place] = (uint32_t)planner->conversion->frame_plans.count;
	return add_plan(planner, plan);
}

static int plan_task(struct planner *planner, const struct trace_task *task, uint32_t thread)
{
	int r = find_gaps(planner, task);

	free(planner->owner);
	free(planner->is_span);
	planner->owner = calloc(task->frame_count + 1, sizeof(*planner->owner));
	planner->is_span = calloc(task->frame_count + 1, 1);
	if (r < 0 || !planner->owner || !planner->is_span)
		return -ENOMEM;
	planner->end = task->begin;
	planner->last = CLEW_NONE;
	for (uint32_t i = 0; i < task->frame_count && r == 0; i++) {
		r = plan_runs(planner, task, planner->frames[task->frame_first + i].start);
		if (r == 0)
			r = plan_frame(planner, task, thread, task->frame_first + i);
	}
	return r < 0 ? r : plan_runs(planner, task, UINT64_MAX);
}

static int compare_left_out(const void *left, const void *right)
{
	const struct left_out *a = left, *b = right;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

int capture_plan_frames(struct conversion *conversion, size_t most)
{
	const struct clew_trace *trace = conversion->trace;
	struct planner planner = {.conversion = conversion,
				  .frames = trace->frames.data,
				  .gaps.item = sizeof(struct gap)};
	struct vector *sums = &conversion->left_out;
	int r = 0;

	conversion->frame_plans.item = sizeof(struct frame_plan);
	sums->item = sizeof(struct left_out);
	conversion->plan_begin = calloc(trace->tasks.count + 1, sizeof(*conversion->plan_begin));
	if (!conversion->plan_begin)
		return -ENOMEM;
	if (!trace->frames.count && !clew_trace_jobs(trace))
		return 0;
	r = list_runs(&planner);
	if (r == 0)
		r = choose(&planner, most);
	for (uint32_t i = 0; i < trace->tasks.count && r == 0; i++) {
		const struct trace_task *task = trace_task_at(trace, i);

		r = plan_task(&planner, task, i);
		conversion->plan_begin[i + 1] = (uint32_t)conversion->frame_plans.count;
	}
	if (sums->count > 1)
		qsort(sums->data, sums->count, sums->item, compare_left_out);
	free(planner.chosen);
	free(planner.runs_chosen);
	free(planner.runs);
	free(planner.owner);
	free(planner.is_span);
	vector_done(&planner.gaps);
	map_done(&planner.sums);
	return r;
}

void capture_describe_left_out(struct conversion *conversion, uint64_t owner)
{
	const struct left_out *sums = conversion->left_out.data;
	size_t low = 0, high = conversion->left_out.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sums[middle].owner < owner)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < conversion->left_out.count && sums[low].owner == owner; low++)
		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_FRAMES_LEFT_OUT, {sums[low].function},
			  {sums[low].count}, {sums[low].ns});
}
