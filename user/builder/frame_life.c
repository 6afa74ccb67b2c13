/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames at what is not a call: threads that begin and end, losses, and sites that are dropped.
 */
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/frame.h"
#include "builder/task.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct frame_stack *frame_stack_of(struct clew_builder *builder, struct task *task)
{
	if (!task->frames) {
		task->frames = calloc(1, sizeof(*task->frames));
		if (!task->frames)
			return NULL;
		task->frames->aside_free = FRAME_NONE;
		builder->frames.memory += sizeof(*task->frames);
	}
	return task->frames;
}

int build_frames_fork(struct clew_builder *builder, const struct task *parent, struct task *child)
{
	const struct frame_stack *from = parent->frames;
	uint32_t outer = CLEW_NO_NUMBER;
	int r = 0;

	if (!from || !from->open.count || child->frames || child->state == TASK_DEAD ||
	    build_task_memory(builder, parent) == build_task_memory(builder, child))
		return 0;
	if (!frame_stack_of(builder, child))
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < from->open.count; i++) {
		struct frame frame = *frame_at(from, i);

		/* The child has a kernel stack of its own. */
		if (frame.way == CLEW_SITE_WAY_KERNEL)
			break;
		frame.start = frame.attached = builder->now;
		frame.called = frame.probes = 0;
		frame.flags |= CLEW_FRAME_INHERITED;
		frame.number = builder->frames.count++;
		frame.parent = outer;
		outer = frame.number;
		if (frame.values_size) {
			frame.values = malloc(frame.values_size);
			if (!frame.values)
				return -ENOMEM;
			memcpy(frame.values, frame_at(from, i)->values, frame.values_size);
			builder->frames.memory += frame.values_size;
		}
		r = frame_send_entry(builder, child, &frame);
		if (r >= 0)
			r = frame_push(builder, child->frames, &frame);
	}
	return r;
}

int build_frames_end(struct clew_builder *builder, struct task *task,
		     const struct clew_life *record)
{
	struct frame_close close = {.end = builder->now, .closed = CLEW_FRAME_EXIT};
	struct frame_close lost = {.end = builder->now, .closed = CLEW_FRAME_LOST};
	int r = 0;

	if (!task || !task->frames)
		return 0;
	if (record->header.flags & CLEW_LIFE_LOST)
		r = frame_close_all(builder, task, &lost);
	if (record->header.kind == CLEW_KIND_EXEC) {
		close.closed = CLEW_FRAME_EXEC;
		close.end_task = record->other;
	} else if (record->value & 0x7f) {
		close.closed = CLEW_FRAME_CRASH;
	} else if (task->frames->canceled) {
		close.closed = CLEW_FRAME_CANCELED;
	}
	if (r >= 0)
		r = frame_close_all(builder, task, &close);
	build_frames_done(builder, task);
	return r;
}

int build_frames_gone(struct clew_builder *builder, struct task *task)
{
	struct frame_close lost = {.end = builder->now, .closed = CLEW_FRAME_LOST};
	int r;

	if (!task->frames)
		return 0;
	r = frame_close_all(builder, task, &lost);
	build_frames_done(builder, task);
	return r;
}

int build_frames_lost(struct clew_builder *builder, uint16_t cpu, uint64_t from)
{
	struct frame_close lost = {.end = builder->now, .closed = CLEW_FRAME_LOST};
	const struct task_table *table = &builder->tasks;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < table->page_count; i++)
		for (size_t k = 0; r >= 0 && table->pages[i] && k < 1 << TASK_PAGE_BITS; k++) {
			struct task *task = table->pages[i]->tasks[k];

			/* One that ran elsewhere all the time has lost nothing. */
			if (task && task->frames &&
			    !(task->state == TASK_RUNNING && task->cpu != cpu &&
			      task->since <= from))
				r = frame_close_all(builder, task, &lost);
		}
	return r;
}

int build_feed_dropped(struct clew_builder *builder, const struct clew_dropped *record)
{
	struct frame_close lost = {.end = builder->now, .closed = CLEW_FRAME_LOST};
	struct frame_site *sites = builder->frames.sites.data;
	const struct task_table *table = &builder->tasks;
	int r = 0;

	for (size_t i = 0; i < builder->frames.sites.count; i++)
		if (sites[i].function == record->function)
			sites[i].roles = 0;
	for (size_t i = 0; r >= 0 && i < table->page_count; i++)
		for (size_t k = 0; r >= 0 && table->pages[i] && k < 1 << TASK_PAGE_BITS; k++) {
			struct task *task = table->pages[i]->tasks[k];

			if (task && task->frames)
				r = frame_close_function(builder, task, record->function, &lost);
		}
	return r;
}

int build_frames_finish(struct clew_builder *builder, struct task *task)
{
	struct frame_close close = {.end = builder->now, .closed = CLEW_FRAME_OPEN};

	if (!task->frames)
		return 0;
	if (builder->loss_to > task->frames->last)
		close.closed = CLEW_FRAME_LOST;
	return frame_close_all(builder, task, &close);
}

void build_frames_done(struct clew_builder *builder, struct task *task)
{
	struct frame_stack *stack = task->frames;

	if (!stack)
		return;
	for (size_t i = 0; i < stack->open.count; i++)
		free(frame_at(stack, i)->values);
	for (uint32_t i = 0; i < stack->aside.count; i++)
		if (frame_aside_at(stack, i)->used)
			free(frame_aside_at(stack, i)->frame.values);
	builder->frames.memory -= sizeof(*stack) + stack->open.bytes + stack->aside.bytes +
				  stack->regions.bytes + map_memory(&stack->asides);
	vector_done(&stack->open);
	vector_done(&stack->aside);
	vector_done(&stack->regions);
	map_done(&stack->asides);
	free(stack);
	task->frames = NULL;
}

void build_frame_table_done(struct clew_builder *builder)
{
	vector_done(&builder->frames.sites);
	vector_done(&builder->frames.values);
}

size_t build_frames_memory(const struct clew_builder *builder)
{
	return builder->frames.memory + builder->frames.values.bytes;
}
