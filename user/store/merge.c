/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The merge of streams that are fed: a queue and a horizon a stream. */
#include "store/merge.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "store/capture.h"
#include "store/queue.h"

struct input {
	struct store_queue queue;
	_Alignas(STORE_CACHE_LINE) _Atomic uint64_t horizon;
	uint64_t used;			  /* the latest horizon that others were emitted by */
	const struct clew_header *record; /* the queue's first, NULL: none was there */
};

struct clew_merge {
	unsigned cpus;
	uint64_t late;
	struct store_heads heads; /* of all inputs, always */
	struct input inputs[];	  /* CPUs, then the user stream */
};

uint32_t store_stream_order(unsigned stream)
{
	return stream == CLEW_STREAM_USER ? 0 : stream + 1;
}

int clew_merge_new(unsigned cpus, size_t size, struct clew_merge **ret_merge)
{
	size_t count = (size_t)cpus + 1, bytes;
	struct clew_merge *merge;

	if (cpus >= CLEW_STREAM_USER)
		return -EINVAL;
	bytes = sizeof(*merge) + count * sizeof(merge->inputs[0]);
	merge = aligned_alloc(_Alignof(struct clew_merge), bytes);
	if (!merge)
		return -ENOMEM;
	*merge = (struct clew_merge){.cpus = cpus};
	for (size_t i = 0; i < count; i++)
		merge->inputs[i] = (struct input){.used = 0};
	merge->heads.heads = calloc(count, sizeof(*merge->heads.heads));
	merge->heads.count = count;
	for (size_t i = 0; i < count; i++) {
		if (!merge->heads.heads || store_queue_init(&merge->inputs[i].queue, size) < 0) {
			clew_merge_free(merge);
			return -ENOMEM;
		}
		merge->heads.heads[i] = (struct store_head){
			.order = store_stream_order(i == cpus ? CLEW_STREAM_USER : (unsigned)i),
			.input = i,
		};
	}
	*ret_merge = merge;
	return 0;
}

void clew_merge_free(struct clew_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i <= merge->cpus; i++)
		store_queue_done(&merge->inputs[i].queue);
	free(merge->heads.heads);
	free(merge);
}

static struct input *find_input(struct clew_merge *merge, unsigned stream)
{
	if (stream == CLEW_STREAM_USER)
		return &merge->inputs[merge->cpus];
	return stream < merge->cpus ? &merge->inputs[stream] : NULL;
}

int clew_merge_feed(struct clew_merge *merge, unsigned stream, const struct clew_header *record,
		    size_t size)
{
	struct input *input = find_input(merge, stream);

	if (!input)
		return -EINVAL;
	return store_queue_put(&input->queue, record, size) ? 0 : -ENOBUFS;
}

void clew_merge_advance(struct clew_merge *merge, unsigned stream, uint64_t horizon)
{
	struct input *input = find_input(merge, stream);

	if (input && horizon > atomic_load_explicit(&input->horizon, memory_order_relaxed))
		atomic_store_explicit(&input->horizon, horizon, memory_order_release);
}

void clew_merge_end(struct clew_merge *merge)
{
	for (unsigned i = 0; i <= merge->cpus; i++)
		atomic_store_explicit(&merge->inputs[i].horizon, UINT64_MAX, memory_order_release);
}

/* Finds the input's next record, and the time at which it takes part. */
static uint64_t look_at(struct input *input)
{
	uint64_t horizon;

	input->record = store_queue_first(&input->queue);
	if (input->record)
		return input->record->time;
	/*
	 * Records that were fed before the horizon was moved are visible once
	 * it is read.
	 */
	horizon = atomic_load_explicit(&input->horizon, memory_order_acquire);
	input->record = store_queue_first(&input->queue);
	if (input->record)
		return input->record->time;
	input->used = horizon;
	return horizon;
}

int clew_merge_run(struct clew_merge *merge,
		   int (*emit)(void *context, const struct clew_header *record), void *context)
{
	struct store_head *first = merge->heads.heads;
	int r = 0;

	for (size_t i = 0; i < merge->heads.count; i++)
		first[i].time = look_at(&merge->inputs[first[i].input]);
	store_heads_order(&merge->heads);
	while (r >= 0 && merge->inputs[first->input].record) {
		struct input *input = &merge->inputs[first->input];

		merge->late += input->record->time < input->used;
		r = emit(context, input->record);
		store_queue_drop(&input->queue);
		first->time = look_at(input);
		store_heads_sink(&merge->heads, 0);
	}
	return r < 0 ? r : 0;
}

uint64_t clew_merge_horizon(const struct clew_merge *merge)
{
	return merge->heads.heads[0].time;
}

uint64_t clew_merge_late(const struct clew_merge *merge)
{
	return merge->late;
}
