/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work items: which one a worker ran at any moment of about the last second, and what
 * led to it. An item lasts until its worker begins the next one, so that what the
 * worker does at the end of an item still belongs to that item.
 */
#include "builder/work.h"
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/cause.h"
#include "builder/emit.h"
#include "builder/task.h"
#include "builder/writeback.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct item {
	uint64_t began;
	struct links links;
};

/* A ring of items in the order they began; the oldest ones are dropped. */
struct worker {
	struct item *items;
	uint32_t first, count, capacity;
	uint32_t loop_device; /* the one that its item serves, 0 none */
};

static struct item *item_at(const struct worker *worker, uint32_t index)
{
	return &worker->items[(worker->first + index) % worker->capacity];
}

static const struct item *item_then(const struct worker *worker, uint64_t at)
{
	for (uint32_t i = worker->count; i > 0; i--)
		if (item_at(worker, i - 1)->began <= at)
			return item_at(worker, i - 1);
	return NULL;
}

bool build_work_links(const struct task *worker, uint64_t at, struct links *links)
{
	const struct item *item = worker->worker ? item_then(worker->worker, at) : NULL;

	if (!item)
		return false;
	for (uint32_t i = 0; i < item->links.count && links->count < BUILD_LINKS; i++)
		links->of[links->count++] = item->links.of[i];
	return true;
}

static struct item *new_item(struct clew_builder *builder, struct task *task)
{
	struct worker *worker = task->worker;

	if (!worker) {
		worker = task->worker = calloc(1, sizeof(*worker));
		if (!worker)
			return NULL;
		builder->works.memory += sizeof(*worker);
	}
	while (worker->count > 1 && (worker->count >= BUILD_PAST_MOST ||
				     item_at(worker, 1)->began + BUILD_PAST < builder->now)) {
		worker->first = (worker->first + 1) % worker->capacity;
		worker->count--;
	}
	if (worker->count == worker->capacity) {
		uint32_t capacity = worker->capacity ? worker->capacity * 2 : 4;
		struct item *items = calloc(capacity, sizeof(*items));

		if (!items)
			return NULL;
		for (uint32_t i = 0; i < worker->count; i++)
			items[i] = *item_at(worker, i);
		builder->works.memory += (capacity - worker->capacity) * sizeof(*items);
		free(worker->items);
		worker->items = items;
		worker->first = 0;
		worker->capacity = capacity;
	}
	return item_at(worker, worker->count++);
}

void build_worker_done(struct clew_builder *builder, struct task *task)
{
	if (!task->worker)
		return;
	builder->works.memory -=
		sizeof(*task->worker) + task->worker->capacity * sizeof(*task->worker->items);
	free(task->worker->items);
	free(task->worker);
	task->worker = NULL;
}

void build_works_done(struct clew_builder *builder)
{
	map_done(&builder->works.loops);
	map_done(&builder->works.loop_devices);
}

uint32_t build_loop_device(const struct task *task)
{
	return task->worker ? task->worker->loop_device : 0;
}

/* One item serves many requests of a loop device. The task that queued the item issued a request of
 * that device just before. */
static int find_loop_device(struct clew_builder *builder, const struct clew_work *record,
			    uint32_t *ret_device)
{
	const uint64_t *known = map_get(&builder->works.loop_devices, record->work, 0);
	uint32_t device = 0;

	*ret_device = 0;
	if (!map_get(&builder->works.loops, record->function, 0))
		return 0;
	if (record->queued)
		device = build_issued_before(builder, record->queuer, record->queued);
	*ret_device = device ? device : known ? (uint32_t)*known : 0;
	return device ? map_set(&builder->works.loop_devices, record->work, 0, device) : 0;
}

/* The edge from the task that queued an item to the worker's run of it. */
static int send_edge(struct clew_builder *builder, const struct clew_work *record,
		     const struct links *links)
{
	const struct clew_link *origin = &links->of[0];
	struct clew_edge edge = {
		.to_at = builder->now,
		.to = record->worker,
		.type = CLEW_EDGE_WORK,
		.evidence = CLEW_EVIDENCE_EXACT,
		.context = record->context <= CLEW_WAKE_WORK ? record->context : CLEW_WAKE_UNKNOWN,
		.object = {.kind = CLEW_OBJECT_WORK, .number = record->function, .descriptor = -1},
	};

	/* Delayed work is queued by its timer: the origin is the task that armed the timer. */
	if (origin->task == CLEW_NO_TASK && links->count > 1 &&
	    links->of[1].kind == CLEW_LINK_TIMER)
		origin = &links->of[1];
	edge.from = origin->task;
	edge.from_at = origin->at;
	if (edge.from == CLEW_NO_TASK || edge.from_at == 0 ||
	    build_dropped(builder, CLEW_EDGE_WORK))
		return 0;
	return build_send_edge(builder, &edge);
}

/* A barrier item in the queue: a flush waits for the item before it. */
static void barrier_links(const struct worker *worker, struct links *links)
{
	if (worker && worker->count > 0)
		*links = item_at(worker, worker->count - 1)->links;
	else
		*links = (struct links){.count = 1, .of = {{.kind = CLEW_LINK_WORK}}};
	links->of[0].flags |= CLEW_LINK_BARRIER;
}

int build_feed_work(struct clew_builder *builder, const struct clew_work *record)
{
	struct task *task = build_task_get(builder, record->worker);
	bool by_task = record->context == CLEW_WAKE_TASK && !build_nobody(record->queuer);
	const struct task *queuer = by_task ? build_task_find(builder, record->queuer) : NULL;
	struct links links = {.count = 1};
	struct item *item;
	int r;

	if (!task)
		return build_nobody(record->worker) ? 0 : -ENOMEM;
	links.of[0] = (struct clew_link){
		.kind = CLEW_LINK_WORK,
		.flags = record->header.flags & CLEW_WORK_RESCUER ? CLEW_LINK_RESCUER : 0,
		.evidence = CLEW_EVIDENCE_EXACT,
		.number = record->function,
		.at = record->queued,
		.begin = builder->now,
		.task = by_task ? record->queuer : CLEW_NO_TASK,
		.worker = record->worker,
	};
	if (record->header.flags & CLEW_WORK_BARRIER) {
		barrier_links(task->worker, &links);
		links.of[0].worker = record->worker;
	} else if (record->cause.kind != CLEW_CAUSE_NONE) {
		build_cause_links(builder, &record->cause, record->queued, &links);
	} else if (queuer && queuer->worker) {
		build_work_links(queuer, record->queued, &links);
	}
	build_flush_next(task);
	item = new_item(builder, task);
	if (!item)
		return -ENOMEM;
	*item = (struct item){.began = builder->now, .links = links};
	if (record->header.flags & CLEW_WORK_BARRIER)
		return 0;
	r = find_loop_device(builder, record, &task->worker->loop_device);
	return r < 0 ? r : send_edge(builder, record, &links);
}

size_t build_works_memory(const struct clew_builder *builder)
{
	return builder->works.memory + map_memory(&builder->works.loop_devices);
}
