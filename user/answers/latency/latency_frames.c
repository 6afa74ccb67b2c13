/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The groups of calls: below those of their callers, or of the logical span that they were in. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/latency/latency_internal.h"
#include "trace/name.h"
#include "words/frame.h"
#include "words/functions.h"
#include "words/task.h"

/* ---- properties ---- */

static void add_property(struct clew_latency_name *name, const char *key, const char *value)
{
	name->properties[name->property_count++] = (struct clew_property){key, value};
}

void latency_take_properties(const struct clew_latency_names *names,
			     const struct clew_trace_task *task, uint64_t at,
			     struct latency_name *name)
{
	const struct clew_trace *trace = names->trace;
	enum clew_latency_level level = names->options->level;
	const char *text;

	name->name.property_count = 0;
	switch (level) {
	case CLEW_LATENCY_THREAD:
	case CLEW_LATENCY_PROCESS:
		text = level == CLEW_LATENCY_THREAD ? clew_trace_comm_at(trace, task->serial, at)
						    : clew_process_name(trace, task, at);
		snprintf(name->number, sizeof(name->number), "%" PRIu32,
			 level == CLEW_LATENCY_THREAD ? task->tid : task->pid);
		if (text[0])
			add_property(&name->name, "comm", text);
		add_property(&name->name, level == CLEW_LATENCY_THREAD ? "tid" : "pid",
			     name->number);
		break;
	case CLEW_LATENCY_CGROUP:
		text = task->cgroup ? clew_trace_cgroup(trace, task->cgroup) : NULL;
		if (text)
			add_property(&name->name, "cgroup", text);
		break;
	case CLEW_LATENCY_COMM:
		add_property(&name->name, "comm", clew_trace_comm_at(trace, task->serial, at));
		break;
	default:
		break;
	}
}

/* ---- functions ---- */

/* The innermost logical span that a task runs; NULL: none. */
static const struct clew_activity *run_at(const struct clew_relations *relations, uint32_t serial,
					  uint64_t at)
{
	size_t count;
	const struct clew_activity *all = clew_relations_activities(relations, &count),
				   *activity = clew_relations_at(relations, serial, at);

	while (activity && activity->part != CLEW_ACTIVITY_RUN)
		activity = activity->parent == CLEW_NO_NUMBER ? NULL : &all[activity->parent];
	return activity;
}

bool latency_run_around(const struct clew_latency_names *names, uint32_t serial, uint64_t at,
			uint64_t since, uint32_t *ret_group)
{
	const struct clew_activity *run =
		names->relations ? run_at(names->relations, serial, at) : NULL;

	if (!run || run->begin < since)
		return false;
	*ret_group = names->job_groups[run->job] - 1;
	return true;
}

/* A call, as a trace or the builder has it. */
struct call {
	uint32_t function; /* number */
	uint64_t start;
	const struct clew_frame_detail *detail; /* NULL: it has no values */
};

static void name_call(const struct clew_latency_names *names, const struct clew_trace_task *task,
		      const struct call *call, struct latency_name *name)
{
	const struct clew_latency_options *options = names->options;
	uint32_t number = call->function;

	const struct clew_trace_function *function = clew_trace_function(names->trace, number);

	name->place[0] = '\0';
	if (function)
		snprintf(name->place, sizeof(name->place), "%s+0x%" PRIx64, function->object,
			 function->offset);
	name->name.name = clew_function_name(names->trace, number);
	name->name.place = name->place;
	latency_take_properties(names, task, call->start, name);
	if (options->level == CLEW_LATENCY_ARGUMENT &&
	    clew_frame_argument(names->trace, number, call->detail, options->argument,
				name->argument, sizeof(name->argument)))
		add_property(&name->name, options->argument, name->argument);
}

/* The group of a frame, which its callers' groups are above. */
static int place_frame(struct clew_latency_names *names, const struct clew_trace_task *task,
		       const struct clew_trace_frame *frame, uint32_t *ret_group)
{
	uint32_t *known = &names->group_of[frame - names->frames], parent_group = CLEW_NO_NUMBER;
	const struct clew_trace_frame *parent = clew_trace_frame_parent(names->trace, frame);
	struct call call = {.function = frame->function, .start = frame->start};
	struct latency_name name;
	bool in_job;
	int r = 0;

	*ret_group = *known - 1;
	if (*known)
		return 0;
	*ret_group = CLEW_NO_NUMBER;
	while (parent && parent->flags & CLEW_FRAME_REPLACED)
		parent = clew_trace_frame_parent(names->trace, parent);
	in_job = latency_run_around(names, task->serial, frame->start, parent ? parent->start : 0,
				    &parent_group);
	if (parent && !in_job)
		r = place_frame(names, task, parent, &parent_group);
	if (r < 0 || ((parent || in_job) && parent_group == CLEW_NO_NUMBER))
		return r;
	call.detail = clew_trace_frame_detail(names->trace, frame);
	name_call(names, task, &call, &name);
	r = clew_latency_place(names->latency, parent_group, &name.name, ret_group);
	*known = *ret_group + 1;
	return r;
}

static int begin_task(struct clew_latency_names *names, const struct clew_trace_task *task)
{
	size_t count;

	names->task = task;
	names->frames = clew_trace_frames(names->trace, task->serial, &count);
	free(names->group_of);
	names->group_of = calloc(count + 1, sizeof(*names->group_of));
	return names->group_of ? 0 : -ENOMEM;
}

int latency_place_frame(struct clew_latency_names *names, const struct clew_trace_task *task,
			const struct clew_trace_frame *frame, uint32_t *ret_group)
{
	int r = names->task == task ? 0 : begin_task(names, task);

	return r < 0 ? r : place_frame(names, task, frame, ret_group);
}

int clew_latency_enter(struct clew_latency_names *names, const struct clew_trace_task *task,
		       uint32_t parent, const struct clew_frame *frame, uint32_t *ret_group)
{
	bool alike = names->options->level == CLEW_LATENCY_ALL;
	uint64_t call = (uint64_t)parent << 32 | frame->function;
	const uint64_t *known = alike ? map_get(&names->calls, call, 0) : NULL;
	const struct clew_frame_detail detail = {.values = frame->values,
						 .values_size = frame->values_size,
						 .unread = frame->unread};
	const struct call entered = {.function = frame->function,
				     .start = frame->start,
				     .detail = frame->values ? &detail : NULL};
	struct latency_name name;
	int r;

	*ret_group = known ? (uint32_t)*known : CLEW_NO_NUMBER;
	if (known)
		return 0;
	name_call(names, task, &entered, &name);
	r = clew_latency_place(names->latency, parent, &name.name, ret_group);
	return r == 0 && alike && *ret_group != CLEW_NO_NUMBER
		       ? map_set(&names->calls, call, 0, *ret_group)
		       : r;
}
