/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairs entries and exits of functions to frames, for each task by the stack pointer.
 *
 * The stack pointer at the entry names a frame. An exit at a `ret` has the same one. A
 * function that is entered shows that all frames with a lower one are not on this stack
 * any more, and none with the same one, unless a function that returns by the trampoline
 * jumped into this one. Their end is known if a longjmp, an exception or the end of the thread
 * was announced before; else they count as unwound, unless they go on later (frame_stack.c).
 *
 * Nothing is guessed over a loss: what was open before it is lost.
 */
#include "builder/frame.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/task.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int build_feed_site(struct clew_builder *builder, const struct clew_site_record *record)
{
	struct vector *sites = &builder->frames.sites;
	size_t before = sites->bytes;
	int r;

	sites->item = sizeof(struct frame_site);
	r = vector_reserve(sites, (size_t)record->site + 1);
	if (r < 0)
		return r;
	builder->frames.memory += sites->bytes - before;
	sites->count = later(sites->count, record->site + 1ull);
	((struct frame_site *)sites->data)[record->site] = (struct frame_site){
		.function = record->function,
		.roles = record->roles,
		.below = record->below,
		.class =
			record->class < CLEW_SITE_CLASSES ? record->class : CLEW_SITE_CLASS_STEPPED,
		.way = record->way,
	};
	return 0;
}

/* ---- entries ---- */

/* The number of frames that stay if a function is entered at that stack pointer. */
static size_t count_outer(const struct frame_stack *stack, uint64_t pointer)
{
	size_t count = stack->open.count;

	while (count && frame_at(stack, count - 1)->stack < pointer)
		count--;
	while (count && frame_at(stack, count - 1)->stack == pointer &&
	       frame_at(stack, count - 1)->way != CLEW_SITE_WAY_TRAMPOLINE &&
	       frame_at(stack, count - 1)->way != CLEW_SITE_WAY_KERNEL)
		count--;
	return count;
}

/* Why frames are left that nothing else accounts for. */
static enum clew_frame_closed why_left(const struct frame_stack *stack)
{
	return stack->unwinding ? stack->unwound_for : CLEW_FRAME_UNWOUND;
}

static int make_frame(struct clew_builder *builder, const struct frame_stack *stack,
		      const struct frame_site *site, const struct clew_function *record,
		      struct frame *ret)
{
	size_t depth = stack->open.count;

	*ret = (struct frame){
		.stack = record->stack + site->below,
		.start = record->header.time,
		.attached = record->header.time,
		.probes = stack->probes,
		.function = site->function,
		.number = builder->frames.count,
		.parent = depth ? frame_at(stack, depth - 1)->number : CLEW_NO_NUMBER,
		.depth = (uint16_t)earlier(depth, UINT16_MAX),
		.values_size = record->size,
		.unread = record->header.flags & CLEW_FUNCTION_UNREAD,
		.way = site->way,
	};
	if (record->size) {
		ret->values = malloc(record->size);
		if (!ret->values)
			return -ENOMEM;
		memcpy(ret->values, record + 1, record->size);
		builder->frames.memory += record->size;
	}
	builder->frames.count++;
	return 0;
}

/* A frame whose end cannot be seen is over at once. */
static int push_and_close(struct clew_builder *builder, struct task *task,
			  const struct frame *frame, enum clew_frame_closed closed)
{
	struct frame_close close = {.end = frame->start, .closed = (uint8_t)closed};
	int r = frame_push(builder, task->frames, frame);

	return r < 0 ? r : frame_close_top(builder, task, &close);
}

/* The frame that a stack pointer lies in among those that were set aside and may go on, or
 * FRAME_NONE; only one whose own is below `nearest`. */
static uint32_t find_around_aside(const struct frame_stack *stack, uint64_t pointer,
				  uint64_t nearest)
{
	uint32_t found = FRAME_NONE;

	for (uint32_t i = 0; stack->aside_count && i < stack->aside.count; i++) {
		const struct frame_aside *aside = frame_aside_at(stack, i);

		if (aside->used && (aside->doubtful || aside->closed == CLEW_FRAME_UNWOUND) &&
		    aside->frame.stack >= pointer && aside->frame.stack < nearest) {
			nearest = aside->frame.stack;
			found = i;
		}
	}
	return found;
}

/*
 * If the entry is on a stack that the task had left, and is known to come back to, then what it had
 * there goes on.
 */
static int come_back(struct clew_builder *builder, struct task *task, uint64_t pointer)
{
	struct frame_stack *stack = task->frames;
	size_t depth = stack->open.count;
	uint32_t place;

	if (!stack->aside_count ||
	    (depth && frame_at(stack, depth - 1)->stack - pointer < FRAME_SAME_STACK))
		return 0;
	place = find_around_aside(stack, pointer + 1, pointer + FRAME_SAME_STACK);
	if (place == FRAME_NONE ||
	    !frame_is_elsewhere(stack, frame_aside_at(stack, place)->frame.stack))
		return 0;
	return frame_revive(builder, task, place);
}

/* The task is at a probe that the program carries, in the frames whose stack pointers are as high
 * or higher. */
static int meet_point(struct clew_builder *builder, struct task *task,
		      const struct frame_site *site, const struct clew_function *record)
{
	struct frame_stack *stack = task->frames;
	size_t keep = stack->open.count;
	struct frame frame;
	int r = come_back(builder, task, record->stack);

	while (keep && frame_at(stack, keep - 1)->stack < record->stack)
		keep--;
	if (r >= 0)
		r = frame_set_aside(builder, task, keep, why_left(stack), false);
	if (r >= 0)
		r = make_frame(builder, stack, site, record, &frame);
	if (r >= 0)
		r = frame_send_entry(builder, task, &frame);
	return r < 0 ? r : push_and_close(builder, task, &frame, CLEW_FRAME_POINT);
}

static int enter(struct clew_builder *builder, struct task *task, const struct frame_site *site,
		 const struct clew_function *record)
{
	struct frame_stack *stack = task->frames;
	uint64_t pointer = record->stack + site->below;
	struct frame frame;
	uint32_t place;
	int r;

	r = come_back(builder, task, pointer);
	if (r >= 0)
		r = frame_set_aside(builder, task, count_outer(stack, pointer), why_left(stack),
				    false);
	/* The return addresses of those were overwritten. */
	while (r >= 0 && (place = frame_find_aside(stack, pointer)) != FRAME_NONE)
		r = frame_settle(builder, task, place);
	if (r >= 0)
		r = make_frame(builder, stack, site, record, &frame);
	if (r >= 0)
		r = frame_send_entry(builder, task, &frame);
	if (r < 0)
		return r;
	if (stack->open.count >= FRAMES_MOST)
		return push_and_close(builder, task, &frame, CLEW_FRAME_LOST);
	if (site->way == CLEW_SITE_WAY_NONE)
		return push_and_close(builder, task, &frame, CLEW_FRAME_UNWOUND);
	if (stack->open.count && frame_at(stack, stack->open.count - 1)->stack == pointer)
		frame_at(stack, stack->open.count - 1)->tail = true;
	return frame_push(builder, stack, &frame);
}

/* ---- exits ---- */

/* A function of the kernel returns from its innermost call. */
#define ANY_STACK UINT64_MAX

/* The open frame of that function and stack pointer; false: there is none. */
static bool find_open(const struct frame_stack *stack, uint32_t function, uint64_t pointer,
		      size_t *ret_number)
{
	for (size_t i = stack->open.count; i-- > 0;)
		if ((frame_at(stack, i)->stack == pointer || pointer == ANY_STACK) &&
		    frame_at(stack, i)->function == function) {
			*ret_number = i;
			return true;
		}
	return false;
}

/* The same among those that were set aside, or FRAME_NONE. */
static uint32_t find_aside(const struct frame_stack *stack, uint32_t function, uint64_t pointer)
{
	uint32_t place = frame_find_aside(stack, pointer);

	for (; place != FRAME_NONE; place = frame_aside_at(stack, place)->outer) {
		const struct frame *frame = &frame_aside_at(stack, place)->frame;

		if (frame->stack != pointer)
			return FRAME_NONE;
		if (frame->function == function)
			return place;
	}
	return FRAME_NONE;
}

/* Takes the values of a return record: first the texts of arguments that were not in memory at the
 * entry, then the result. */
static void take_result(struct frame_close *close, const struct clew_function *record)
{
	unsigned again = record->header.flags & CLEW_FUNCTION_RETURNED
				 ? (record->header.flags & CLEW_FUNCTION_UNREAD) >> 1
				 : 0;
	const uint8_t *end;

	close->values = (const uint8_t *)(record + 1);
	close->values_size = record->size;
	close->unread = record->header.flags & 1;
	for (unsigned bits = again; bits; bits &= bits - 1) {
		end = memchr(close->values + close->again_size, '\0',
			     (size_t)(close->values_size - close->again_size));
		if (!end)
			return;
		close->again_size = (uint16_t)(end + 1 - close->values);
	}
	close->again = (uint8_t)again;
}

/* They are of an earlier call that did not return. */
static void leave_out_again(struct frame_close *close)
{
	close->values += close->again_size;
	close->values_size -= close->again_size;
	close->again_size = 0;
	close->again = 0;
}

static int leave(struct clew_builder *builder, struct task *task, const struct frame_site *site,
		 uint64_t pointer, const struct clew_function *record,
		 enum clew_frame_closed closed)
{
	struct frame_stack *stack = task->frames;
	struct frame_close close = {.end = record->header.time, .closed = (uint8_t)closed};
	struct frame *frame;
	uint32_t place;
	size_t number;
	int r = 0;

	/* Other exits have no result; at an entry the values are the arguments. */
	if (closed == CLEW_FRAME_RETURNED &&
	    ((record->header.flags & CLEW_FUNCTION_RETURNED) || !(site->roles & CLEW_SITE_ENTER)))
		take_result(&close, record);
	if (!find_open(stack, site->function, pointer, &number)) {
		place = find_aside(stack, site->function, pointer);
		if (place == FRAME_NONE)
			return 0;
		r = frame_revive(builder, task, place);
	} else if (number + 1 < stack->open.count) {
		r = frame_set_aside(builder, task, number + 1, why_left(stack), false);
	}
	if (r < 0)
		return r;
	frame = frame_at(stack, stack->open.count - 1);
	if (stack->unwinding && frame->start < stack->unwinding)
		stack->unwinding = 0;
	if (close.again & ~frame->unread)
		leave_out_again(&close);
	if (frame->tail && closed == CLEW_FRAME_RETURNED) {
		close.closed = CLEW_FRAME_TAIL_CALL;
		frame->flags |= CLEW_FRAME_INCLUSIVE;
	}
	return frame_close_top(builder, task, &close);
}

/* ---- cuts ---- */

/* The frame that a stack pointer lies in, among the open ones: the place behind it, 0 none. */
static size_t find_around(const struct frame_stack *stack, uint64_t pointer)
{
	/* On one stack the pointers fall. */
	bool ordered = !stack->regions.count;
	uint64_t nearest = UINT64_MAX;
	size_t found = 0;

	for (size_t i = stack->open.count; i-- > 0 && !(found && ordered);)
		if (frame_at(stack, i)->stack >= pointer && frame_at(stack, i)->stack < nearest) {
			nearest = frame_at(stack, i)->stack;
			found = i + 1;
		}
	return found;
}

/* True if the stack that is cut is the one that the task is on, by the open frames around. */
static bool is_near(const struct frame_stack *stack, size_t keep, uint64_t pointer)
{
	return (keep && frame_at(stack, keep - 1)->stack - pointer < FRAME_SAME_STACK) ||
	       (keep < stack->open.count &&
		pointer - frame_at(stack, keep)->stack < FRAME_SAME_STACK);
}

/* Now it is known how a frame that was set aside ended. */
static void close_aside(struct frame_aside *aside, uint64_t at, enum clew_frame_closed closed)
{
	if (!aside->doubtful && aside->closed != CLEW_FRAME_UNWOUND)
		return;
	aside->closed = (uint8_t)closed;
	aside->at = at;
	aside->doubtful = false;
}

/* Frames of the stack that is cut are closed by this, if an earlier jump may only have left them.
 */
static void cut_doubtful(struct clew_builder *builder, struct frame_stack *stack, uint64_t pointer,
			 enum clew_frame_closed closed)
{
	for (uint32_t i = 0; stack->aside_count && i < stack->aside.count; i++) {
		struct frame_aside *aside = frame_aside_at(stack, i);

		if (aside->used && aside->doubtful && aside->frame.stack < pointer &&
		    pointer - aside->frame.stack < FRAME_SAME_STACK)
			close_aside(aside, builder->now, closed);
	}
}

/*
 * The stack goes on at that stack pointer: frames with a lower one are closed. If it lies
 * in one that was set aside, as where a signal's handler on a stack of its own jumps back,
 * then the frames that were entered since have ended, too.
 */
static int cut(struct clew_builder *builder, struct task *task, uint64_t pointer,
	       enum clew_frame_closed closed)
{
	struct frame_stack *stack = task->frames;
	size_t keep = find_around(stack, pointer);
	uint32_t place, inner;
	int r;

	stack->unwinding = 0;
	cut_doubtful(builder, stack, pointer, closed);
	place = is_near(stack, keep, pointer)
			? FRAME_NONE
			: find_around_aside(stack, pointer,
					    keep ? frame_at(stack, keep - 1)->stack : UINT64_MAX);
	if (place == FRAME_NONE)
		return frame_set_aside(builder, task, keep, closed, false);
	for (inner = frame_aside_at(stack, place)->inner; inner != FRAME_NONE;
	     inner = frame_aside_at(stack, inner)->inner) {
		close_aside(frame_aside_at(stack, inner), builder->now, closed);
	}
	keep = stack->open.count;
	while (keep && frame_at(stack, keep - 1)->start >= frame_aside_at(stack, place)->at)
		keep--;
	r = frame_set_aside(builder, task, keep, closed, true);
	return r < 0 ? r : frame_revive(builder, task, place);
}

/* ---- records ---- */

static int take_roles(struct clew_builder *builder, struct task *task,
		      const struct frame_site *site, const struct clew_function *record)
{
	struct frame_stack *stack = task->frames;
	int r = 0;

	if (record->header.flags & CLEW_FUNCTION_RETURNED)
		return leave(builder, task, site,
			     site->way == CLEW_SITE_WAY_KERNEL ? ANY_STACK
							       : record->stack - sizeof(uint64_t),
			     record, CLEW_FRAME_RETURNED);
	if (site->roles & CLEW_SITE_LONGJMP)
		return cut(builder, task, record->stack, CLEW_FRAME_LONGJMP);
	if (site->roles & CLEW_SITE_CATCH)
		r = cut(builder, task, record->stack + site->below + sizeof(uint64_t),
			CLEW_FRAME_EXCEPTION);
	if (site->way == CLEW_SITE_WAY_POINT)
		return meet_point(builder, task, site, record);
	if (r >= 0 && site->roles & CLEW_SITE_ENTER)
		r = enter(builder, task, site, record);
	if (r >= 0 && site->roles & CLEW_SITE_RET)
		r = leave(builder, task, site, record->stack + site->below, record,
			  CLEW_FRAME_RETURNED);
	if (r >= 0 && site->roles & CLEW_SITE_TAIL)
		r = leave(builder, task, site, record->stack + site->below, record,
			  CLEW_FRAME_TAIL_CALL);
	if (site->roles & (CLEW_SITE_THROW | CLEW_SITE_EXIT | CLEW_SITE_UNWIND)) {
		stack->unwinding = record->header.time;
		stack->unwound_for =
			site->roles & CLEW_SITE_THROW ? CLEW_FRAME_EXCEPTION : CLEW_FRAME_EXIT;
	}
	stack->asked |= (site->roles & CLEW_SITE_EXIT) != 0;
	stack->canceled |= (site->roles & CLEW_SITE_UNWIND) && !stack->asked;
	return r;
}

/* The part of the task's time that the probe took. */
static uint32_t cost_of(const struct clew_builder *builder, const struct frame_site *site,
			const struct clew_function *record)
{
	if (record->header.flags & CLEW_FUNCTION_RETURNED && site->way != CLEW_SITE_WAY_KERNEL)
		return builder->options.return_ns;
	return builder->options.probe_ns[site->class];
}

int build_feed_function(struct clew_builder *builder, const struct clew_function *record)
{
	const struct frame_site *site;
	struct task *task;
	struct frame_close lost = {.end = record->header.time, .closed = CLEW_FRAME_LOST};
	int r = 0;

	if (build_nobody(record->task) || record->site >= builder->frames.sites.count)
		return 0;
	site = (const struct frame_site *)builder->frames.sites.data + record->site;
	if (!site->roles)
		return 0;
	task = build_task_get(builder, record->task);
	/* The dead call nothing, and are forgotten at a time that depends on the takers. */
	if (task && task->state == TASK_DEAD)
		return 0;
	if (!task || !frame_stack_of(builder, task))
		return -ENOMEM;
	if (record->header.flags & CLEW_FUNCTION_LOST)
		r = frame_close_all(builder, task, &lost);
	task->frames->last = builder->now;
	if (r >= 0)
		r = take_roles(builder, task, site, record);
	task->frames->probes += cost_of(builder, site, record);
	return r;
}
