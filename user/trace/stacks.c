/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps stacks by their hashes, and names by where their functions lie. A sleep finds its stacks by
 * its task and the moment at which the task had the CPU again: the record has the time of that
 * switch. A wake finds its stacks by the waker and its time. A running interval finds its samples
 * by their task and time.
 */
#include "trace/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

#define NESTED_MOST 64 /* functions that are looked at for one frame */

static int add(struct vector *vector, const void *item)
{
	if (vector_reserve(vector, vector->count + 1) < 0)
		return -ENOMEM;
	memcpy((char *)vector->data + vector->count++ * vector->item, item, vector->item);
	return 0;
}

static int take_stack(struct clew_trace *trace, const struct clew_stack *record)
{
	struct clew_trace_stack *stack;

	if (map_get(&trace->stacks, record->hash, 0))
		return 0;
	stack = arena_take(&trace->arena, sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	*stack = (struct clew_trace_stack){
		.frames = arena_copy(&trace->arena, record + 1, record->size),
		.count = record->size / sizeof(uint64_t),
		.end = record->end,
		.flags = record->header.flags,
	};
	return stack->frames ? map_set(&trace->stacks, record->hash, 0, (uintptr_t)stack) : -ENOMEM;
}

/* A sleep that is not over has no switch. */
static int take_waited(struct clew_trace *trace, const struct clew_task_stacks *record)
{
	struct clew_task_stacks waited = *record;

	if (waited.header.flags & CLEW_WAITED_STILL)
		waited.header.time = CLEW_TIME_OPEN;
	return add(&trace->waited, &waited);
}

static int take_image(struct clew_trace *trace, const struct clew_image_record *record)
{
	struct trace_image *image = arena_take(&trace->arena, sizeof(*image));
	const char *path = arena_copy(&trace->arena, record + 1, record->size);

	if (!image || !path)
		return -ENOMEM;
	*image = (struct trace_image){
		.path = path,
		.bias = record->bias,
		.build_id_size =
			record->build_id_size <= CLEW_BUILD_ID_BYTES ? record->build_id_size : 0,
		.jit = record->header.flags & CLEW_IMAGE_JIT,
		.linked = record->header.flags & CLEW_IMAGE_LINKED,
		.base = record->header.flags & CLEW_IMAGE_JIT ? record->inode : 0,
	};
	memcpy(image->build_id, record->build_id, sizeof(image->build_id));
	return map_set(&trace->images, record->image, 0, (uintptr_t)image);
}

static int take_symbol(struct clew_trace *trace, const struct clew_symbol_record *record)
{
	struct trace_symbol symbol = {
		.start = record->start,
		.length = record->length,
		.image = record->image,
		.name = arena_copy(&trace->arena, record + 1, record->size),
	};

	return symbol.name ? add(&trace->symbols, &symbol) : -ENOMEM;
}

int trace_take_stack(struct clew_trace *trace, const struct clew_header *header)
{
	switch (header->kind) {
	case CLEW_KIND_STACK:
		return take_stack(trace, (const struct clew_stack *)header);
	case CLEW_KIND_WAITED:
		return take_waited(trace, (const struct clew_task_stacks *)header);
	case CLEW_KIND_WAKER:
		return add(&trace->wakers, header);
	case CLEW_KIND_SAMPLE:
		return add(&trace->samples, header);
	case CLEW_KIND_IMAGE:
		return take_image(trace, (const struct clew_image_record *)header);
	default:
		return take_symbol(trace, (const struct clew_symbol_record *)header);
	}
}

static int by_task_and_time(const void *a, const void *b)
{
	const struct clew_task_stacks *left = a, *right = b;

	if (left->task != right->task)
		return left->task < right->task ? -1 : 1;
	return left->header.time < right->header.time	? -1
	       : left->header.time > right->header.time ? 1
							: 0;
}

static int by_place(const void *a, const void *b)
{
	const struct trace_symbol *left = a, *right = b;

	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return left->start < right->start ? -1 : left->start > right->start;
}

void trace_finish_stacks(struct clew_trace *trace)
{
	if (trace->waited.count)
		qsort(trace->waited.data, trace->waited.count, trace->waited.item,
		      by_task_and_time);
	if (trace->wakers.count)
		qsort(trace->wakers.data, trace->wakers.count, trace->wakers.item,
		      by_task_and_time);
	if (trace->samples.count)
		qsort(trace->samples.data, trace->samples.count, trace->samples.item,
		      by_task_and_time);
	if (trace->symbols.count)
		qsort(trace->symbols.data, trace->symbols.count, trace->symbols.item, by_place);
}

bool clew_trace_has_stacks(const struct clew_trace *trace)
{
	return trace->waited.count || trace->samples.count || trace->stacks.count;
}

static const struct clew_trace_stack *stack_of(const struct clew_trace *trace, uint64_t hash)
{
	const uint64_t *stack = hash ? map_get(&trace->stacks, hash, 0) : NULL;

	return stack ? (const struct clew_trace_stack *)(uintptr_t)*stack : NULL;
}

static struct clew_sleep_stacks stacks_of(const struct clew_trace *trace,
					  const struct clew_task_stacks *record)
{
	const struct clew_trace_stack *user = stack_of(trace, record->user);

	return (struct clew_sleep_stacks){
		.user = user,
		.kernel = stack_of(trace, record->kernel),
		.user_end = record->user && !user ? CLEW_STACK_LOST : record->end,
	};
}

bool clew_trace_sleep_stacks(const struct clew_trace *trace, const struct clew_sleep *sleep,
			     struct clew_sleep_stacks *ret_stacks)
{
	struct clew_task_stacks wanted = {.header.time = sleep->switch_in, .task = sleep->task},
				*found;

	/* A later switch of it may have been lost. */
	if (sleep->switch_in == CLEW_TIME_OPEN && sleep->end != CLEW_TIME_OPEN)
		return false;
	found = trace->waited.count ? bsearch(&wanted, trace->waited.data, trace->waited.count,
					      trace->waited.item, by_task_and_time)
				    : NULL;
	if (!found)
		return false;
	*ret_stacks = stacks_of(trace, found);
	return true;
}

bool clew_trace_waker_stacks(const struct clew_trace *trace, uint32_t waker, uint64_t at,
			     struct clew_sleep_stacks *ret_stacks)
{
	struct clew_task_stacks wanted = {.header.time = at, .task = waker}, *found;

	found = trace->wakers.count ? bsearch(&wanted, trace->wakers.data, trace->wakers.count,
					      trace->wakers.item, by_task_and_time)
				    : NULL;
	if (found)
		*ret_stacks = stacks_of(trace, found);
	return found;
}

const struct clew_task_stacks *clew_trace_samples(const struct clew_trace *trace, uint32_t task,
						  uint64_t from, uint64_t to, size_t *ret_count)
{
	const struct clew_task_stacks *samples = trace->samples.data;
	const struct clew_task_stacks wanted = {.header.time = from, .task = task};
	size_t low = 0, high = trace->samples.count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_task_and_time(&samples[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < trace->samples.count && samples[end].task == task &&
			samples[end].header.time < to;)
		end++;
	*ret_count = end - low;
	return *ret_count ? samples + low : NULL;
}

const struct clew_task_stacks *clew_trace_all_samples(const struct clew_trace *trace,
						      size_t *ret_count)
{
	*ret_count = trace->samples.count;
	return trace->samples.data;
}

void clew_trace_sample_stacks(const struct clew_trace *trace, const struct clew_task_stacks *sample,
			      struct clew_sleep_stacks *ret_stacks)
{
	*ret_stacks = stacks_of(trace, sample);
}

void clew_trace_stack_place(const struct clew_trace *trace, uint64_t frame, bool kernel,
			    struct clew_stack_place *ret_place)
{
	const struct trace_symbol *symbols = trace->symbols.data, *symbol;
	uint32_t image = kernel ? CLEW_IMAGE_KERNEL : CLEW_FRAME_IMAGE(frame);
	uint64_t at = kernel ? frame : CLEW_FRAME_OFFSET(frame);
	uint64_t base;
	size_t low = 0, high = trace->symbols.count;
	const struct trace_image *found;
	const uint64_t *known;

	if (!kernel && (frame & CLEW_FRAME_ADDRESS)) {
		at = frame & ~CLEW_FRAME_ADDRESS;
		*ret_place = (struct clew_stack_place){.at = at, .start = at, .outside = true};
		return;
	}
	known = kernel ? NULL : map_get(&trace->images, image, 0);
	found = known ? (const struct trace_image *)(uintptr_t)*known : NULL;
	base = found ? found->base : 0;
	*ret_place = (struct clew_stack_place){
		.at = base + at,
		.start = base + at,
		.object = found && !found->jit && found->path[0] ? found->path : NULL,
		.outside = kernel || (found && found->jit),
		.jit = found && found->jit,
	};
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].image < image ||
		    (symbols[middle].image == image && symbols[middle].start <= at))
			low = middle + 1;
		else
			high = middle;
	}
	/* A function may lie within another one. */
	for (size_t looked = 0; looked < NESTED_MOST && low-- > 0 && symbols[low].image == image;
	     looked++) {
		symbol = &symbols[low];
		if (at - symbol->start >= symbol->length)
			continue;
		ret_place->name = symbol->name[0] ? symbol->name : NULL;
		ret_place->start = base + symbol->start;
		if (found)
			ret_place->object = found->path;
		return;
	}
}
