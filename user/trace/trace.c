/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The taker that keeps everything. Each run, sleep and ready interval is stored once, in
 * the array of its kind; the timelines of tasks and CPUs are lists of indexes. A sleep is
 * stored at the index of its number, so that the array is in order of start with few
 * exceptions, which order.c puts right at the end.
 */
#include "trace/deadlock_left.h"
#include "trace/internal.h"
#include "trace/lines.h"
#include "trace/stacks.h"
#include "trace/taken.h"
#include "trace/tried.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_number(struct clew_trace *trace, struct numbers *numbers, uint32_t number)
{
	if (numbers->count == numbers->capacity) {
		uint32_t capacity = numbers->capacity ? numbers->capacity * 2 : 8;
		uint32_t *data = realloc(numbers->data, capacity * sizeof(*data));

		if (!data)
			return -ENOMEM;
		trace->number_bytes += (capacity - numbers->capacity) * sizeof(*data);
		numbers->data = data;
		numbers->capacity = capacity;
	}
	numbers->data[numbers->count++] = number;
	return 0;
}

int trace_append_piece(struct clew_trace *trace, struct trace_task *task, unsigned kind,
		       size_t index)
{
	if (index > PIECE_INDEX)
		return -EFBIG;
	return add_number(trace, &task->pieces, kind << PIECE_SHIFT | (uint32_t)index);
}

/* A sleep whose holders were found late arrives after its successors. */
int trace_add_piece(struct clew_trace *trace, uint32_t serial, unsigned kind, size_t index,
		    uint64_t start)
{
	struct trace_task *task = trace_task_get(trace, serial);
	uint32_t piece, at;
	int r;

	if (!task)
		return -ENOMEM;
	r = trace_append_piece(trace, task, kind, index);
	if (r < 0)
		return r;
	piece = task->pieces.data[task->pieces.count - 1];
	if (start >= task->last_start) {
		task->last_start = start;
		return 0;
	}
	for (at = task->pieces.count - 1;
	     at > 0 && trace_piece_start(trace, task->pieces.data[at - 1]) > start; at--)
		task->pieces.data[at] = task->pieces.data[at - 1];
	task->pieces.data[at] = piece;
	return 0;
}

int trace_keep_run(struct clew_trace *trace, const struct clew_run *run, size_t *ret_index)
{
	size_t index = trace->runs.count;
	int r = vector_reserve(&trace->runs, index + 1);

	if (r < 0)
		return r;
	((struct clew_run *)trace->runs.data)[trace->runs.count++] = *run;
	trace->last_run = run->end > trace->last_run ? run->end : trace->last_run;
	*ret_index = index;
	if (run->cpu == UINT16_MAX)
		return 0;
	if (run->cpu >= trace->cpu_count) {
		size_t count = (size_t)run->cpu + 1;
		struct numbers *cpus = realloc(trace->cpus, count * sizeof(*cpus));

		if (!cpus)
			return -ENOMEM;
		memset(cpus + trace->cpu_count, 0, (count - trace->cpu_count) * sizeof(*cpus));
		trace->cpus = cpus;
		trace->cpu_count = count;
	}
	return add_number(trace, &trace->cpus[run->cpu], (uint32_t)index);
}

static int add_run(struct clew_trace *trace, const struct clew_run *run)
{
	size_t index;
	int r = trace_keep_run(trace, run, &index);

	if (r < 0 || run->task == CLEW_NO_TASK)
		return r;
	r = trace_add_piece(trace, run->task, PIECE_RUN, index, run->start);
	if (r >= 0 && run->ended == CLEW_RUN_EXITED)
		trace_task_find(trace, run->task)->task.death = run->end;
	return r;
}

static int add_sleep(struct clew_trace *trace, const struct clew_sleep *sleep)
{
	size_t index = sleep->number;
	struct clew_sleep *place;
	int r = index > PIECE_INDEX ? -EFBIG : vector_reserve(&trace->sleeps, index + 1);

	if (r < 0)
		return r;
	place = (struct clew_sleep *)trace->sleeps.data + index;
	*place = *sleep;
	place->holders = NULL;
	if (sleep->holder_count > 0) {
		size_t bytes = sleep->holder_count * sizeof(*sleep->holders);
		struct clew_holder *holders = arena_take(&trace->arena, bytes);

		if (!holders)
			return -ENOMEM;
		place->holders = memcpy(holders, sleep->holders, bytes);
	}
	place->links = NULL;
	if (sleep->link_count > 0) {
		size_t bytes =
			((size_t)sleep->link_count + sleep->and_count) * sizeof(*sleep->links);
		struct clew_link *links = arena_take(&trace->arena, bytes);

		if (!links)
			return -ENOMEM;
		place->links = memcpy(links, sleep->links, bytes);
	}
	if (index >= trace->sleeps.count)
		trace->sleeps.count = index + 1;
	return trace_add_piece(trace, sleep->task, PIECE_SLEEP, index, sleep->start);
}

static int add_ready(struct clew_trace *trace, const struct clew_ready *ready)
{
	size_t index = trace->readies.count;
	int r = vector_reserve(&trace->readies, index + 1);

	if (r < 0)
		return r;
	((struct clew_ready *)trace->readies.data)[trace->readies.count++] = *ready;
	return trace_add_piece(trace, ready->task, PIECE_READY, index, ready->start);
}

static int add_edge(struct clew_trace *trace, const struct clew_edge *edge)
{
	size_t index = trace->lone_edges.count;
	struct trace_task *task;
	int r;

	if (edge->ends_sleep)
		return 0;
	r = vector_reserve(&trace->lone_edges, index + 1);
	if (r < 0)
		return r;
	((struct clew_edge *)trace->lone_edges.data)[trace->lone_edges.count++] = *edge;
	if (edge->type != CLEW_EDGE_FORK && edge->type != CLEW_EDGE_EXEC)
		return 0;
	task = trace_task_get(trace, edge->to);
	if (!task)
		return -ENOMEM;
	if (edge->type == CLEW_EDGE_EXEC && task->executed < edge->to_at)
		task->executed = edge->to_at;
	if (edge->from == edge->to)
		return 0;
	if (!task->origin)
		task->origin = (uint32_t)index + 1;
	return 0;
}

/* A request to an io_uring. */
static int take_ring(struct clew_trace *trace, const struct clew_ring *ring)
{
	struct {
		struct clew_moment moment;
		uint64_t values[4]; /* as enum clew_ring_field has them */
	} record = {
		.moment = {.header = {.time = ring->header.time,
				      .cpu = ring->header.cpu,
				      .kind = CLEW_KIND_MOMENT},
			   .task = ring->task,
			   .point = (uint16_t)(CLEW_MOMENT_RING +
					       (ring->header.flags == CLEW_RING_COMPLETE)),
			   .size = sizeof(record.values)},
		.values = {ring->request, ring->user_data, ring->operation, ring->ring},
	};

	if (ring->header.flags == CLEW_RING_WORKER || !trace->keeps_rings)
		return 0;
	return trace_identity(trace, &record.moment.header);
}

int trace_take(void *context, struct clew_finding finding)
{
	struct clew_trace *trace = context;

	switch (finding.tag) {
	case CLEW_FINDING_IDENTITY:
		return finding.identity->kind == CLEW_KIND_RING
			       ? take_ring(trace, (const struct clew_ring *)finding.identity)
			       : trace_identity(trace, finding.identity);
	case CLEW_FINDING_RUN:
		return add_run(trace, finding.run);
	case CLEW_FINDING_SLEEP:
		return add_sleep(trace, finding.sleep);
	case CLEW_FINDING_READY:
		return add_ready(trace, finding.ready);
	case CLEW_FINDING_EDGE:
		return add_edge(trace, finding.edge);
	case CLEW_FINDING_REQUEST:
		return trace_add_request(trace, finding.request);
	case CLEW_FINDING_BELOW:
		return trace_add_below(trace, finding.below);
	case CLEW_FINDING_SPIN:
		return trace_add_spin(trace, finding.spin);
	case CLEW_FINDING_STAY:
		return trace_add_stay(trace, finding.stay);
	case CLEW_FINDING_TALLY:
		return trace_add_tally(trace, finding.tally);
	case CLEW_FINDING_FRAME:
		return trace_add_frame(trace, finding.frame);
	case CLEW_FINDING_PAGES:
		return trace_add_pages(trace, finding.pages);
	case CLEW_FINDING_TOUCH:
		return trace_add_touch(trace, finding.touch);
	case CLEW_FINDING_ENTERED: /* it comes again when it is over, .. */
	case CLEW_FINDING_SERVED:  /* .. and this one as a REQUEST */
		return 0;
	case CLEW_FINDING_COUNT:
		break;
	}
	return -EINVAL;
}

struct clew_finding_taker clew_trace_taker(struct clew_trace *trace)
{
	return (struct clew_finding_taker){
		.wants = CLEW_FINDINGS_ALL,
		.take = trace->part ? trace_part_take : trace_take,
		.context = trace,
	};
}

int clew_trace_new(const struct clew_trace_options *options, uint64_t start,
		   struct clew_trace **ret_trace)
{
	struct clew_trace *trace;

	if (options && options->size < sizeof(*options))
		return -EINVAL;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	trace->start = trace->end = start;
	trace->drop_types = options ? options->drop_types : 0;
	trace->live = options && options->live;
	trace->runs.item = sizeof(struct clew_run);
	trace->sleeps.item = sizeof(struct clew_sleep);
	trace->readies.item = sizeof(struct clew_ready);
	trace->lone_edges.item = sizeof(struct clew_edge);
	trace->gaps.item = sizeof(struct clew_gap);
	trace->announcements.item = sizeof(const struct clew_announce *);
	trace->moments.item = sizeof(const struct clew_moment *);
	trace->end_sleepers.item = sizeof(struct clew_end);
	trace->end_holders.item = sizeof(struct clew_end);
	trace->passes.item = sizeof(struct trace_pass);
	trace->requests.item = sizeof(struct clew_trace_request);
	trace->below.item = sizeof(struct clew_below);
	trace->page_extents.item = sizeof(struct clew_page_extent);
	trace->touches.item = sizeof(struct clew_touch);
	trace->spins.item = sizeof(struct clew_spin);
	trace->failed.item = sizeof(struct clew_failed);
	trace->deadlocks.item = sizeof(struct clew_deadlock);
	trace->left_stuck.item = sizeof(struct left_stuck);
	trace->tried.item = sizeof(struct clew_tried);
	trace->retries.item = sizeof(struct clew_retried);
	trace->stays.item = trace->ticks.item = sizeof(struct clew_stay);
	trace->tallies.item = sizeof(struct clew_tally);
	trace->frames.item = sizeof(struct clew_trace_frame);
	trace->frame_keys.item = sizeof(struct frame_key);
	trace->frame_details.item = sizeof(struct clew_frame_detail);
	trace->functions.item = sizeof(struct clew_trace_function);
	trace->taken.item = sizeof(struct clew_taken);
	trace->waited.item = sizeof(struct clew_task_stacks);
	trace->wakers.item = sizeof(struct clew_task_stacks);
	trace->samples.item = sizeof(struct clew_task_stacks);
	trace->symbols.item = sizeof(struct trace_symbol);
	trace->metas.item = sizeof(const char *);
	trace->own_types.item = sizeof(const char *);
	trace->pages.item = sizeof(struct trace_page *);
	trace->tasks.item = sizeof(struct trace_task *);
	pthread_mutex_init(&trace->frame_lock, NULL);
	pthread_mutex_init(&trace->edge_lock, NULL);
	if (options && options->to && trace_part_new(trace, options->from, options->to) < 0) {
		clew_trace_free(trace);
		return -ENOMEM;
	}
	*ret_trace = trace;
	return 0;
}

static void free_timelines(struct clew_trace *trace)
{
	for (size_t i = 0; i < trace->tasks.count; i++) {
		free(trace_task_at(trace, i)->pieces.data);
		free(trace_task_at(trace, i)->names);
		trace_free_frame_table(trace_task_at(trace, i));
	}
	vector_done(&trace->tasks);
	for (size_t cpu = 0; cpu < trace->cpu_count; cpu++)
		free(trace->cpus[cpu].data);
	free(trace->cpus);
}

/* Waits, what they were for, and who ended them. */
static void free_waits(struct clew_trace *trace)
{
	free(trace->edges);
	free(trace->edge_sleeps);
	vector_done(&trace->runs);
	vector_done(&trace->sleeps);
	vector_done(&trace->readies);
	vector_done(&trace->lone_edges);
	vector_done(&trace->end_sleepers);
	vector_done(&trace->end_holders);
	vector_done(&trace->passes);
	vector_done(&trace->spins);
	vector_done(&trace->failed);
	vector_done(&trace->deadlocks);
	vector_done(&trace->left_stuck);
	free(trace->stuck);
	vector_done(&trace->retries);
	vector_done(&trace->tried);
	map_done(&trace->tried_of);
	map_done(&trace->retry_of);
	map_done(&trace->vain);
	vector_done(&trace->waited);
	vector_done(&trace->wakers);
	map_done(&trace->locks);
	free(trace->throttles.data);
}

/* Messages between tasks, requests to disks, and the pages they move. */
static void free_traffic(struct clew_trace *trace)
{
	trace_free_messages(trace);
	map_done(&trace->acceptors);
	dense_done(&trace->in_exchange);
	dense_done(&trace->resting);
	map_done(&trace->sockets);
	vector_done(&trace->requests);
	vector_done(&trace->below);
	vector_done(&trace->page_extents);
	vector_done(&trace->pages);
	vector_done(&trace->touches);
	trace_touches_done(&trace->joined);
	map_done(&trace->files);
}

/* Functions, stacks, and the names of code. */
static void free_code(struct clew_trace *trace)
{
	vector_done(&trace->frames);
	vector_done(&trace->frame_keys);
	vector_done(&trace->frame_details);
	vector_done(&trace->functions);
	vector_done(&trace->taken);
	vector_done(&trace->dropped);
	vector_done(&trace->announcements);
	vector_done(&trace->moments);
	vector_done(&trace->own_types);
	map_done(&trace->stacks);
	map_done(&trace->images);
	vector_done(&trace->samples);
	vector_done(&trace->symbols);
	map_done(&trace->addresses);
	map_done(&trace->codes);
	map_done(&trace->memories);
}

void clew_trace_free(struct clew_trace *trace)
{
	if (!trace)
		return;
	if (trace->jobs)
		trace->free_jobs(trace->jobs);
	free_timelines(trace);
	free_waits(trace);
	free_traffic(trace);
	free_code(trace);
	vector_done(&trace->gaps);
	vector_done(&trace->stays);
	vector_done(&trace->ticks);
	vector_done(&trace->tallies);
	vector_done(&trace->metas);
	map_done(&trace->cgroups);
	map_done(&trace->texts);
	trace_lines_free(trace->lines);
	trace_part_free(trace->part);
	arena_done(&trace->arena);
	pthread_mutex_destroy(&trace->frame_lock);
	pthread_mutex_destroy(&trace->edge_lock);
	free(trace);
}

int clew_trace_finish(struct clew_trace *trace, uint64_t end)
{
	int r;

	trace->end = end > trace->start ? end : trace->start;
	if (trace->info)
		trace->info->imported = clew_trace_meta(trace, "imported") != NULL;
	/* The last records may be a little later than the moment of stopping. */
	if (trace->last_run > trace->end)
		trace->end = trace->last_run;
	if (trace->part)
		trace_part_finish(trace);
	r = trace_order_sleeps(trace);
	if (r < 0)
		return r;
	trace_blind_sleeps(trace);
	trace_finish_stacks(trace);
	trace_order_failed(trace);
	r = trace_finish_requests(trace);
	if (r >= 0)
		r = trace_finish_acceptors(trace);
	if (r >= 0)
		r = trace_finish_touches(trace);
	if (r >= 0)
		r = trace_finish_frames(trace);
	if (r >= 0)
		r = trace_finish_tasks(trace);
	if (r >= 0)
		r = trace_find_taken(trace);
	if (r >= 0)
		r = trace_finish_ends(trace);
	if (r >= 0)
		r = trace_finish_lock_names(trace);
	if (r >= 0)
		r = trace_join_retries(trace);
	if (r >= 0)
		r = trace_find_deadlocks(trace);
	if (r >= 0)
		r = trace_find_tried(trace);
	if (r >= 0)
		r = trace_find_safepoints(trace);
	if (r >= 0)
		r = trace_find_vain(trace);
	if (r >= 0)
		r = trace_finish_messages(trace);
	if (r >= 0)
		r = trace_find_exchanges(trace);
	return r < 0 ? r : trace_find_rests(trace);
}

uint64_t clew_trace_executed(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_task *task = trace_task_find(trace, serial);

	return task ? task->executed : 0;
}

bool clew_trace_is_cut(const struct clew_trace *trace)
{
	return trace->part && trace->part->cut;
}

bool clew_trace_is_live(const struct clew_trace *trace)
{
	return trace->live;
}

bool clew_trace_is_cut_early(const struct clew_trace *trace)
{
	return clew_trace_is_cut(trace) && trace->part->early;
}

uint64_t clew_trace_start(const struct clew_trace *trace)
{
	return trace->start;
}

uint64_t clew_trace_end(const struct clew_trace *trace)
{
	return trace->end;
}

const struct clew_capture_info *clew_trace_info(const struct clew_trace *trace)
{
	return trace->info;
}

const char *clew_trace_meta(const struct clew_trace *trace, const char *key)
{
	const char *const *metas = trace->metas.data;

	for (size_t i = 0; i < trace->metas.count; i += 2)
		if (!strcmp(metas[i], key))
			return metas[i + 1];
	return NULL;
}

const struct clew_sleep *clew_trace_sleeps(const struct clew_trace *trace, size_t *ret_count)
{
	*ret_count = trace->sleeps.count - trace->first_sleep;
	return *ret_count ? (const struct clew_sleep *)trace->sleeps.data + trace->first_sleep
			  : NULL;
}

const struct clew_ready *clew_trace_readies(const struct clew_trace *trace, size_t *ret_count)
{
	*ret_count = trace->readies.count;
	return trace->readies.data;
}

const struct clew_run *clew_trace_runs(const struct clew_trace *trace, size_t *ret_count)
{
	*ret_count = trace->runs.count;
	return trace->runs.data;
}

size_t clew_trace_gaps(const struct clew_trace *trace, uint64_t from, uint64_t to,
		       const struct clew_gap **ret_first)
{
	const struct clew_gap *gaps = trace->gaps.data;
	size_t count = 0;

	if (ret_first)
		*ret_first = NULL;
	for (size_t i = 0; i < trace->gaps.count; i++) {
		if (gaps[i].from > to || gaps[i].header.time < from)
			continue;
		if (count++ == 0 && ret_first)
			*ret_first = &gaps[i];
	}
	return count;
}

uint64_t clew_trace_hidden(const struct clew_trace *trace)
{
	return trace->hidden;
}

struct clew_builder_forgotten clew_trace_forgotten(const struct clew_trace *trace)
{
	return trace->forgotten;
}

static size_t vector_used(const struct vector *vector)
{
	return vector->count * vector->item;
}

size_t clew_trace_memory(const struct clew_trace *trace)
{
	return sizeof(*trace) + vector_used(&trace->runs) + vector_used(&trace->sleeps) +
	       vector_used(&trace->readies) + vector_used(&trace->lone_edges) +
	       vector_used(&trace->gaps) + vector_used(&trace->announcements) +
	       vector_used(&trace->moments) + vector_used(&trace->end_sleepers) +
	       vector_used(&trace->end_holders) + vector_used(&trace->passes) +
	       vector_used(&trace->pages) + vector_used(&trace->tasks) +
	       vector_used(&trace->requests) + vector_used(&trace->below) +
	       vector_used(&trace->page_extents) + vector_used(&trace->touches) +
	       vector_used(&trace->spins) + vector_used(&trace->failed) +
	       vector_used(&trace->talk_ends) + vector_used(&trace->exchanges) +
	       vector_used(&trace->placed) + map_memory(&trace->talk_of) +
	       map_memory(&trace->talk_keys) + vector_used(&trace->retries) +
	       vector_used(&trace->stays) + vector_used(&trace->ticks) +
	       vector_used(&trace->tallies) + vector_used(&trace->frames) +
	       vector_used(&trace->frame_details) + vector_used(&trace->functions) +
	       vector_used(&trace->taken) + map_memory(&trace->retry_of) +
	       map_memory(&trace->vain) + trace->in_exchange.of.bytes + trace->resting.of.bytes +
	       trace->number_bytes + trace->cpu_count * sizeof(*trace->cpus) +
	       map_memory(&trace->files) + map_memory(&trace->sockets) +
	       map_memory(&trace->cgroups) + map_memory(&trace->texts) + map_memory(&trace->locks) +
	       map_memory(&trace->addresses) + map_memory(&trace->codes) +
	       map_memory(&trace->memories) + trace->arena.bytes +
	       trace->edge_count * (sizeof(*trace->edges) + sizeof(*trace->edge_sleeps));
}
