/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations while findings come. */
#include "live/operation.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/idle.h"

struct operation_thread {
	uint64_t begin;	  /* the end of its last wait for work, 0 none */
	uint64_t idle;	  /* when it was last seen in one */
	uint64_t closed;  /* the begin of the one that was seen to end the operation */
	uint32_t call_id; /* of its last wait for work */
};

static struct operation_thread *find_thread(const struct operations *operations, uint32_t serial)
{
	const uint64_t *place = map_get(&operations->threads, serial, 0);

	return place ? (struct operation_thread *)(uintptr_t)*place : NULL;
}

void operations_done(struct operations *operations)
{
	for (size_t i = 0; i < operations->threads.capacity; i++)
		if (operations->threads.slots[i].used)
			free((void *)(uintptr_t)operations->threads.slots[i].value);
	map_done(&operations->threads);
	map_done(&operations->sides);
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
	return side == SIDE_UNKNOWN ? 0 : set_bounded(&operations->sides, socket->inode, 0, side);
}

/*
 * *ret_exchange: it is a client's wait for an answer, which its process had asked the other one for
 * since the answer before.
 */
static int take_wake(struct operations *operations, const struct known *known,
		     const struct clew_sleep *sleep, bool *ret_exchange)
{
	const struct known_task *task = known_find(known, sleep->task),
				*waker = known_find(known, sleep->ended_by);
	const uint64_t *side, *asked, *answered;

	*ret_exchange = false;
	if ((sleep->kind != CLEW_WAIT_POLL && sleep->kind != CLEW_WAIT_SOCKET) ||
	    sleep->object.kind != CLEW_OBJECT_SOCKET || sleep->blind || !task || !waker)
		return 0;
	side = map_get(&operations->sides, sleep->object.number, 0);
	if (!side)
		return 0;
	asked = map_get(&operations->last, task->process, waker->process);
	answered = map_get(&operations->last, waker->process, task->process);
	*ret_exchange = *side == SIDE_CLIENT && asked && (!answered || *asked > *answered);
	return set_bounded(&operations->last, waker->process, task->process, sleep->end);
}

/* The operation that a wait for work has ended, which is known at `at`. */
static struct operation ended_by(const struct operation_thread *thread,
				 const struct clew_sleep *sleep, uint64_t at)
{
	if (!thread->begin || thread->call_id == sleep->call_id || thread->begin >= sleep->start ||
	    thread->closed == sleep->start || sleep->open & CLEW_OPEN_START)
		return (struct operation){};
	return (struct operation){
		.start = thread->begin, .end = sleep->start, .at = at, .task = sleep->task};
}

int operations_take(struct operations *operations, const struct known *known,
		    const struct clew_sleep *sleep, struct operation *ret_ended)
{
	struct operation_thread *thread;
	bool in_exchange;
	int r = take_wake(operations, known, sleep, &in_exchange);

	*ret_ended = (struct operation){};
	if (r < 0 || !operation_is_idle(sleep->kind, sleep->call, in_exchange, 0))
		return r;
	thread = find_thread(operations, sleep->task);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread ||
		    map_set(&operations->threads, sleep->task, 0, (uintptr_t)thread) < 0) {
			free(thread);
			return -ENOMEM;
		}
	}
	*ret_ended = ended_by(thread, sleep, sleep->end);
	thread->begin = sleep->end;
	thread->call_id = sleep->call_id;
	return 0;
}

void operations_take_open(struct operations *operations, const struct clew_sleep *sleep,
			  uint64_t now, struct operation *ret_ended)
{
	struct operation_thread *thread = find_thread(operations, sleep->task);

	*ret_ended = (struct operation){};
	if (!thread || !operation_is_idle(sleep->kind, sleep->call, false, 0))
		return;
	thread->idle = now;
	if (sleep->start + OPERATION_IDLE > now)
		return;
	*ret_ended = ended_by(thread, sleep, sleep->start + OPERATION_IDLE);
	thread->closed = sleep->start;
}

int operations_open(const struct operations *operations, uint64_t now,
		    int (*take)(void *context, const struct operation *operation), void *context)
{
	int r = 0;

	for (size_t i = 0; i < operations->threads.capacity && r >= 0; i++) {
		const struct map_slot *slot = &operations->threads.slots[i];
		const struct operation_thread *thread =
			(const struct operation_thread *)(uintptr_t)slot->value;

		if (slot->used && thread->begin && thread->idle != now)
			r = take(context, &(struct operation){.start = thread->begin,
							      .end = CLEW_TIME_OPEN,
							      .task = (uint32_t)slot->key});
	}
	return r;
}
