// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The edges of a trace. A sleep says all of the edge that ended it, so edges are
 * stored only where no sleep does (fork, exec, a wake whose sleep is unknown); the
 * whole list is made when somebody asks for it.
 */
#include <errno.h>
#include <model/trace_internal.h>
#include <stdlib.h>
#include <string.h>

static void copy_comm(char *to, const char *name)
{
	memcpy(to, name, strnlen(name, CLEW_COMM_SIZE - 1));
}

static struct clew_edge edge_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_edge edge = {
		.from_at = sleep->raw_end,
		.to_at = sleep->end,
		.from = sleep->ended_by,
		.to = sleep->task,
		.type = (uint8_t)sleep->edge_type,
		.evidence = sleep->edge_evidence,
		.context = sleep->context,
		.operation = sleep->operation,
		.ends_sleep = true,
		.object = sleep->object,
	};

	copy_comm(edge.from_comm, clew_trace_comm_at(trace, edge.from, edge.from_at));
	copy_comm(edge.to_comm, clew_trace_comm_at(trace, edge.to, edge.to_at));
	return edge;
}

static int make_edges(const struct clew_trace *trace, struct clew_edge **ret_edges, size_t *ret_count)
{
	const struct clew_edge *lone = trace->lone_edges.data;
	size_t sleep_count, count = trace->lone_edges.count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &sleep_count);
	struct sort_key *keys;

	for (size_t i = 0; i < sleep_count; i++)
		count += sleeps[i].edge_type >= 0;
	keys = malloc((2 * count + 1) * sizeof(*keys));
	*ret_edges = malloc((count + 1) * sizeof(**ret_edges));
	if (!keys || !*ret_edges) {
		free(keys);
		free(*ret_edges);
		return -ENOMEM;
	}
	/* Indexes from sleep_count up are lone edges. */
	count = 0;
	for (size_t i = 0; i < trace->lone_edges.count; i++)
		keys[count++] = (struct sort_key){.key = lone[i].to_at, .index = (uint32_t)(sleep_count + i)};
	for (size_t i = 0; i < sleep_count; i++)
		if (sleeps[i].edge_type >= 0)
			keys[count++] = (struct sort_key){.key = sleeps[i].end, .index = (uint32_t)i};
	sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++)
		(*ret_edges)[i] = keys[i].index < sleep_count ? edge_of(trace, &sleeps[keys[i].index]) : lone[keys[i].index - sleep_count];
	free(keys);
	*ret_count = count;
	return 0;
}

const struct clew_edge *clew_trace_edges(const struct clew_trace *trace, size_t *ret_count)
{
	/* The list is a cache: filling it changes nothing that can be seen. */
	struct clew_trace *writable = (struct clew_trace *)(uintptr_t)trace;
	const struct clew_edge *edges;

	pthread_mutex_lock(&writable->edge_lock);
	if (!writable->edges && make_edges(trace, &writable->edges, &writable->edge_count) < 0)
		writable->edges = NULL;
	edges = writable->edges;
	*ret_count = edges ? writable->edge_count : 0;
	pthread_mutex_unlock(&writable->edge_lock);
	return edges;
}

const struct clew_edge *trace_origin_of(const struct clew_trace *trace, const struct trace_task *task)
{
	return task->origin ? (const struct clew_edge *)trace->lone_edges.data + task->origin - 1 : NULL;
}

const struct clew_edge *clew_trace_fork_of(const struct clew_trace *trace, uint32_t serial)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	const struct clew_edge *origin = task ? trace_origin_of(trace, task) : NULL;

	return origin && origin->type == CLEW_EDGE_FORK ? origin : NULL;
}

/* A group that may still grow: the latest release of one waker. */
struct open_group {
	uint32_t group;
	uint32_t first; /* edges, as indexes */
	uint64_t run_end;
};

static bool same_object(const struct clew_object *a, const struct clew_object *b)
{
	/* A shared futex has another address in each process. */
	return a->kind == b->kind && a->shared == b->shared && (a->shared || a->number == b->number) && a->device == b->device;
}

static bool has_destination(const struct clew_edge *edges, const uint32_t *group_of, uint32_t first, uint32_t last, uint32_t task)
{
	for (uint32_t i = first; i < last; i++)
		if (group_of[i] == group_of[first] && edges[i].to == task)
			return true;
	return false;
}

/* Gives each edge its group. Groups are numbered in order of their first edge. */
static int group_edges(const struct clew_trace *trace, const struct clew_edge *edges, size_t count, uint32_t *group_of,
		       uint32_t *ret_groups)
{
	struct open_group *open = NULL;
	struct map by_waker = {0};
	uint32_t groups = 0, open_count = 0, open_capacity = 0;
	int r = 0;

	for (uint32_t i = 0; i < count && r >= 0; i++) {
		const struct clew_edge *edge = &edges[i];
		struct clew_piece piece;
		uint64_t *known;

		group_of[i] = groups;
		if (edge->operation != CLEW_FUTEX_WAKE_MANY || !edge->ends_sleep) {
			groups++;
			continue;
		}
		known = map_get(&by_waker, edge->from, edge->type);
		if (known) {
			struct open_group *last = &open[*known];

			/* One call: the waker was not off the CPU in between, and nobody is woken twice. */
			if (edge->from_at < last->run_end && same_object(&edges[last->first].object, &edge->object) &&
			    !has_destination(edges, group_of, last->first, i, edge->to)) {
				group_of[i] = last->group;
				continue;
			}
		} else {
			if (open_count == open_capacity) {
				struct open_group *larger = realloc(open, (open_capacity * 2 + 16) * sizeof(*open));

				if (!larger) {
					r = -ENOMEM;
					break;
				}
				open = larger;
				open_capacity = open_capacity * 2 + 16;
			}
			r = map_set(&by_waker, edge->from, edge->type, open_count++);
			known = r < 0 ? NULL : map_get(&by_waker, edge->from, edge->type);
		}
		if (known) {
			bool ran = clew_trace_piece(trace, edge->from, edge->from_at, true, &piece) && piece.kind == CLEW_PIECE_RUNNING;

			open[*known] = (struct open_group){.group = groups++, .first = i, .run_end = ran ? piece.end : edge->from_at};
		}
	}
	free(open);
	map_done(&by_waker);
	*ret_groups = groups;
	return r;
}

int clew_trace_edge_groups(const struct clew_trace *trace, uint32_t **ret_order, uint32_t **ret_begin, size_t *ret_count)
{
	uint32_t *group_of, *order, *begin, groups = 0;
	const struct clew_edge *edges;
	size_t count;
	int r;

	edges = clew_trace_edges(trace, &count);
	if (!edges)
		return -ENOMEM;
	group_of = malloc((count + 1) * sizeof(*group_of));
	order = malloc((count + 1) * sizeof(*order));
	r = group_of && order ? group_edges(trace, edges, count, group_of, &groups) : -ENOMEM;
	begin = r < 0 ? NULL : calloc((size_t)groups + 2, sizeof(*begin));
	if (!begin) {
		free(group_of);
		free(order);
		return -ENOMEM;
	}
	/* Counting sort: begin[g + 1] is where the next edge of g goes, and in the end where g ends. */
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
