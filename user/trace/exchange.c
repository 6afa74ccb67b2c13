/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exchanges: a client asks a server through a socket, and waits for the answer. The server's
 * thread is idle while it waits to be asked, but not while it waits for something else before
 * it answers. The client is not idle until the answer comes.
 *
 * Only sockets count of which the capture shows who connected to whom. A client asks when its
 * process wakes the server's, and is answered when that wakes it next. A server's wait that any
 * client's question ended is in no exchange, because the thread was ready to take one.
 */
#include "trace/idle.h"
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>

#define MOST_WAITS 256 /* of a server's thread, looked at for one answer */

/* The side on which a sleeper was when data came by a socket and ended its wait. */
static enum socket_side ended_on(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_socket_record *socket;

	if ((sleep->kind != CLEW_WAIT_POLL && sleep->kind != CLEW_WAIT_SOCKET) ||
	    sleep->object.kind != CLEW_OBJECT_SOCKET || sleep->end == CLEW_TIME_OPEN)
		return SIDE_UNKNOWN;
	socket = clew_trace_socket(trace, sleep->object.number);
	return socket ? socket_side_of(socket) : SIDE_UNKNOWN;
}

/* Keeps the waits of a server's thread since a client asked, up to its answer at `to`. */
static int keep_server(struct clew_trace *trace, uint32_t serial, uint64_t asked, uint64_t to)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	int r = 0;

	if (!task)
		return 0;
	for (uint32_t i = trace_pieces_until(trace, task, to - 1), looked = 0;
	     i-- > 0 && looked < MOST_WAITS && r == 0;) {
		uint32_t piece = task->pieces.data[i], index = piece & PIECE_INDEX;
		const struct clew_sleep *sleep;

		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		sleep = trace_sleep_at(trace, index);
		if (sleep->start < asked || ended_on(trace, sleep) == SIDE_SERVER)
			break;
		looked++;
		r = map_set(&trace->in_exchange, index, 0, 1);
	}
	return r;
}

/* True if a process woke another one through a socket, so that it asked or answered. */
static bool is_act(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return sleep->ended_by != CLEW_NO_TASK && !sleep->blind &&
	       ended_on(trace, sleep) != SIDE_UNKNOWN;
}

/* Notes when `by` woke `to`: it did last then, unless it did later. */
static int note_wake(struct map *last, uint32_t by, uint32_t to, uint64_t at)
{
	const uint64_t *known = map_get(last, by, to);

	return known && *known > at ? 0 : map_set(last, by, to, at);
}

int trace_exchange_pass(struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (!is_act(trace, sleep))
		return 0;
	return note_wake(&trace->part->woke, clew_trace_process(trace, sleep->ended_by),
			 clew_trace_process(trace, sleep->task), sleep->end);
}

/* Takes the wake that ended a wait on one side of a socket. */
static int take_wake(struct clew_trace *trace, struct map *last, uint32_t index)
{
	const struct clew_sleep *sleep = trace_sleep_at(trace, index);
	uint32_t to = clew_trace_process(trace, sleep->task),
		 by = clew_trace_process(trace, sleep->ended_by);
	const uint64_t *asked = map_get(last, to, by), *answered = map_get(last, by, to);
	int r = 0;

	if (ended_on(trace, sleep) == SIDE_CLIENT && asked && (!answered || *asked > *answered)) {
		r = map_set(&trace->in_exchange, index, 0, 1);
		if (r == 0)
			r = keep_server(trace, sleep->ended_by, *asked, sleep->end);
	}
	return r < 0 ? r : note_wake(last, by, to, sleep->end);
}

int trace_find_exchanges(struct clew_trace *trace)
{
	struct vector keys = {.item = sizeof(struct sort_key)}, spare = keys;
	struct map own = {}, *last = trace->part ? &trace->part->woke : &own;
	struct sort_key *key;
	int r = 0;

	for (size_t i = trace->first_sleep; i < trace->sleeps.count && r == 0; i++) {
		const struct clew_sleep *sleep = trace_sleep_at(trace, (uint32_t)i);

		if (!is_act(trace, sleep))
			continue;
		r = vector_reserve(&keys, keys.count + 1);
		if (r < 0)
			break;
		key = (struct sort_key *)keys.data + keys.count++;
		*key = (struct sort_key){.key = sleep->end, .index = (uint32_t)i};
	}
	if (r == 0)
		r = vector_reserve(&spare, keys.count);
	if (r == 0 && keys.count) {
		sort_keys(keys.data, spare.data, keys.count);
		for (size_t i = 0; i < keys.count && r == 0; i++)
			r = take_wake(trace, last, ((struct sort_key *)keys.data)[i].index);
	}
	map_done(&own);
	vector_done(&keys);
	vector_done(&spare);
	return r;
}

bool clew_trace_in_exchange(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	/* A sleep that is not the trace's own is in none: then the trace has no exchanges yet. */
	return trace->in_exchange.count &&
	       map_get(&trace->in_exchange, (uint64_t)(sleep - trace_sleep_at(trace, 0)), 0);
}
