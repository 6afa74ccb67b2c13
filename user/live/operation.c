/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations while findings come. */
#include "live/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "explain/classes.h"
#include "trace/idle.h"

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

struct operation_request {
	uint64_t asked;	   /* when the question left */
	uint64_t answered; /* when the answer began to come, 0: not yet */
	uint64_t last;	   /* when the last part of it had come */
	uint64_t over;	   /* .. and its thread ran again */
	uint32_t task;
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

static int end_request(const struct taker *taker, uint64_t inode, struct operation_request *request,
		       uint64_t at)
{
	const uint64_t *socket = map_get(&taker->operations->sockets, inode, 0);
	const struct operation whole = {
		.start = request->asked, .end = request->over, .at = at, .task = request->task};
	struct operation_thread *thread = find_thread(taker->operations, request->task);

	if (thread && thread->begin && thread->begin <= request->asked)
		thread->inner += request->over - request->asked;
	*request = (struct operation_request){};
	return hand_on(taker, whole, socket ? *socket : 0, CLEW_OPERATION_REQUEST);
}

/* When it is known that nothing more of an answer comes. */
static uint64_t over_at(const struct operation_request *request)
{
	return request->last + (request->answered - request->asked);
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
	int r = 0;

	*ret_answer = false;
	if (!request)
		return sleep->asked ? -ENOMEM : 0;
	if (request->answered && (sleep->asked || sleep->end > over_at(request)))
		r = end_request(taker, inode, request, sleep->end);
	if (sleep->asked) {
		request->asked = sleep->asked == CLEW_ASKED_SOMETIME ? sleep->start : sleep->asked;
		request->task = sleep->task;
	}
	*ret_answer = request->asked;
	if (request->asked && data_came(sleep)) {
		request->answered = request->answered ?: sleep->end;
		request->last = sleep->end;
		request->over = sleep->switch_in == CLEW_TIME_OPEN ? sleep->end : sleep->switch_in;
	}
	return r;
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
	bool served = side == SIDE_SERVER && data_came(sleep);

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
	int r;

	thread = find_thread(operations, sleep->task);
	if (side == SIDE_CLIENT && sleep->asked) {
		/* Its thread's work goes on, too, and for nothing else. */
		if (thread)
			thread->idle = now;
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
	for (size_t i = 0; look && i < operations->requests.capacity && r >= 0; i++) {
		const struct map_slot *slot = &operations->requests.slots[i];
		struct operation_request *request =
			(struct operation_request *)(uintptr_t)slot->value;

		if (slot->used && request->answered && over_at(request) < now)
			r = end_request(&taker, slot->key, request, over_at(request));
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
