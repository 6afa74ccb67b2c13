/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations while findings come. */
#include "live/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "explain/classes.h"
#include "trace/idle.h"
#include "trace/talk.h"

/* A thread's work is its requests if less than one part in so many lies outside of them. */
#define LEAST_OWN 4
#define SIDE_BITS 3ull

struct operation_thread {
	uint64_t begin;	   /* the end of its last wait for work, 0 none */
	uint64_t idle;	   /* when it was last seen in one */
	uint64_t closed;   /* the begin of the one that was seen to end the operation */
	uint64_t endpoint; /* what it waited for then */
	uint64_t inner;	   /* ns of requests since `begin` */
	uint32_t call_id;  /* of its last wait for work */
	uint8_t kind;	   /* enum clew_operation_kind */
};

/* The requests at a socket: at a server's only if messages show them. */
struct operation_request {
	struct talk_end end;
	bool messages; /* they are known from messages, not from waits */
};

/* A caller, and the function that takes its operations. */
struct taker {
	const struct operations *operations;
	const struct known *known;
	int (*take)(void *context, const struct operation *operation);
	void *context;
};

static struct operation_thread *find_thread(const struct operations *operations, uint32_t serial)
{
	const uint64_t *place = map_get(&operations->threads, serial, 0);

	return place ? (struct operation_thread *)(uintptr_t)*place : NULL;
}

static struct operation_request *find_request(const struct operations *operations, uint64_t inode)
{
	const uint64_t *place = map_get(&operations->requests, inode, 0);

	return place ? (struct operation_request *)(uintptr_t)*place : NULL;
}

static void free_values(struct map *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			free((void *)(uintptr_t)map->slots[i].value);
	map_done(map);
}

void operations_done(struct operations *operations)
{
	free_values(&operations->threads);
	free_values(&operations->requests);
	map_done(&operations->sockets);
	map_done(&operations->last);
}

static int set_bounded(struct map *map, uint64_t key, uint32_t part, uint64_t value)
{
	if (map->count >= OPERATION_MOST)
		map_done(map);
	return map_set(map, key, part, value);
}

/* Records were lost: whether an operation goes on is unknown. */
static void forget_begins(struct operations *operations)
{
	for (size_t i = 0; i < operations->threads.capacity; i++)
		if (operations->threads.slots[i].used)
			((struct operation_thread *)(uintptr_t)operations->threads.slots[i].value)
				->begin = 0;
	free_values(&operations->requests);
}

/* A hash of the server's address. */
static uint64_t server_of(const struct clew_socket_record *socket, enum socket_side side)
{
	bool remote = side == SIDE_CLIENT;
	uint16_t port = remote ? socket->peer_port : socket->local_port;
	uint64_t hash;

	if (socket->family == AF_UNIX) {
		const char *path = remote ? socket->peer_path : socket->local_path;

		return hash_bytes(HASH_SEED, path, strnlen(path, CLEW_UNIX_PATH_SIZE));
	}
	hash = hash_bytes(HASH_SEED, remote ? socket->remote : socket->local,
			  sizeof(socket->local));
	return hash_bytes(hash, &port, sizeof(port));
}

int operations_take_identity(struct operations *operations, const struct clew_header *record)
{
	const struct clew_socket_record *socket = (const struct clew_socket_record *)record;
	enum socket_side side;

	if (record->kind == CLEW_KIND_EXIT) {
		uint32_t task = ((const struct clew_life *)record)->task;

		free(find_thread(operations, task));
		map_remove(&operations->threads, task, 0);
	}
	if (record->kind == CLEW_KIND_GAP)
		forget_begins(operations);
	if (record->kind != CLEW_KIND_SOCKET)
		return 0;
	/* A TCP connection that is over has no port any more. */
	if (socket->family != AF_UNIX && !socket->local_port)
		return 0;
	side = socket_side_of(socket);
	return side == SIDE_UNKNOWN ? 0
				    : set_bounded(&operations->sockets, socket->inode, 0,
						  (server_of(socket, side) & ~SIDE_BITS) | side);
}

/* The server's address as a hash, and the side that a wait is on; 0: unknown. */
static uint64_t socket_of(const struct operations *operations, const struct clew_sleep *sleep,
			  enum socket_side *ret_side)
{
	const uint64_t *socket =
		(sleep->kind == CLEW_WAIT_POLL || sleep->kind == CLEW_WAIT_SOCKET) &&
				sleep->object.kind == CLEW_OBJECT_SOCKET && !sleep->blind
			? map_get(&operations->sockets, sleep->object.number, 0)
			: NULL;

	*ret_side = socket ? (enum socket_side)(*socket & SIDE_BITS) : SIDE_UNKNOWN;
	return socket ? *socket : 0;
}

static int hand_on(const struct taker *taker, struct operation operation, uint64_t endpoint,
		   enum clew_operation_kind kind)
{
	const struct known_task *task = known_find(taker->known, operation.task),
				*process = task ? known_find(taker->known, task->process) : NULL;

	operation.class = hash_mix(
		hash_mix(process ? hash_text(HASH_SEED, process->comm) : 0, endpoint), kind);
	return taker->take(taker->context, &operation);
}

/* ---- requests ---- */

/* Hands on a request of a socket, of which it is known at `at` that it is over. */
static int end_request(const struct taker *taker, uint64_t inode,
		       const struct operation_request *request, const struct talk *talk,
		       uint64_t at)
{
	const uint64_t *socket = map_get(&taker->operations->sockets, inode, 0);
	const struct operation whole = {
		.start = talk->asked, .end = talk->over, .at = at, .task = talk->task};
	struct operation_thread *thread = find_thread(taker->operations, talk->task);

	if (request->end.pipelined)
		return 0;
	if (thread && thread->begin && thread->begin <= talk->asked)
		thread->inner += talk->over - talk->asked;
	return hand_on(taker, whole, socket ? *socket : 0,
		       request->end.side == SIDE_SERVER ? CLEW_OPERATION_SERVED
							: CLEW_OPERATION_REQUEST);
}

/* The same of the last request at a socket, after which there is none. */
static int end_last(const struct taker *taker, uint64_t inode, struct operation_request *request,
		    uint64_t at)
{
	const struct talk talk = request->end.talk;

	request->end.talk = (struct talk){};
	return end_request(taker, inode, request, &talk, at);
}

static struct operation_request *get_request(struct operations *operations, uint64_t inode)
{
	struct operation_request *request = find_request(operations, inode);

	if (request)
		return request;
	if (operations->requests.count >= OPERATION_MOST)
		free_values(&operations->requests);
	request = calloc(1, sizeof(*request));
	if (request && map_set(&operations->requests, inode, 0, (uintptr_t)request) < 0) {
		free(request);
		return NULL;
	}
	return request;
}

static bool data_came(const struct clew_sleep *sleep)
{
	return sleep->end != CLEW_TIME_OPEN && sleep->edge_type != CLEW_EDGE_SIGNAL &&
	       !(sleep->link_count && sleep->links[0].kind == CLEW_LINK_TIMER);
}

/* Takes a client's wait. *ret_answer: it was for an answer. 0 or -ENOMEM, or what was returned. */
static int take_answer(struct operations *operations, const struct taker *taker,
		       const struct clew_sleep *sleep, bool *ret_answer)
{
	uint64_t inode = sleep->object.number;
	struct operation_request *request =
		sleep->asked ? get_request(operations, inode) : find_request(operations, inode);
	struct talk *talk = request ? &request->end.talk : NULL;
	int r = 0;

	*ret_answer = false;
	if (!request)
		return sleep->asked ? -ENOMEM : 0;
	*ret_answer = talk->asked;
	if (request->messages)
		return 0;
	request->end.side = SIDE_CLIENT;
	if (talk->answered && (sleep->asked || !talk_goes_on(talk, sleep->end)))
		r = end_last(taker, inode, request, sleep->end);
	if (sleep->asked) {
		talk->asked = sleep->asked == CLEW_ASKED_SOMETIME ? sleep->start : sleep->asked;
		talk->task = sleep->task;
	}
	*ret_answer = talk->asked;
	if (talk->asked && data_came(sleep)) {
		talk->answered = talk->answered ?: sleep->end;
		talk->last = sleep->end;
		talk->over = sleep->switch_in == CLEW_TIME_OPEN ? sleep->end : sleep->switch_in;
	}
	return r;
}

int operations_take_message(struct operations *operations, const struct known *known,
			    const struct clew_message_record *message,
			    int (*take)(void *context, const struct operation *operation),
			    void *context)
{
	const struct taker taker = {
		.operations = operations, .known = known, .take = take, .context = context};
	const uint64_t *socket = map_get(&operations->sockets, message->socket, 0);
	uint64_t at =
		message->header.flags & CLEW_MESSAGE_TIMED ? message->at : message->header.time;
	struct operation_request *request;
	struct talk over;

	if (!socket)
		return 0;
	request = get_request(operations, message->socket);
	if (!request)
		return -ENOMEM;
	if (!request->messages)
		*request = (struct operation_request){
			.end.side = (enum socket_side)(*socket & SIDE_BITS), .messages = true};
	return talk_take(&request->end, message, at, false, &over)
		       ? end_request(&taker, message->socket, request, &over, message->header.time)
		       : 0;
}

/* Hands on what is known at `now` of the last request at a socket: that it is over, or goes on. */
static int step_request(const struct taker *taker, uint64_t inode,
			struct operation_request *request, uint64_t now, bool look)
{
	const struct talk *talk = &request->end.talk;
	const uint64_t *socket = map_get(&taker->operations->sockets, inode, 0);

	if (talk->answered)
		return look && talk_over_at(talk) < now
			       ? end_last(taker, inode, request, talk_over_at(talk))
			       : 0;
	/* A wait for an answer is handed on as it is taken. */
	if (!talk->asked || !request->messages || request->end.pipelined)
		return 0;
	return hand_on(
		taker,
		(struct operation){.start = talk->asked, .end = CLEW_TIME_OPEN, .task = talk->task},
		socket ? *socket : 0,
		request->end.side == SIDE_SERVER ? CLEW_OPERATION_SERVED : CLEW_OPERATION_REQUEST);
}

/* ---- work ---- */

/*
 * *ret_exchange: it is a client's wait for an answer, which its process had asked the other one for
 * since the answer before.
 */
static int take_wake(struct operations *operations, const struct known *known,
		     const struct clew_sleep *sleep, bool *ret_exchange)
{
	const struct known_task *task = known_find(known, sleep->task),
				*waker = known_find(known, sleep->ended_by);
	const uint64_t *asked, *answered;
	enum socket_side side;

	*ret_exchange = false;
	if (!socket_of(operations, sleep, &side) || !task || !waker)
		return 0;
	asked = map_get(&operations->last, task->process, waker->process);
	answered = map_get(&operations->last, waker->process, task->process);
	*ret_exchange = side == SIDE_CLIENT && asked && (!answered || *asked > *answered);
	return set_bounded(&operations->last, waker->process, task->process, sleep->end);
}

/* Hands on the operation that a wait for work has ended, which is known at `at`. */
static int end_work(const struct taker *taker, const struct operation_thread *thread,
		    const struct clew_sleep *sleep, uint64_t at)
{
	uint64_t length = sleep->start - thread->begin;

	if (!thread->begin || thread->call_id == sleep->call_id || thread->begin >= sleep->start ||
	    thread->closed == sleep->start || sleep->open & CLEW_OPEN_START)
		return 0;
	return hand_on(taker,
		       (struct operation){.start = thread->begin,
					  .end = sleep->start,
					  .at = at,
					  .task = sleep->task,
					  .within = thread->inner > length - length / LEAST_OWN},
		       thread->endpoint, (enum clew_operation_kind)thread->kind);
}

static void begin_work(struct operations *operations, struct operation_thread *thread,
		       const struct clew_sleep *sleep)
{
	enum socket_side side;
	uint64_t socket = socket_of(operations, sleep, &side);
	struct operation_request *request =
		socket ? find_request(operations, sleep->object.number) : NULL;
	bool served = side == SIDE_SERVER && data_came(sleep) && !(request && request->messages);

	thread->begin = sleep->end;
	thread->call_id = sleep->call_id;
	thread->inner = 0;
	thread->kind = served ? CLEW_OPERATION_SERVED : CLEW_OPERATION_WORK;
	thread->endpoint = served ? socket : sleep->call;
}

static struct operation_thread *get_thread(struct operations *operations, uint32_t serial)
{
	struct operation_thread *thread = find_thread(operations, serial);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (thread && map_set(&operations->threads, serial, 0, (uintptr_t)thread) < 0) {
		free(thread);
		return NULL;
	}
	return thread;
}

int operations_take(struct operations *operations, const struct known *known,
		    const struct clew_sleep *sleep,
		    int (*take)(void *context, const struct operation *operation), void *context)
{
	const struct taker taker = {
		.operations = operations, .known = known, .take = take, .context = context};
	struct operation_thread *thread;
	bool in_exchange, answer = false;
	enum socket_side side;
	int r = take_wake(operations, known, sleep, &in_exchange);

	socket_of(operations, sleep, &side);
	if (r >= 0 && side == SIDE_CLIENT)
		r = take_answer(operations, &taker, sleep, &answer);
	if (r < 0 || !operation_is_idle(sleep->kind, sleep->call, in_exchange || answer, 0))
		return r;
	thread = get_thread(operations, sleep->task);
	if (!thread)
		return -ENOMEM;
	r = end_work(&taker, thread, sleep, sleep->end);
	if (r >= 0)
		begin_work(operations, thread, sleep);
	return r;
}

int operations_take_open(struct operations *operations, const struct known *known,
			 const struct clew_sleep *sleep, uint64_t now,
			 int (*take)(void *context, const struct operation *operation),
			 void *context)
{
	const struct taker taker = {
		.operations = operations, .known = known, .take = take, .context = context};
	struct operation_thread *thread;
	enum socket_side side;
	uint64_t socket = socket_of(operations, sleep, &side);
	const struct operation_request *request =
		side == SIDE_CLIENT ? find_request(operations, sleep->object.number) : NULL;
	bool shown = request && request->messages;
	int r;

	thread = find_thread(operations, sleep->task);
	if (side == SIDE_CLIENT && (shown ? request->end.talk.asked : sleep->asked)) {
		/* Its thread's work goes on, too, and for nothing else. */
		if (thread)
			thread->idle = now;
		if (shown)
			return 0;
		return hand_on(&taker,
			       (struct operation){.start = sleep->asked == CLEW_ASKED_SOMETIME
								   ? sleep->start
								   : sleep->asked,
						  .end = CLEW_TIME_OPEN,
						  .task = sleep->task},
			       socket, CLEW_OPERATION_REQUEST);
	}
	if (!thread || !operation_is_idle(sleep->kind, sleep->call, false, 0))
		return 0;
	thread->idle = now;
	if (sleep->start + OPERATION_IDLE > now)
		return 0;
	r = end_work(&taker, thread, sleep, sleep->start + OPERATION_IDLE);
	thread->closed = sleep->start;
	return r;
}

int operations_step(struct operations *operations, const struct known *known, uint64_t now,
		    int (*take)(void *context, const struct operation *operation), void *context)
{
	const struct taker taker = {
		.operations = operations, .known = known, .take = take, .context = context};
	bool look = now >= operations->looked + OPERATION_LOOK;
	int r = 0;

	operations->looked = look ? now : operations->looked;
	for (size_t i = 0; i < operations->requests.capacity && r >= 0; i++) {
		const struct map_slot *slot = &operations->requests.slots[i];

		if (slot->used)
			r = step_request(&taker, slot->key,
					 (struct operation_request *)(uintptr_t)slot->value, now,
					 look);
	}
	for (size_t i = 0; i < operations->threads.capacity && r >= 0; i++) {
		const struct map_slot *slot = &operations->threads.slots[i];
		const struct operation_thread *thread =
			(const struct operation_thread *)(uintptr_t)slot->value;

		if (slot->used && thread->begin && thread->idle != now)
			r = hand_on(&taker,
				    (struct operation){.start = thread->begin,
						       .end = CLEW_TIME_OPEN,
						       .task = (uint32_t)slot->key},
				    thread->endpoint, (enum clew_operation_kind)thread->kind);
	}
	return r;
}
