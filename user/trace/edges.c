/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The edges of a trace. A sleep carries the edge that ended it, so that only other edges
 * are stored (fork, exec, a wake whose sleep is unknown). The list of all edges is made
 * when it is first asked for.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void copy_comm(char *to, const char *name)
{
	memcpy(to, name, strnlen(name, CLEW_COMM_SIZE - 1));
}

static struct clew_edge edge_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_edge edge = clew_edge_of_sleep(sleep);

	copy_comm(edge.from_comm, clew_trace_comm_at(trace, edge.from, edge.from_at));
	copy_comm(edge.to_comm, clew_trace_comm_at(trace, edge.to, edge.to_at));
	return edge;
}

/* A page has one moment at which it became dirty. One of its writers may be younger. */
static uint64_t after_birth(const struct clew_trace *trace, const struct clew_edge *edge)
{
	const struct clew_trace_task *task = clew_trace_task(trace, edge->from);

	return task && task->birth > edge->from_at && task->birth <= edge->to_at ? task->birth
										 : edge->from_at;
}

static int make_edges(struct clew_trace *trace)
{
	const struct clew_edge *lone = trace->lone_edges.data;
	size_t sleep_count, count = trace->lone_edges.count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &sleep_count);
	struct clew_edge *edges;
	struct sort_key *keys;
	uint32_t *ended;

	for (size_t i = 0; i < sleep_count; i++)
		count += sleeps[i].edge_type >= 0;
	keys = malloc((2 * count + 1) * sizeof(*keys));
	edges = malloc((count + 1) * sizeof(*edges));
	ended = malloc((count + 1) * sizeof(*ended));
	if (!keys || !edges || !ended) {
		free(keys);
		free(edges);
		free(ended);
		return -ENOMEM;
	}
	/* Indexes from sleep_count up are lone edges. */
	count = 0;
	for (size_t i = 0; i < trace->lone_edges.count; i++)
		keys[count++] = (struct sort_key){.key = lone[i].to_at,
						  .index = (uint32_t)(sleep_count + i)};
	for (size_t i = 0; i < sleep_count; i++)
		if (sleeps[i].edge_type >= 0)
			keys[count++] =
				(struct sort_key){.key = sleeps[i].end, .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++) {
		bool of_sleep = keys[i].index < sleep_count;

		edges[i] = of_sleep ? edge_of(trace, &sleeps[keys[i].index])
				    : lone[keys[i].index - sleep_count];
		/* Edges that are found late may be of tasks that the builder has forgotten. */
		if (edges[i].type == CLEW_EDGE_WRITEBACK || edges[i].type == CLEW_EDGE_READAHEAD) {
			memset(edges[i].from_comm, 0, sizeof(edges[i].from_comm));
			memset(edges[i].to_comm, 0, sizeof(edges[i].to_comm));
			edges[i].from_at = after_birth(trace, &edges[i]);
			copy_comm(edges[i].from_comm,
				  clew_trace_comm_at(trace, edges[i].from, edges[i].from_at));
			copy_comm(edges[i].to_comm,
				  clew_trace_comm_at(trace, edges[i].to, edges[i].to_at));
		}
		/* The record of the new name comes right after the exec. */
		if (edges[i].type == CLEW_EDGE_EXEC) {
			memset(edges[i].to_comm, 0, sizeof(edges[i].to_comm));
			copy_comm(edges[i].to_comm,
				  clew_trace_comm_at(trace, edges[i].to, edges[i].to_at));
		}
		ended[i] = of_sleep ? keys[i].index : UINT32_MAX;
	}
	free(keys);
	trace->edges = edges;
	trace->edge_sleeps = ended;
	trace->edge_count = count;
	return 0;
}

const struct clew_edge *clew_trace_edges(const struct clew_trace *trace, size_t *ret_count)
{
	/* The list is a cache: making it changes nothing that a caller can see. */
	struct clew_trace *writable = (struct clew_trace *)(uintptr_t)trace;
	const struct clew_edge *edges;

	pthread_mutex_lock(&writable->edge_lock);
	edges = writable->edges || make_edges(writable) >= 0 ? writable->edges : NULL;
	*ret_count = edges ? writable->edge_count : 0;
	pthread_mutex_unlock(&writable->edge_lock);
	return edges;
}

const char *clew_trace_type_name(const struct clew_trace *trace, unsigned type)
{
	if (type >= CLEW_EDGE_TYPE_COUNT && type - CLEW_EDGE_TYPE_COUNT < trace->own_types.count)
		return ((const char *const *)trace->own_types.data)[type - CLEW_EDGE_TYPE_COUNT];
	return clew_edge_type_name(type);
}

const struct clew_edge *trace_origin_of(const struct clew_trace *trace,
					const struct trace_task *task)
{
	return task->origin ? (const struct clew_edge *)trace->lone_edges.data + task->origin - 1
			    : NULL;
}

const struct clew_edge *clew_trace_fork_of(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	const struct clew_edge *origin = task ? trace_origin_of(trace, task) : NULL;

	return origin && origin->type == CLEW_EDGE_FORK ? origin : NULL;
}

static bool other_executable(const struct clew_trace_task *task,
			     const struct clew_trace_task *other)
{
	return task->executable[0] && other->executable[0] &&
	       strcmp(task->executable, other->executable) != 0;
}

const char *clew_trace_program(const struct clew_trace *trace, const struct clew_trace_task *task)
{
	/* A parent may have become another program since the fork: then its line is not the
	 * child's. */
	enum { MOST_FORKS = 64 };
	const struct clew_trace_task *at = task;

	for (unsigned depth = 0; at && depth < MOST_FORKS && !other_executable(at, task); depth++) {
		const struct clew_trace_task *leader = clew_trace_task(trace, at->process);

		if (at->command_line[0])
			return at->command_line;
		if (leader && leader->command_line[0])
			return leader->command_line;
		at = leader && clew_trace_fork_of(trace, leader->serial)
			     ? clew_trace_task(trace, leader->parent)
			     : NULL;
	}
	return NULL;
}

/* ns: two CPUs' clocks, as programs in the kernel read them, may differ by some us until the next
 * tick. */
#define CLOCK_SLACK 10000

/* A group that may still grow: the latest release of one waker. */
struct open_group {
	uint32_t group;
	uint32_t first; /* edges, as indexes */
	uint64_t run_end;
};

struct grouping {
	const struct clew_trace *trace;
	const struct clew_edge *edges;
	const struct clew_sleep *sleeps;
	uint32_t *group_of; /* by edge */
	uint32_t groups;
	struct open_group *open;
	uint32_t open_count, open_capacity;
	struct map by_waker; /* (waker, type) -> index in `open` */
};

static const struct clew_sleep *sleep_of(const struct grouping *grouping, uint32_t edge)
{
	uint32_t sleep = grouping->trace->edge_sleeps[edge];

	return sleep == UINT32_MAX ? NULL : &grouping->sleeps[sleep];
}

/* True if the wake may be one of several that one call made. */
static bool is_one_of_many(const struct clew_edge *edge, const struct clew_sleep *sleep)
{
	if (!sleep)
		return false;
	if (sleep->kind == CLEW_WAIT_FUTEX)
		return edge->operation == CLEW_FUTEX_WAKE_MANY;
	/* All pollers, and all readers of an eventfd, are woken at once. For other objects only one
	 * waiter is woken. */
	return edge->object.kind != CLEW_OBJECT_NONE &&
	       (sleep->kind == CLEW_WAIT_POLL || sleep->kind == CLEW_WAIT_EVENTFD) &&
	       edge->type != CLEW_EDGE_WAKE && edge->type != CLEW_EDGE_SIGNAL;
}

static bool same_object(const struct clew_object *a, const struct clew_object *b)
{
	/* A shared futex has another address in each process. */
	return a->kind == b->kind && a->shared == b->shared &&
	       (a->shared || a->number == b->number) && a->device == b->device;
}

/* One call wakes no task twice, and only one of the waiters in one epoll instance. */
static bool fits(const struct grouping *grouping, const struct open_group *open, uint32_t edge)
{
	const struct clew_sleep *sleep = sleep_of(grouping, edge);
	const struct clew_edge *edges = grouping->edges;

	/* The waker stayed on the CPU in between, and the woken task was already waiting then. */
	if (edges[edge].from_at >= open->run_end ||
	    !same_object(&edges[open->first].object, &edges[edge].object) ||
	    (sleep->start > edges[open->first].from_at + CLOCK_SLACK &&
	     sleep->raw_end > sleep->start))
		return false;
	for (uint32_t i = open->first; i < edge; i++) {
		if (grouping->group_of[i] != open->group)
			continue;
		if (edges[i].to == edges[edge].to ||
		    (sleep->poller && sleep_of(grouping, i)->poller == sleep->poller))
			return false;
	}
	return true;
}

static int open_new(struct grouping *grouping, uint32_t edge, uint64_t *known)
{
	const struct clew_edge *first = &grouping->edges[edge];
	struct clew_piece piece;
	uint32_t place = known ? (uint32_t)*known : grouping->open_count;
	bool ran;
	int r;

	if (!known) {
		if (place == grouping->open_capacity) {
			uint32_t capacity = grouping->open_capacity * 2 + 16;
			struct open_group *larger =
				realloc(grouping->open, capacity * sizeof(*larger));

			if (!larger)
				return -ENOMEM;
			grouping->open = larger;
			grouping->open_capacity = capacity;
		}
		r = map_set(&grouping->by_waker, first->from, first->type, place);
		if (r < 0)
			return r;
		grouping->open_count++;
	}
	ran = clew_trace_piece(grouping->trace, first->from, first->from_at, true, &piece) &&
	      piece.kind == CLEW_PIECE_RUNNING;
	grouping->open[place] =
		(struct open_group){.group = grouping->groups,
				    .first = edge,
				    .run_end = ran ? piece.end : first->from_at + CLOCK_SLACK};
	return 0;
}

/* Gives each edge its group. Groups are numbered in order of their first edge. */
static int group_edges(struct grouping *grouping, size_t count)
{
	int r = 0;

	for (uint32_t i = 0; i < count && r >= 0; i++) {
		const struct clew_edge *edge = &grouping->edges[i];
		uint64_t *known;

		grouping->group_of[i] = grouping->groups;
		if (is_one_of_many(edge, sleep_of(grouping, i))) {
			known = map_get(&grouping->by_waker, edge->from, edge->type);
			if (known && fits(grouping, &grouping->open[*known], i)) {
				grouping->group_of[i] = grouping->open[*known].group;
				continue;
			}
			r = open_new(grouping, i, known);
		}
		grouping->groups++;
	}
	free(grouping->open);
	map_done(&grouping->by_waker);
	return r;
}

int clew_trace_edge_groups(const struct clew_trace *trace, uint32_t **ret_order,
			   uint32_t **ret_begin, size_t *ret_count)
{
	struct grouping grouping = {.trace = trace};
	uint32_t *group_of, *order, *begin, groups;
	size_t count, sleep_count;
	int r;

	grouping.edges = clew_trace_edges(trace, &count);
	grouping.sleeps = clew_trace_sleeps(trace, &sleep_count);
	if (!grouping.edges)
		return -ENOMEM;
	group_of = grouping.group_of = malloc((count + 1) * sizeof(*group_of));
	order = malloc((count + 1) * sizeof(*order));
	r = group_of && order ? group_edges(&grouping, count) : -ENOMEM;
	groups = grouping.groups;
	begin = r < 0 ? NULL : calloc((size_t)groups + 2, sizeof(*begin));
	if (!begin) {
		free(group_of);
		free(order);
		return -ENOMEM;
	}
	/* Counting sort: begin[g + 1] is where the next edge of g goes, and finally where g ends.
	 */
	for (size_t i = 0; i < count; i++)
		begin[group_of[i] + 2]++;
	for (uint32_t g = 2; g <= groups + 1; g++)
		begin[g] += begin[g - 1];
	for (size_t i = 0; i < count; i++)
		order[begin[group_of[i] + 1]++] = (uint32_t)i;
	free(group_of);
	*ret_order = order;
	*ret_begin = begin;
	*ret_count = groups;
	return 0;
}
