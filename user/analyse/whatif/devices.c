/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests as sections of their devices: from their issue, which is the last ES of a request's
 * span, to its end. As many fit into a device at once as it had at most.
 */
#include "base/sort.h"
#include <clew/tokens.h>

#include "analyse/path/internal.h"
#include "analyse/whatif/queues.h"

/* The ends of the requests that a device's slots had last: the earliest is first. */
struct slots {
	clew_time *ends;
	uint32_t count, capacity;
};

static void put_slot(struct slots *slots, clew_time end)
{
	uint32_t at = slots->count, child;

	if (slots->count < slots->capacity) {
		for (slots->count++; at > 0 && end < slots->ends[(at - 1) / 2]; at = (at - 1) / 2)
			slots->ends[at] = slots->ends[(at - 1) / 2];
		slots->ends[at] = end;
		return;
	}
	for (at = 0; (child = 2 * at + 1) < slots->count; at = child) {
		if (child + 1 < slots->count && slots->ends[child + 1] < slots->ends[child])
			child++;
		if (slots->ends[child] >= end)
			break;
		slots->ends[at] = slots->ends[child];
	}
	slots->ends[at] = end;
}

/* The most requests that were at the device at once; `slots` has room for all. */
static uint32_t depth_of(const struct clew_model *model, const struct sort_key *keys,
			 uint32_t count, struct slots *slots)
{
	uint32_t depth = 1;

	slots->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct clew_es *es = &model->es[keys[i].index];

		/* A slot that is free by now is used again, else there is one more. */
		slots->capacity = slots->count && slots->ends[0] <= es->start ? slots->count
									      : slots->count + 1;
		put_slot(slots, es->end);
		depth = slots->count > depth ? slots->count : depth;
	}
	return depth;
}

static int add_requests(struct whatif *w, const struct sort_key *keys, uint32_t count,
			struct slots *slots)
{
	const struct clew_model *model = w->model;
	const struct queue queue = {.capacity = depth_of(model, keys, count, slots),
				    .kind = CLEW_SEGMENT_QUEUED,
				    .object = CLEW_NONE};
	clew_time latest = INT64_MIN;
	int r = queues_add(w, &queue);

	slots->count = 0;
	slots->capacity = queue.capacity;
	for (uint32_t i = 0; i < count && r == 0; i++) {
		uint32_t number = keys[i].index;
		const struct clew_es *es = &model->es[number];
		struct section section = {.queue = w->queues->queue_count - 1,
					  .span = es->span,
					  .begin = number,
					  .release = number};
		clew_time arrival = es->start, got;

		section.holds = true;
		section.begin_at = es->start;
		section.release_at = es->end;
		section.waits = !clew_model_is_first(model, number) &&
				usable_trigger(model, number) == CLEW_NONE;
		if (section.waits)
			arrival = es[-1].end;
		section.shift = arrival < latest ? latest - arrival : 0;
		latest = arrival + section.shift;
		got = slots->count == slots->capacity && slots->ends[0] > latest ? slots->ends[0]
										 : latest;
		section.delay = es->start - got;
		put_slot(slots, es->end);
		r = queues_add_section(w, &section);
	}
	return r;
}

/* In order of issue. */
static uint32_t list_requests(const struct clew_model *model, uint32_t root, struct sort_key *keys)
{
	uint32_t count = 0;

	for (uint32_t child = model->spans[root].first_child; child != CLEW_NONE;
	     child = model->spans[child].next_sibling, count++) {
		const struct clew_range *range = &model->spans[child].elementary;
		uint32_t es = range->first + range->count - 1;

		if (keys)
			keys[count] = (struct sort_key){
				.key = (uint64_t)model->es[es].start ^ 1ull << 63, .index = es};
	}
	return count;
}

int whatif_find_devices(struct whatif *w)
{
	const struct clew_model *model = w->model;
	uint32_t devices = hierarchy_named(model, "devices");
	int r = 0;

	for (uint32_t root = model->first_root; root != CLEW_NONE && devices != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling) {
		struct sort_key *keys, *spare;
		struct slots slots;
		uint32_t count;

		if (clew_model_category_of(model, root, devices) == CLEW_NONE)
			continue;
		count = list_requests(model, root, NULL);
		keys = malloc(((size_t)count + 1) * sizeof(*keys));
		spare = malloc(((size_t)count + 1) * sizeof(*spare));
		slots = (struct slots){.ends = malloc(((size_t)count + 1) * sizeof(*slots.ends))};
		r = keys && spare && slots.ends ? 0 : -ENOMEM;
		if (r == 0) {
			list_requests(model, root, keys);
			sort_keys(keys, spare, count);
			r = count ? add_requests(w, keys, count, &slots) : 0;
		}
		free(keys);
		free(spare);
		free(slots.ends);
	}
	return r;
}
