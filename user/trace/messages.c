/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions and their answers from what threads sent and received.
 *
 * Each end of a connection has its own, as far as its messages are recorded. Where both ends are
 * on this machine, each bounds the other: a question cannot be taken before it was sent. They find
 * each other by their addresses, or by a Unix socket's peer.
 */
#include "base/hash.h"
#include "trace/internal.h"
#include "trace/part.h"
#include "trace/talk.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NO_END UINT64_MAX

/* An end of a connection. */
struct end {
	struct talk_end it;
	uint64_t socket;
	uint64_t sent;	      /* .. and of the last one that it sent, 0 none */
	uint64_t key;	      /* the same for both ends of a TCP connection; 0: of another kind */
	uint64_t other;	      /* number of the other end, NO_END: its messages are not known */
	bool answers;	      /* there was a part of an answer */
	bool outside;	      /* the other end is on another host */
	bool full;	      /* it had no room for all of the question */
	uint32_t round_trip;  /* us, the latest that is known */
	uint32_t resent;      /* segments that were sent again, as of the last message .. */
	uint32_t resent_then; /* .. and of the question's first part */
	uint64_t query;	      /* the name that the question asks for, 0 none */
	uint32_t task;	      /* of the last message */
	uint32_t others;      /* of the last one that the other end had; CLEW_NO_TASK none */
};

/* A number of the host on which a task knows sockets by number; 0: the trace has one alone. */
static uint32_t host_of(const struct clew_trace *trace, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	return task && task->host ? (uint32_t)hash_text(HASH_SEED, task->host) : 0;
}

static struct end *end_at(const struct clew_trace *trace, uint64_t number)
{
	return (struct end *)trace->talk_ends.data + number;
}

/* The same number for both ends. */
static uint64_t key_of(const struct clew_socket_record *socket)
{
	uint64_t local, remote;

	if (socket->family != AF_INET && socket->family != AF_INET6)
		return 0;
	local = hash_bytes(HASH_SEED, socket->local, sizeof(socket->local));
	local = hash_bytes(local, &socket->local_port, sizeof(socket->local_port));
	remote = hash_bytes(HASH_SEED, socket->remote, sizeof(socket->remote));
	remote = hash_bytes(remote, &socket->peer_port, sizeof(socket->peer_port));
	return (local ^ remote) | 1;
}

static void join_ends(const struct clew_trace *trace, uint64_t one, uint64_t two)
{
	if (end_at(trace, one)->it.side == end_at(trace, two)->it.side)
		return;
	end_at(trace, one)->other = two;
	end_at(trace, two)->other = one;
}

/* Finds the other end of one that is new. 0 or -ENOMEM. */
static int find_other(struct clew_trace *trace, uint64_t number,
		      const struct clew_socket_record *socket)
{
	struct end *end = end_at(trace, number);
	const uint64_t *other;

	if (socket && socket->family == AF_UNIX && socket->peer) {
		other = map_get(&trace->talk_of, socket->peer, 0);
		if (other)
			join_ends(trace, number, *other);
		return 0;
	}
	end->key = socket ? key_of(socket) : 0;
	if (!end->key)
		return 0;
	other = map_get(&trace->talk_keys, end->key, 0);
	if (other)
		join_ends(trace, number, *other);
	return map_set(&trace->talk_keys, end->key, 0, number);
}

/* The side of a socket that shows none: who sends first asks. */
static enum socket_side side_by_first(const struct clew_message_record *message)
{
	return message->header.flags & CLEW_MESSAGE_RECEIVED ? SIDE_SERVER : SIDE_CLIENT;
}

static int find_end(struct clew_trace *trace, const struct clew_message_record *message,
		    uint64_t *ret_number)
{
	const struct clew_socket_record *socket = clew_trace_socket(trace, message->socket);
	const uint64_t *known = map_get(&trace->talk_of, message->socket, 0);
	struct vector *ends = &trace->talk_ends;
	struct end *end;

	if (known) {
		*ret_number = *known;
		return 0;
	}
	ends->item = sizeof(struct end);
	if (vector_reserve(ends, ends->count + 1) < 0 ||
	    map_set(&trace->talk_of, message->socket, 0, ends->count) < 0)
		return -ENOMEM;
	*ret_number = ends->count++;
	end = end_at(trace, *ret_number);
	*end = (struct end){.it.side = socket ? socket_side_of(socket) : SIDE_UNKNOWN,
			    .socket = message->socket,
			    .other = NO_END,
			    .others = CLEW_NO_TASK};
	if (end->it.side == SIDE_UNKNOWN)
		end->it.side = side_by_first(message);
	return find_other(trace, *ret_number, socket);
}

static int keep_exchange(struct clew_trace *trace, const struct clew_exchange *exchange)
{
	struct vector *all = &trace->exchanges;

	if (trace->part && all->count == TRACE_WORKS_MOST) {
		if (!trace->part->works_until || exchange->from < trace->part->works_until)
			trace->part->works_until = exchange->from;
		return 0;
	}
	all->item = sizeof(*exchange);
	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct clew_exchange *)all->data)[all->count++] = *exchange;
	return 0;
}

int trace_add_exchange(struct clew_trace *trace, const struct clew_exchange *exchange)
{
	int r = map_set(&trace->talk_of, exchange->socket, host_of(trace, exchange->task),
			exchange->end);

	return r < 0 ? r : keep_exchange(trace, exchange);
}

static int end_exchange(struct clew_trace *trace, uint64_t number, const struct talk *talk,
			bool goes_on)
{
	const struct end *end = end_at(trace, number);

	return keep_exchange(trace,
			     &(struct clew_exchange){.from = talk->asked,
						     .to = talk->answered ? talk->over : 0,
						     .socket = end->socket,
						     .task = talk->task,
						     .other = end->others,
						     .sent = talk->more,
						     .first = talk->answered,
						     .last = talk->last,
						     .round_trip = end->round_trip,
						     .resent = end->resent - end->resent_then,
						     .query = end->query,
						     .outside = end->outside,
						     .full = end->full,
						     .questions = talk->parts,
						     .end = (uint32_t)number,
						     .client = end->it.side == SIDE_CLIENT,
						     .goes_on = goes_on});
}

/*
 * When the bytes of a message left or came. Only TCP says so. Other sockets show the end of the
 * call alone, before which the other side may have gone on with them: a question had been sent when
 * it was taken, and was there when it had been sent.
 */
static uint64_t time_of(const struct clew_trace *trace, const struct end *end,
			const struct clew_message_record *message)
{
	const struct end *other = end->other == NO_END ? NULL : end_at(trace, end->other);
	uint64_t at = message->header.time, asked = other ? other->it.talk.asked : 0;

	if (message->header.flags & CLEW_MESSAGE_TIMED)
		return message->at;
	return asked && talk_asks(&end->it, message) && asked > end->it.talk.over && asked < at
		       ? asked
		       : at;
}

/* True if the other side had sent a part of an answer before a question left, which was not taken
 * by then. */
static bool is_crossed(const struct clew_trace *trace, const struct end *end,
		       const struct clew_message_record *message, uint64_t at)
{
	const struct talk *talk = &end->it.talk;

	return end->it.side == SIDE_CLIENT && end->other != NO_END &&
	       talk_asks(&end->it, message) && talk->asked && !talk->answered &&
	       end_at(trace, end->other)->sent > talk->asked &&
	       end_at(trace, end->other)->sent < at;
}

/* Notes what TCP said with a message. */
static void note_network(struct end *end, const struct clew_message_record *message)
{
	const uint8_t flags = message->header.flags;

	end->outside |= !!(flags & CLEW_MESSAGE_OUTSIDE);
	/* A question of one part begins with it. */
	if (talk_asks(&end->it, message) && end->it.talk.parts == 1) {
		end->resent_then = message->resent;
		end->full = false;
	}
	end->full |= !!(flags & CLEW_MESSAGE_WINDOW);
	if (talk_asks(&end->it, message))
		end->query = flags & CLEW_MESSAGE_QUERY ? message->position : 0;
	end->resent = message->resent;
	end->round_trip = message->round_trip ?: end->round_trip;
}

static int take_place(struct clew_trace *trace, const struct clew_message_record *message)
{
	if (!(message->header.flags & CLEW_MESSAGE_PLACED))
		return 0;
	return trace_take_placed(trace, &(struct clew_placed){.time = message->header.time,
							      .at = message->at,
							      .socket = message->socket,
							      .position = message->position,
							      .bytes = message->bytes,
							      .task = message->task,
							      .flags = message->header.flags});
}

int trace_take_message(struct clew_trace *trace, const struct clew_message_record *message)
{
	struct talk over;
	uint64_t number = 0, at;
	struct end *end;
	bool is_over;
	int r = take_place(trace, message);

	if (r == 0)
		r = find_end(trace, message, &number);
	if (r < 0)
		return r;
	end = end_at(trace, number);
	at = time_of(trace, end, message);
	is_over = talk_take(&end->it, message, at, is_crossed(trace, end, message, at), &over);
	r = is_over ? end_exchange(trace, number, &over, false) : 0;
	note_network(end, message);
	if (!(message->header.flags & CLEW_MESSAGE_RECEIVED))
		end->sent = at;
	end->answers |= !talk_asks(&end->it, message);
	end->task = message->task;
	if (end->other != NO_END) {
		end->others = end_at(trace, end->other)->task;
		end_at(trace, end->other)->others = end->task;
		end->it.pipelined |= end_at(trace, end->other)->it.pipelined;
		end_at(trace, end->other)->it.pipelined = end->it.pipelined;
	}
	return r;
}

/* Ends the questions that are open, and drops what only taking messages needs. */
static int end_all(struct clew_trace *trace)
{
	int r = 0;

	for (size_t i = 0; i < trace->talk_ends.count && r == 0; i++) {
		const struct talk *talk = &end_at(trace, i)->it.talk;

		/* Messages that go one way alone may be no questions. */
		if (talk->asked && end_at(trace, i)->answers)
			r = end_exchange(trace, i, talk, !talk->answered);
	}
	for (size_t i = 0; i < trace->exchanges.count; i++) {
		struct clew_exchange *exchange = (struct clew_exchange *)trace->exchanges.data + i;

		/* A causal trace says it already. */
		if (trace->talk_ends.count)
			exchange->pipelined = end_at(trace, exchange->end)->it.pipelined;
		if (!exchange->to)
			exchange->to = trace->end;
	}
	return r;
}

static int by_socket(const void *left, const void *right)
{
	const struct clew_exchange *a = left, *b = right;

	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Lists the exchanges of each task, in order of their begins. */
static int list_by_task(struct clew_trace *trace)
{
	const struct clew_exchange *all = trace->exchanges.data;
	size_t count = trace->exchanges.count;
	struct sort_key *keys = malloc((count + 1) * sizeof(*keys)),
			*spare = malloc((count + 1) * sizeof(*spare));
	int r = keys && spare ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++)
		keys[i] = (struct sort_key){.key = all[i].from, .index = (uint32_t)i};
	if (r == 0)
		sort_keys(keys, spare, count);
	for (size_t i = 0; i < count && r == 0; i++)
		keys[i].key = all[keys[i].index].task;
	if (r == 0)
		sort_keys(keys, spare, count);
	free(spare);
	trace->exchange_order = keys;
	return r;
}

int trace_finish_messages(struct clew_trace *trace)
{
	int r = end_all(trace);

	trace_finish_placed(trace);

	if (r == 0 && trace->exchanges.count)
		qsort(trace->exchanges.data, trace->exchanges.count, trace->exchanges.item,
		      by_socket);
	return r == 0 ? list_by_task(trace) : r;
}

void trace_free_messages(struct clew_trace *trace)
{
	vector_done(&trace->talk_ends);
	vector_done(&trace->exchanges);
	vector_done(&trace->placed);
	map_done(&trace->talk_of);
	map_done(&trace->talk_keys);
	free(trace->exchange_order);
}

size_t clew_trace_exchange_count(const struct clew_trace *trace, uint32_t serial, size_t *ret_first)
{
	const struct sort_key *order = trace->exchange_order;
	size_t low = 0, high = order ? trace->exchanges.count : 0, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order[middle].key < serial)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; order && end < trace->exchanges.count && order[end].key == serial; end++)
		;
	*ret_first = low;
	return end - low;
}

const struct clew_exchange *clew_trace_exchange(const struct clew_trace *trace, size_t number)
{
	return (const struct clew_exchange *)trace->exchanges.data +
	       trace->exchange_order[number].index;
}

bool clew_trace_shows_messages(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const uint64_t *number = sleep->object.kind == CLEW_OBJECT_SOCKET
					 ? map_get(&trace->talk_of, sleep->object.number,
						   host_of(trace, sleep->task))
					 : NULL;

	/* The question may have left before the recording began. A causal trace has ends with
	 * answers alone. */
	return number && !(sleep->open & CLEW_OPEN_START) &&
	       (!trace->talk_ends.count || end_at(trace, *number)->answers);
}

const struct clew_exchange *trace_awaited(const struct clew_trace *trace,
					  const struct clew_sleep *sleep)
{
	uint64_t over = sleep->end < trace->end ? sleep->end : trace->end;
	const struct clew_exchange *all = trace->exchanges.data;
	const uint64_t *number = sleep->object.kind == CLEW_OBJECT_SOCKET
					 ? map_get(&trace->talk_of, sleep->object.number,
						   host_of(trace, sleep->task))
					 : NULL;
	size_t low = 0, high = trace->exchanges.count;

	if (!number)
		return NULL;
	/* Behind the last one that began by the end of the wait. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].end < *number ||
		    (all[middle].end == *number && all[middle].from <= over))
			low = middle + 1;
		else
			high = middle;
	}
	return low && all[low - 1].end == *number && all[low - 1].client && all[low - 1].to >= over
		       ? &all[low - 1]
		       : NULL;
}

uint64_t clew_trace_message_question(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_exchange *exchange = trace_awaited(trace, sleep);

	return exchange ? exchange->from : 0;
}
