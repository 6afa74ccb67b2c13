/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frames of a task: those on its stack, and those that were set aside.
 *
 * A frame is set aside if something proves that the task is not in it now. Mostly it has
 * ended then. But the task may have gone to another stack, and may come back. So the frame
 * is emitted only when that is certain: a function was entered at the same stack pointer,
 * or the task ended.
 *
 * `called` of a frame has the time of those that were called from it and have left it. A
 * frame that is set aside counts until then, and again from when it goes on.
 */
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/frame.h"
#include "builder/task.h"
#include <stdlib.h>
#include <string.h>

/* Bytes around a stack pointer that are taken to be of the same stack. */
#define REGION_AROUND 4096u

/* Makes room for some more, and counts the memory. */
static int make_room(struct clew_builder *builder, struct vector *vector, size_t item, size_t more)
{
	size_t before = vector->bytes;
	int r;

	vector->item = item;
	r = vector_reserve(vector, vector->count + more);
	builder->frames.memory += vector->bytes - before;
	return r;
}

int frame_send_entry(struct clew_builder *builder, const struct task *task,
		     const struct frame *frame)
{
	struct clew_frame finding = {
		.start = frame->start,
		.end = CLEW_TIME_OPEN,
		.task = task->serial,
		.end_task = task->serial,
		.function = frame->function,
		.number = frame->number,
		.parent = frame->parent,
		.depth = frame->depth,
		.closed = CLEW_FRAME_OPEN,
		.flags = frame->flags,
		.values_size = frame->values_size,
		.unread = frame->unread,
		.values = frame->values,
	};

	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_ENTERED, .frame = &finding});
}

int frame_push(struct clew_builder *builder, struct frame_stack *stack, const struct frame *frame)
{
	int r = make_room(builder, &stack->open, sizeof(*frame), 1);

	if (r < 0)
		return r;
	*frame_at(stack, stack->open.count++) = *frame;
	return 0;
}

/* ---- emitting ---- */

static int join_values(struct clew_builder *builder, const struct frame *frame,
		       const struct frame_close *close, const uint8_t **ret_values)
{
	struct vector *values = &builder->frames.values;
	size_t size = (size_t)frame->values_size + close->values_size;
	int r;

	*ret_values = NULL;
	if (!size)
		return 0;
	values->item = 1;
	r = vector_reserve(values, size);
	if (r < 0)
		return r;
	if (frame->values_size)
		memcpy(values->data, frame->values, frame->values_size);
	if (close->values_size)
		memcpy((uint8_t *)values->data + frame->values_size, close->values,
		       close->values_size);
	*ret_values = values->data;
	return 0;
}

/* Emits a frame that is over, and frees what it has. */
static int send_frame(struct clew_builder *builder, const struct task *task,
		      const struct frame *frame, const struct frame_close *close)
{
	bool open = close->closed == CLEW_FRAME_OPEN;
	bool left = close->closed == CLEW_FRAME_RETURNED || close->closed == CLEW_FRAME_TAIL_CALL ||
		    close->closed == CLEW_FRAME_POINT;
	uint64_t end = later(close->end, frame->start), taken = end - frame->start;
	struct clew_frame finding = {
		.start = frame->start,
		.end = open ? CLEW_TIME_OPEN : end,
		.self = taken - earlier(frame->called, taken),
		.probe = earlier(task->frames->probes - frame->probes, taken),
		.task = task->serial,
		.end_task = close->end_task ? close->end_task : task->serial,
		.function = frame->function,
		.number = frame->number,
		.parent = frame->parent,
		.depth = frame->depth,
		.closed = close->closed,
		.flags = (uint8_t)(frame->flags | (open || left ? 0 : CLEW_FRAME_INFERRED)),
		.values_size = (uint16_t)(frame->values_size + close->again_size),
		.returned_size = (uint16_t)(close->values_size - close->again_size),
		.unread = (uint16_t)((frame->unread & ~close->again) |
				     close->again << CLEW_FRAME_AGAIN_SHIFT |
				     (close->unread ? CLEW_FRAME_UNREAD_RESULT : 0)),
	};
	int r = join_values(builder, frame, close, &finding.values);

	builder->frames.memory -= frame->values_size;
	free(frame->values);
	if (r < 0)
		return r;
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_FRAME, .frame = &finding});
}

/* The time, until `end`, that a frame has counted as called. */
static uint64_t time_on(const struct frame *frame, uint64_t end)
{
	return later(end, frame->attached) - frame->attached;
}

int frame_close_top(struct clew_builder *builder, struct task *task,
		    const struct frame_close *close)
{
	struct frame_stack *stack = task->frames;
	struct frame *frame = frame_at(stack, --stack->open.count);

	if (stack->open.count)
		frame_at(stack, stack->open.count - 1)->called += time_on(frame, close->end);
	return send_frame(builder, task, frame, close);
}

/* ---- set aside ---- */

bool frame_is_elsewhere(const struct frame_stack *stack, uint64_t pointer)
{
	const struct frame_region *regions = stack->regions.data;
	size_t low = 0, high = stack->regions.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (pointer < regions[middle].low - earlier(regions[middle].low, REGION_AROUND))
			high = middle;
		else if (pointer > regions[middle].high + REGION_AROUND)
			low = middle + 1;
		else
			return true;
	}
	return false;
}

uint32_t frame_find_aside(const struct frame_stack *stack, uint64_t pointer)
{
	const uint64_t *place = stack->aside_count ? map_get(&stack->asides, pointer, 0) : NULL;

	return place ? (uint32_t)*place : FRAME_NONE;
}

/* It is not found by its stack pointer any more; perhaps the one outside of it is. */
static void unmap_aside(struct frame_stack *stack, uint32_t place)
{
	const struct frame_aside *aside = frame_aside_at(stack, place);
	uint64_t *found = map_get(&stack->asides, aside->frame.stack, 0);

	if (!found || *found != place)
		return;
	if (aside->outer != FRAME_NONE &&
	    frame_aside_at(stack, aside->outer)->frame.stack == aside->frame.stack)
		*found = aside->outer;
	else
		map_remove(&stack->asides, aside->frame.stack, 0);
}

/* Takes it from between those that were set aside with it, and frees its place; the caller has
 * copied it. */
static void leave_aside(struct frame_stack *stack, uint32_t place)
{
	struct frame_aside *aside = frame_aside_at(stack, place);

	unmap_aside(stack, place);
	if (aside->outer != FRAME_NONE)
		frame_aside_at(stack, aside->outer)->inner = FRAME_NONE;
	if (aside->inner != FRAME_NONE)
		frame_aside_at(stack, aside->inner)->outer = FRAME_NONE;
	aside->used = false;
	aside->outer = stack->aside_free;
	stack->aside_free = place;
	stack->aside_count--;
}

/* Ends a frame that was set aside. It has called the one inside of it until then at the latest. */
static int end_aside(struct clew_builder *builder, struct task *task, uint32_t place,
		     const struct frame_close *close)
{
	struct frame_stack *stack = task->frames;
	struct frame_aside aside = *frame_aside_at(stack, place);

	if (aside.outer != FRAME_NONE)
		frame_aside_at(stack, aside.outer)->frame.called +=
			time_on(&aside.frame, close->end);
	if (aside.inner != FRAME_NONE)
		aside.frame.called +=
			time_on(&frame_aside_at(stack, aside.inner)->frame, close->end);
	leave_aside(stack, place);
	return send_frame(builder, task, &aside.frame, close);
}

/*
 * Ends one frame as was found when it was set aside. One that the thread's end closed stays until
 * that tells how, unless it has to go `now`; but it is not found any more.
 */
static int settle_one(struct clew_builder *builder, struct task *task, uint32_t place, bool now)
{
	struct frame_stack *stack = task->frames;
	struct frame_aside *aside = frame_aside_at(stack, place);
	struct frame_close close;

	/* So this is how it is left, if it was not before. */
	if (stack->unwinding && !now && (aside->doubtful || aside->closed == CLEW_FRAME_UNWOUND)) {
		aside->closed = stack->unwound_for;
		aside->at_end = aside->closed == CLEW_FRAME_EXIT;
		aside->at = builder->now;
	}
	if (aside->at_end && !now) {
		unmap_aside(stack, place);
		return 0;
	}
	close = (struct frame_close){.end = aside->at, .closed = aside->closed};

	return end_aside(builder, task, place, &close);
}

/* True if the frames inside of one that was set aside are on its stack, and not on one of their
 * own. */
static bool is_same_stack(const struct frame_stack *stack, uint32_t outer, uint32_t inner)
{
	return inner != FRAME_NONE && frame_aside_at(stack, outer)->frame.stack -
						      frame_aside_at(stack, inner)->frame.stack <
					      FRAME_SAME_STACK;
}

/* Ends those inside of a frame, innermost first; those on other stacks stay. */
static int settle_inner(struct clew_builder *builder, struct task *task, uint32_t place)
{
	struct frame_stack *stack = task->frames;
	uint32_t at = place, outer;
	int r = 0;

	while (is_same_stack(stack, at, frame_aside_at(stack, at)->inner))
		at = frame_aside_at(stack, at)->inner;
	for (; r >= 0 && at != place; at = outer) {
		outer = frame_aside_at(stack, at)->outer;
		r = settle_one(builder, task, at, false);
	}
	return r;
}

int frame_settle(struct clew_builder *builder, struct task *task, uint32_t place)
{
	int r = settle_inner(builder, task, place);

	return r < 0 ? r : settle_one(builder, task, place, false);
}

/* Ends what was set aside: `all`, or only what is not known to be on another stack. */
static int settle(struct clew_builder *builder, struct task *task, bool all)
{
	struct frame_stack *stack = task->frames;
	int r = 0;

	for (uint32_t place = (uint32_t)stack->aside.count; r >= 0 && place-- > 0;)
		if (frame_aside_at(stack, place)->used &&
		    (all || !frame_is_elsewhere(stack, frame_aside_at(stack, place)->frame.stack)))
			r = settle_one(builder, task, place, true);
	return r;
}

static int put_aside(struct clew_builder *builder, struct task *task, const struct frame *frame,
		     enum clew_frame_closed closed, bool doubtful, uint32_t outer,
		     uint32_t *ret_place)
{
	struct frame_stack *stack = task->frames;
	uint32_t place = frame_find_aside(stack, frame->stack);
	size_t before = map_memory(&stack->asides);
	struct frame_aside *aside;
	int r;

	/* By trampoline, a frame and the one that it jumped to have one stack pointer. */
	if (place != FRAME_NONE && place != outer) {
		r = frame_settle(builder, task, place);
		if (r < 0)
			return r;
	}
	if (stack->aside_free == FRAME_NONE) {
		r = make_room(builder, &stack->aside, sizeof(*aside), 1);
		if (r < 0)
			return r;
		place = (uint32_t)stack->aside.count++;
	} else {
		place = stack->aside_free;
		stack->aside_free = frame_aside_at(stack, place)->outer;
	}
	r = map_set(&stack->asides, frame->stack, 0, place);
	if (r < 0)
		return r;
	builder->frames.memory += map_memory(&stack->asides) - before;
	aside = frame_aside_at(stack, place);
	*aside = (struct frame_aside){
		.frame = *frame,
		.at = builder->now,
		.outer = outer,
		.inner = FRAME_NONE,
		.closed = (uint8_t)closed,
		.at_end = stack->unwinding && stack->unwound_for == CLEW_FRAME_EXIT,
		.doubtful = doubtful,
		.used = true,
	};
	if (outer != FRAME_NONE)
		frame_aside_at(stack, outer)->inner = place;
	stack->aside_count++;
	*ret_place = place;
	return 0;
}

int frame_set_aside(struct clew_builder *builder, struct task *task, size_t keep,
		    enum clew_frame_closed closed, bool doubtful)
{
	struct frame_stack *stack = task->frames;
	size_t count = stack->open.count;
	uint32_t outer = FRAME_NONE;
	int r = 0;

	if (keep >= count)
		return 0;
	if (stack->aside_count + count - keep > FRAMES_MOST) {
		r = settle(builder, task, false);
		if (r >= 0 && stack->aside_count + count - keep > FRAMES_MOST)
			r = settle(builder, task, true);
	}
	if (keep)
		frame_at(stack, keep - 1)->called += time_on(frame_at(stack, keep), builder->now);
	for (size_t i = keep; r >= 0 && i < count; i++)
		r = put_aside(builder, task, frame_at(stack, i), closed, doubtful, outer, &outer);
	stack->open.count = keep;
	return r;
}

/* Notes that the stack pointers from `low` to `high` are of another stack. */
static int learn_region(struct clew_builder *builder, struct frame_stack *stack, uint64_t low,
			uint64_t high)
{
	struct frame_region *regions;
	size_t at = 0, end;
	int r = make_room(builder, &stack->regions, sizeof(*regions), 1);

	if (r < 0)
		return r;
	regions = stack->regions.data;
	while (at < stack->regions.count && regions[at].high + REGION_AROUND < low)
		at++;
	for (end = at; end < stack->regions.count && regions[end].low <= high + REGION_AROUND;
	     end++) {
		low = earlier(low, regions[end].low);
		high = later(high, regions[end].high);
	}
	if (end == at && stack->regions.count >= FRAMES_MOST)
		return 0;
	memmove(&regions[at + 1], &regions[end], (stack->regions.count - end) * sizeof(*regions));
	regions[at] = (struct frame_region){low, high};
	stack->regions.count += 1 - (end - at);
	return 0;
}

int frame_revive(struct clew_builder *builder, struct task *task, uint32_t place)
{
	struct frame_stack *stack = task->frames;
	size_t first = stack->open.count, count = 0;
	uint64_t low = frame_aside_at(stack, place)->frame.stack, high = low;
	uint32_t outer;
	int r = settle_inner(builder, task, place);

	for (uint32_t at = place; at != FRAME_NONE; at = frame_aside_at(stack, at)->outer) {
		if (frame_aside_at(stack, at)->frame.stack - high < FRAME_SAME_STACK)
			high = frame_aside_at(stack, at)->frame.stack;
		count++;
	}
	if (r >= 0)
		r = learn_region(builder, stack, low, high);
	if (r >= 0)
		r = make_room(builder, &stack->open, sizeof(struct frame), count);
	if (r < 0)
		return r;
	stack->open.count += count;
	for (size_t i = count; i-- > 0; place = outer) {
		outer = frame_aside_at(stack, place)->outer;
		*frame_at(stack, first + i) = frame_aside_at(stack, place)->frame;
		leave_aside(stack, place);
	}
	frame_at(stack, first)->attached = builder->now;
	return 0;
}

/* Ends an open frame wherever it is on the stack. */
static int close_between(struct clew_builder *builder, struct task *task, size_t number,
			 const struct frame_close *close)
{
	struct frame_stack *stack = task->frames;
	struct frame frame = *frame_at(stack, number);

	if (number)
		frame_at(stack, number - 1)->called += time_on(&frame, close->end);
	if (number + 1 < stack->open.count) {
		frame.called += time_on(frame_at(stack, number + 1), close->end);
		frame_at(stack, number + 1)->attached = close->end;
	}
	memmove(frame_at(stack, number), frame_at(stack, number + 1),
		(--stack->open.count - number) * sizeof(frame));
	return send_frame(builder, task, &frame, close);
}

int frame_close_function(struct clew_builder *builder, struct task *task, uint32_t function,
			 const struct frame_close *close)
{
	struct frame_stack *stack = task->frames;
	int r = 0;

	for (size_t i = stack->open.count; r >= 0 && i-- > 0;)
		if (frame_at(stack, i)->function == function)
			r = close_between(builder, task, i, close);
	for (uint32_t i = 0; r >= 0 && stack->aside_count && i < stack->aside.count; i++) {
		struct frame_aside aside = *frame_aside_at(stack, i);
		struct frame_close own = {.end = aside.at, .closed = aside.closed};

		if (!aside.used || aside.frame.function != function)
			continue;
		if (aside.doubtful || aside.closed == CLEW_FRAME_UNWOUND)
			own = *close;
		r = end_aside(builder, task, i, &own);
		/* The others go on together, if they do. */
		if (aside.outer != FRAME_NONE)
			frame_aside_at(stack, aside.outer)->inner = aside.inner;
		if (aside.inner != FRAME_NONE) {
			frame_aside_at(stack, aside.inner)->outer = aside.outer;
			frame_aside_at(stack, aside.inner)->frame.attached = own.end;
		}
	}
	return r;
}

int frame_close_all(struct clew_builder *builder, struct task *task,
		    const struct frame_close *close)
{
	struct frame_stack *stack = task->frames;
	struct frame_close own;
	int r = 0;

	for (uint32_t place = (uint32_t)stack->aside.count; r >= 0 && place-- > 0;) {
		const struct frame_aside *aside = frame_aside_at(stack, place);
		bool unproven = aside->closed == CLEW_FRAME_UNWOUND;

		if (!aside->used)
			continue;
		own = (struct frame_close){.end = aside->at, .closed = aside->closed};
		if (aside->at_end)
			own.closed = close->closed;
		else if (unproven && (close->closed == CLEW_FRAME_LOST ||
				      frame_is_elsewhere(stack, aside->frame.stack)))
			own = *close;
		r = end_aside(builder, task, place, &own);
	}
	while (r >= 0 && stack->open.count)
		r = frame_close_top(builder, task, close);
	return r;
}
