/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exchanges: a client asks a server through a connection, and waits for the answer. The server's
 * thread is idle while it waits to be asked, but not while it waits for something else before
 * it answers. The client is not idle until the answer comes.
 *
 * A connection is a socket, or what two processes send each other through pipes and socket pairs.
 * Sockets show who connected to whom; else the client is the one who sent first. Messages show
 * each question (messages.c). Where they are not recorded, a question is
 * open if the kernel saw bytes leave since the last one arrived. Where it does not count them, a
 * client asks when it wakes the server, and is answered when that wakes it next. A server that is
 * awake takes a question without a wake: it counts as asked where most answers before are known to
 * follow a question. A server's wait that any client's question ended is in no exchange, because
 * the thread was ready to take one.
 */
#include "trace/idle.h"
#include "trace/internal.h"
#include "trace/talk.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define MOST_WAITS 256 /* of a server's thread, looked at for one answer */

/* Counts what a client got from one server so far. */
struct replies {
	uint32_t asked;	  /* answers to a question that is known */
	uint32_t unasked; /* what else came */
};

struct exchanges {
	struct clew_trace *trace;
	struct trace_pairs *pairs;
	struct map passed;	   /* (task, its call) -> when the question left, of a vain wait */
	struct map replies;	   /* (who answers, whom) -> index of counts */
	struct vector counts;	   /* struct replies */
	struct map connection_of;  /* inode of a socket -> index of connections */
	struct vector connections; /* struct talk, of a client's side */
	struct vector keys;	   /* struct sort_key: sleeps, in order of their ends */
};

void trace_pairs_done(struct trace_pairs *pairs)
{
	map_done(&pairs->woke);
	map_done(&pairs->seen);
	map_done(&pairs->first);
	map_done(&pairs->answers);
}

/* Whom a sleep joins: two processes, or two threads of one. */
struct parties {
	uint32_t by, to;
};

static struct parties parties_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct parties parties = {.by = clew_trace_process(trace, sleep->ended_by),
				  .to = clew_trace_process(trace, sleep->task)};

	if (parties.by == parties.to)
		parties = (struct parties){.by = sleep->ended_by, .to = sleep->task};
	return parties;
}

static uint64_t *get_pair(const struct map *map, struct parties parties)
{
	return parties.by < parties.to ? map_get(map, parties.by, parties.to)
				       : map_get(map, parties.to, parties.by);
}

static int set_pair(struct map *map, struct parties parties, uint64_t value)
{
	return parties.by < parties.to ? map_set(map, parties.by, parties.to, value)
				       : map_set(map, parties.to, parties.by, value);
}

/* True if a sleep waits for what others send through a socket or a pipe. */
static bool awaits_data(const struct clew_sleep *sleep)
{
	if (sleep->object.kind != CLEW_OBJECT_SOCKET && sleep->object.kind != CLEW_OBJECT_PIPE)
		return false;
	return sleep->kind == CLEW_WAIT_POLL ||
	       ((sleep->kind == CLEW_WAIT_SOCKET || sleep->kind == CLEW_WAIT_PIPE) &&
		call_receives(sleep->call));
}

/* The side that a socket shows, SIDE_UNKNOWN of all else. */
static enum socket_side side_shown(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_socket_record *socket;

	if (!awaits_data(sleep) || sleep->object.kind != CLEW_OBJECT_SOCKET)
		return SIDE_UNKNOWN;
	socket = clew_trace_socket(trace, sleep->object.number);
	return socket ? socket_side_of(socket) : SIDE_UNKNOWN;
}

/* True if what is waited at never tells who connected, so that who sent first does: pipes, socket
 * pairs and datagrams. */
static bool has_no_sides(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_socket_record *socket;

	if (!awaits_data(sleep) || sleep->object.kind == CLEW_OBJECT_PIPE)
		return awaits_data(sleep);
	socket = clew_trace_socket(trace, sleep->object.number);
	return socket && socket_side_of(socket) == SIDE_UNKNOWN &&
	       (socket->family == AF_UNIX || socket->type != SOCK_STREAM);
}

/* True if a thread had another one of its process look up from a poll: a pipe that both have is a
 * bell then, and no connection. */
static bool is_bell(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return sleep->kind == CLEW_WAIT_POLL && sleep->object.kind == CLEW_OBJECT_PIPE &&
	       clew_trace_process(trace, sleep->ended_by) == clew_trace_process(trace, sleep->task);
}

/* The side on which a sleeper was when data came and ended its wait. */
static enum socket_side ended_on(const struct exchanges *exchanges, const struct clew_sleep *sleep)
{
	enum socket_side side = side_shown(exchanges->trace, sleep);
	struct parties parties;
	const uint64_t *first;

	if (!has_no_sides(exchanges->trace, sleep) || sleep->ended_by == CLEW_NO_TASK ||
	    is_bell(exchanges->trace, sleep))
		return side;
	parties = parties_of(exchanges->trace, sleep);
	if (!get_pair(&exchanges->pairs->answers, parties))
		return SIDE_UNKNOWN;
	first = get_pair(&exchanges->pairs->first, parties);
	return *first == parties.to ? SIDE_CLIENT : SIDE_SERVER;
}

/* Keeps the waits of a server's thread since a client asked, up to its answer at `to`. */
static int keep_server(const struct exchanges *exchanges, uint32_t serial, uint64_t asked,
		       uint64_t to)
{
	struct clew_trace *trace = exchanges->trace;
	const struct trace_task *task = trace_task_find(trace, serial);
	int r = 0;

	if (!task)
		return 0;
	for (uint32_t i = trace_pieces_until(trace, task, to - 1), looked = 0;
	     i-- > 0 && looked < MOST_WAITS && r == 0;) {
		uint32_t piece = task->pieces.data[i], index = piece & PIECE_INDEX;
		const struct clew_sleep *sleep;

		/* One that never sleeps has many pieces: most are older. */
		if (trace_piece_start(trace, piece) < asked)
			break;
		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		sleep = trace_sleep_at(trace, index);
		if (ended_on(exchanges, sleep) == SIDE_SERVER)
			break;
		looked++;
		if (!dense_get(&trace->in_exchange, index))
			r = dense_set(&trace->in_exchange, index, 1);
	}
	return r;
}

/* True if one woke another through a connection, so that it asked or answered. A reader of a Unix
 * socket is also woken when its peer takes what was sent to it. */
static bool is_act(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return sleep->ended_by != CLEW_NO_TASK && !sleep->blind && awaits_data(sleep) &&
	       sleep->end != CLEW_TIME_OPEN && !clew_trace_vain(trace, sleep, NULL);
}

/* Notes when `by` woke `to`: it did last then, unless it did later. */
static int note_wake(struct map *last, struct parties parties, uint64_t at)
{
	const uint64_t *known = map_get(last, parties.by, parties.to);

	return known && *known > at ? 0 : map_set(last, parties.by, parties.to, at);
}

/* True if data ended a sleep, and no timeout or signal did. */
static bool data_came(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return !clew_trace_vain(trace, sleep, NULL) && sleep->end != CLEW_TIME_OPEN &&
	       sleep->edge_type != CLEW_EDGE_SIGNAL &&
	       !(sleep->link_count && sleep->links[0].kind == CLEW_LINK_TIMER);
}

static struct talk *connection_of(struct exchanges *exchanges, uint64_t inode)
{
	const uint64_t *known = map_get(&exchanges->connection_of, inode, 0);
	struct vector *all = &exchanges->connections;

	if (known)
		return (struct talk *)all->data + *known;
	all->item = sizeof(struct talk);
	if (vector_reserve(all, all->count + 1) < 0 ||
	    map_set(&exchanges->connection_of, inode, 0, all->count) < 0)
		return NULL;
	((struct talk *)all->data)[all->count] = (struct talk){};
	return (struct talk *)all->data + all->count++;
}

/* When the question left whose answer a client waits for at a socket; 0: none is open. */
static int find_question(struct exchanges *exchanges, const struct clew_sleep *sleep,
			 uint64_t *ret_asked)
{
	struct talk *connection = connection_of(exchanges, sleep->object.number);

	*ret_asked = clew_trace_message_question(exchanges->trace, sleep);
	if (*ret_asked)
		return 0;
	if (!connection)
		return -ENOMEM;
	if (sleep->asked) {
		uint64_t asked = sleep->asked == CLEW_ASKED_SOMETIME ? sleep->start : sleep->asked;

		*connection =
			(struct talk){.asked = asked > connection->last ? asked : connection->last};
	} else if (!connection->asked ||
		   (connection->answered && !talk_goes_on(connection, sleep->end))) {
		connection->asked = 0;
	}
	*ret_asked = connection->asked;
	if (connection->asked && data_came(exchanges->trace, sleep)) {
		connection->answered = connection->answered ?: sleep->end;
		connection->last = sleep->end;
	}
	return 0;
}

static struct replies *replies_of(struct exchanges *exchanges, struct parties parties)
{
	const uint64_t *known = map_get(&exchanges->replies, parties.by, parties.to);
	struct vector *all = &exchanges->counts;

	if (known)
		return (struct replies *)all->data + *known;
	all->item = sizeof(struct replies);
	if (vector_reserve(all, all->count + 1) < 0 ||
	    map_set(&exchanges->replies, parties.by, parties.to, all->count) < 0)
		return NULL;
	((struct replies *)all->data)[all->count] = (struct replies){};
	return (struct replies *)all->data + all->count++;
}

/*
 * Finds a question that no wake and no count shows: the server took it before the client slept.
 * The pieces of a stream follow no questions, so that most of what comes has to be an answer.
 * `*question`: when a known one left, 0 none; when this one left is not known, it was before the
 * wait. `*since`: what the server did from then on was for the answer.
 */
static int infer_question(struct exchanges *exchanges, const struct clew_sleep *sleep,
			  uint64_t last_answer, uint64_t *question, uint64_t *since)
{
	struct replies *replies;

	*since = *question;
	if (!is_act(exchanges->trace, sleep) || sleep->kind == CLEW_WAIT_POLL ||
	    !has_no_sides(exchanges->trace, sleep))
		return 0;
	replies = replies_of(exchanges, parties_of(exchanges->trace, sleep));
	if (!replies)
		return -ENOMEM;
	if (*question) {
		replies->asked++;
		return 0;
	}
	replies->unasked++;
	if (replies->asked < 2 * replies->unasked)
		return 0;
	*question = sleep->start;
	*since = last_answer;
	return 0;
}

/*
 * A client is also woken when the server takes the question, and sleeps again in the same call:
 * what was known of the question then, holds for the next wait.
 */
static int pass_on(struct exchanges *exchanges, const struct clew_sleep *sleep, uint64_t *question)
{
	const uint64_t *passed;

	if (*question && clew_trace_vain(exchanges->trace, sleep, NULL))
		return map_set(&exchanges->passed, sleep->task, sleep->call_id, *question);
	passed = *question ? NULL : map_get(&exchanges->passed, sleep->task, sleep->call_id);
	if (passed)
		*question = *passed;
	return 0;
}

/* True if a sleep was at a Unix socket to which clients connect: none of them has asked yet. */
static bool is_listener(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_socket_record *socket =
		sleep->object.kind == CLEW_OBJECT_SOCKET
			? clew_trace_socket(trace, sleep->object.number)
			: NULL;

	return socket && socket->family == AF_UNIX && socket->type != SOCK_DGRAM && !socket->peer;
}

/* Takes a wait that data ended, or that a client's question is known to precede. */
static int take_wait(struct exchanges *exchanges, uint32_t index)
{
	struct clew_trace *trace = exchanges->trace;
	const struct clew_sleep *sleep = trace_sleep_at(trace, index);
	struct parties parties = parties_of(trace, sleep);
	enum socket_side side = ended_on(exchanges, sleep);
	uint64_t question = 0, since;
	int r = 0;

	if (side == SIDE_SERVER && data_came(trace, sleep) && !is_listener(trace, sleep))
		r = dense_set(&trace->resting, index, TRACE_ASKED);
	if (side == SIDE_CLIENT) {
		const uint64_t *asked = map_get(&exchanges->pairs->woke, parties.to, parties.by),
			       *answered = map_get(&exchanges->pairs->woke, parties.by, parties.to);

		if (side_shown(trace, sleep) == SIDE_CLIENT)
			r = find_question(exchanges, sleep, &question);
		else if (sleep->asked)
			question = sleep->start;
		if (!question && sleep->ended_by != CLEW_NO_TASK && asked &&
		    (!answered || *asked > *answered))
			question = *asked;
		if (r == 0)
			r = pass_on(exchanges, sleep, &question);
		if (r == 0)
			r = infer_question(exchanges, sleep, answered ? *answered : sleep->start,
					   &question, &since);
		if (r == 0 && question)
			r = dense_set(&trace->in_exchange, index, question);
		if (r == 0 && question && is_act(trace, sleep))
			r = keep_server(exchanges, sleep->ended_by, since, sleep->end);
	}
	return r < 0 || !is_act(trace, sleep)
		       ? r
		       : note_wake(&exchanges->pairs->woke, parties, sleep->end);
}

/* True if a process made another one in the recording, and waits for that one alone: it asks, and
 * its first question may have found the other one awake. */
static bool is_parent(const struct clew_trace *trace, const struct clew_sleep *sleep, uint32_t task,
		      uint32_t of)
{
	const struct clew_trace_task *child = clew_trace_task(trace, of);

	return sleep->kind != CLEW_WAIT_POLL && child && child->birth &&
	       clew_trace_process(trace, child->parent) == task;
}

/*
 * Notes who sends first where no socket shows who connected, and who answers. A task that waits
 * while its question still lies with the other one has sent already.
 */
static int take_first(struct exchanges *exchanges, const struct clew_sleep *sleep)
{
	struct parties parties = parties_of(exchanges->trace, sleep);
	const uint64_t *first = get_pair(&exchanges->pairs->first, parties),
		       *seen = get_pair(&exchanges->pairs->seen, parties);
	int r;

	if (!is_act(exchanges->trace, sleep) || !has_no_sides(exchanges->trace, sleep))
		return 0;
	if (!first) {
		r = set_pair(&exchanges->pairs->seen, parties, parties.by);
		if (r < 0)
			return r;
		return set_pair(
			&exchanges->pairs->first, parties,
			sleep->asked || is_parent(exchanges->trace, sleep, parties.to, parties.by)
				? parties.to
				: parties.by);
	}
	return *seen == parties.by ? 0 : set_pair(&exchanges->pairs->answers, parties, 1);
}

static int take_first_of(struct exchanges *exchanges, uint32_t index)
{
	return take_first(exchanges, trace_sleep_at(exchanges->trace, index));
}

int trace_exchange_pass(struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct exchanges exchanges = {.trace = trace, .pairs = &trace->part->pairs};
	int r;

	if (!is_act(trace, sleep))
		return 0;
	r = take_first(&exchanges, sleep);
	return r < 0 ? r
		     : note_wake(&trace->part->pairs.woke, parties_of(trace, sleep), sleep->end);
}

/*
 * A process that began in the recording reads from a pipe whose writers it never answers, as in
 * `cmd | cmd`: the wait is a part of what it does, and so is what the writer does meanwhile.
 */
static int take_piped(struct exchanges *exchanges, uint32_t index)
{
	struct clew_trace *trace = exchanges->trace;
	const struct clew_sleep *sleep = trace_sleep_at(trace, index);
	const struct clew_trace_task *task = clew_trace_task(trace, sleep->task), *process;
	int r;

	process = task ? clew_trace_task(trace, task->process) : NULL;
	if (!process || (!process->birth && !clew_trace_executed(trace, process->serial)) ||
	    sleep->kind != CLEW_WAIT_PIPE || sleep->ended_by == CLEW_NO_TASK ||
	    !awaits_data(sleep) || get_pair(&exchanges->pairs->answers, parties_of(trace, sleep)))
		return 0;
	r = dense_set(&trace->in_exchange, index, 1);
	return r < 0 ? r : keep_server(exchanges, sleep->ended_by, sleep->start, sleep->end);
}

static int gather(struct exchanges *exchanges)
{
	struct clew_trace *trace = exchanges->trace;
	struct vector *keys = &exchanges->keys, spare = {.item = sizeof(struct sort_key)};
	int r = 0;

	for (size_t i = trace->first_sleep; i < trace->sleeps.count && r == 0; i++) {
		const struct clew_sleep *sleep = trace_sleep_at(trace, (uint32_t)i);

		if (!awaits_data(sleep) || sleep->blind ||
		    (sleep->ended_by == CLEW_NO_TASK && side_shown(trace, sleep) != SIDE_CLIENT))
			continue;
		r = vector_reserve(keys, keys->count + 1);
		if (r == 0)
			((struct sort_key *)keys->data)[keys->count++] =
				(struct sort_key){.key = sleep->end, .index = (uint32_t)i};
	}
	if (r == 0)
		r = vector_reserve(&spare, keys->count);
	if (r == 0 && keys->count)
		sort_keys(keys->data, spare.data, keys->count);
	vector_done(&spare);
	return r;
}

/* Calls `take` for each sleep that is looked at, in order of their ends. */
static int take_all(struct exchanges *exchanges,
		    int (*take)(struct exchanges *exchanges, uint32_t index))
{
	const struct sort_key *keys = exchanges->keys.data;
	int r = 0;

	for (size_t i = 0; i < exchanges->keys.count && r == 0; i++)
		r = take(exchanges, keys[i].index);
	return r;
}

int trace_find_exchanges(struct clew_trace *trace)
{
	struct trace_pairs own = {};
	struct exchanges exchanges = {
		.trace = trace,
		.pairs = trace->part && !trace->part->works ? &trace->part->pairs : &own};
	int r;

	exchanges.keys.item = sizeof(struct sort_key);
	r = gather(&exchanges);
	if (r == 0)
		r = take_all(&exchanges, take_first_of);
	if (r == 0)
		r = take_all(&exchanges, take_wait);
	if (r == 0)
		r = take_all(&exchanges, take_piped);
	trace_pairs_done(&own);
	map_done(&exchanges.passed);
	map_done(&exchanges.replies);
	vector_done(&exchanges.counts);
	map_done(&exchanges.connection_of);
	vector_done(&exchanges.connections);
	vector_done(&exchanges.keys);
	return r;
}

/* 0: it is in no exchange. A sleep that is not the trace's own is in none: then the trace has no
 * exchanges yet. */
static uint64_t exchange_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return trace->in_exchange.of.count
		       ? dense_get(&trace->in_exchange, (size_t)(sleep - trace_sleep_at(trace, 0)))
		       : 0;
}

bool clew_trace_in_exchange(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return exchange_of(trace, sleep);
}

uint64_t clew_trace_question_at(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t exchange = exchange_of(trace, sleep);

	return exchange > 1 ? exchange : 0;
}
