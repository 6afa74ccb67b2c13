// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who held a futex while somebody waited for it.
 *
 * Only futexes that have holders (mutexes, rwlocks) and are waited for are known
 * here. Each keeps a log of its releases in order of their time; a wait's holders
 * are read off the log once the wait has ended:
 *
 *  - up to a release, the releaser held it: it had what it gave away;
 *  - from the last release on, the woken waiter holds it, unless it slept on the
 *    futex again without a release of its own before: then whom it saw holding it;
 *  - before any release, the owner that the waiter read when it blocked.
 *
 * A release is learned when the woken waiter comes on a CPU, so an ended wait is
 * kept back while a waiter older than its end sleeps on, at most BUILD_GRACE.
 *
 * A shared futex may have several keys, one a process: they become one futex when
 * a wake shows a waker's address and a sleeper's address to be the same word.
 */
#include <build/builder.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

static void list_remove(struct wait_list *list, struct futex_wait *wait)
{
	*(wait->previous ? &wait->previous->next : &list->first) = wait->next;
	*(wait->next ? &wait->next->previous : &list->last) = wait->previous;
	wait->next = wait->previous = NULL;
}

static void list_insert_after(struct wait_list *list, struct futex_wait *place, struct futex_wait *wait)
{
	wait->previous = place;
	wait->next = place ? place->next : list->first;
	*(wait->next ? &wait->next->previous : &list->last) = wait;
	*(place ? &place->next : &list->first) = wait;
}

static void active_insert(struct futex *futex, struct futex_wait *wait)
{
	struct futex_wait *place = futex->active.last;

	while (place && place->start > wait->start)
		place = place->previous;
	list_insert_after(&futex->active, place, wait);
	wait->futex = futex;
}

static void idle_remove(struct futex_table *table, struct futex *futex)
{
	if (!futex->idle)
		return;
	*(futex->idle_previous ? &futex->idle_previous->idle_next : &table->idle_first) = futex->idle_next;
	*(futex->idle_next ? &futex->idle_next->idle_previous : &table->idle_last) = futex->idle_previous;
	futex->idle_next = futex->idle_previous = NULL;
	futex->idle = false;
	table->idle_count--;
}

static int add_key(struct futex_table *table, struct futex *futex, uint32_t process, uint64_t address)
{
	struct futex_key *key = malloc(sizeof(*key));
	int r;

	if (!key)
		return -ENOMEM;
	r = map_set(&table->keys, address, process, (uintptr_t)futex);
	if (r < 0) {
		free(key);
		return r;
	}
	*key = (struct futex_key){.process = process, .address = address, .next = futex->keys};
	futex->keys = key;
	futex->key_count++;
	table->memory += sizeof(*key);
	return 0;
}

static struct futex *new_futex(struct futex_table *table, uint32_t process, uint64_t address)
{
	struct futex *futex = table->free_futexes;

	if (futex) {
		table->free_futexes = futex->idle_next;
		futex->idle_next = NULL;
	} else {
		futex = calloc(1, sizeof(*futex));
		if (!futex)
			return NULL;
		table->memory += sizeof(*futex);
	}
	if (add_key(table, futex, process, address) < 0) {
		futex->idle_next = table->free_futexes;
		table->free_futexes = futex;
		return NULL;
	}
	return futex;
}

static void free_futex(struct futex_table *table, struct futex *futex)
{
	idle_remove(table, futex);
	while (futex->keys) {
		struct futex_key *key = futex->keys;

		futex->keys = key->next;
		map_remove(&table->keys, key->address, key->process);
		table->memory -= sizeof(*key);
		free(key);
	}
	/* A small log is kept for the next futex. */
	if (futex->log_capacity > 64) {
		table->memory -= futex->log_capacity * sizeof(*futex->log);
		free(futex->log);
		futex->log = NULL;
		futex->log_capacity = 0;
	}
	*futex = (struct futex){.log = futex->log, .log_capacity = futex->log_capacity, .idle_next = table->free_futexes};
	table->free_futexes = futex;
}

static struct futex *find_futex(struct futex_table *table, uint32_t process, uint64_t address, uint64_t now)
{
	const uint64_t *found = map_get(&table->keys, address, process);
	struct futex *futex = found ? (struct futex *)(uintptr_t)*found : NULL;

	/* By now the memory may be another's. */
	if (futex && futex->idle && now - futex->idle_since > BUILD_ALIAS_GRACE) {
		free_futex(table, futex);
		return NULL;
	}
	return futex;
}

/*
 * Nobody waits any more: forget it. A shared one is kept for a while, with its last
 * releases: a waiter under another address may turn out to wait for the same word.
 */
static void retire_futex(struct futex_table *table, struct futex *futex, uint64_t now)
{
	if (futex->active.first || futex->pending.first)
		return;
	if (!futex->shared) {
		free_futex(table, futex);
		return;
	}
	if (futex->log_count > BUILD_ALIAS_LOG) {
		futex->log_first += futex->log_count - BUILD_ALIAS_LOG;
		futex->log_count = BUILD_ALIAS_LOG;
	}
	idle_remove(table, futex);
	futex->idle_since = now;
	futex->idle_previous = table->idle_last;
	*(table->idle_last ? &table->idle_last->idle_next : &table->idle_first) = futex;
	table->idle_last = futex;
	futex->idle = true;
	if (++table->idle_count > BUILD_ALIAS_MAX)
		free_futex(table, table->idle_first);
}

static void log_prune(struct futex *futex)
{
	uint64_t oldest = futex->active.first ? futex->active.first->start : UINT64_MAX;

	for (const struct futex_wait *wait = futex->pending.first; wait; wait = wait->next)
		oldest = earlier(oldest, wait->start);
	while (futex->log_count > (futex->shared ? BUILD_ALIAS_LOG : 0) && futex->log[futex->log_first].at <= oldest) {
		futex->log_first++;
		futex->log_count--;
	}
	futex->log_prune_at = 2 * futex->log_count + 32;
}

static int log_add(struct futex_table *table, struct futex *futex, const struct release *release)
{
	size_t at;

	if (futex->log_count >= futex->log_prune_at)
		log_prune(futex);
	if (futex->log_first + futex->log_count == futex->log_capacity) {
		if (futex->log_first > futex->log_capacity / 2) {
			memmove(futex->log, futex->log + futex->log_first, futex->log_count * sizeof(*futex->log));
			futex->log_first = 0;
		} else {
			size_t capacity = futex->log_capacity ? futex->log_capacity * 2 : 16;
			struct release *log = realloc(futex->log, capacity * sizeof(*log));

			if (!log)
				return -ENOMEM;
			table->memory += (capacity - futex->log_capacity) * sizeof(*log);
			futex->log = log;
			futex->log_capacity = capacity;
		}
	}
	at = futex->log_first + futex->log_count;
	for (; at > futex->log_first && futex->log[at - 1].at > release->at; at--)
		futex->log[at] = futex->log[at - 1];
	futex->log[at] = *release;
	futex->log_count++;
	return 0;
}

/* The first entry after a moment. */
static struct release *log_after(const struct futex *futex, uint64_t moment)
{
	struct release *low = futex->log + futex->log_first;
	size_t count = futex->log_count;

	while (count > 0) {
		size_t half = count / 2;

		if (low[half].at <= moment) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

static struct release *log_end(const struct futex *futex)
{
	return futex->log + futex->log_first + futex->log_count;
}

/* The woken waiter of an entry slept again before it had ever held the futex. */
static bool lost_race(const struct futex *futex, const struct release *release)
{
	if (release->again == 0)
		return false;
	for (const struct release *other = release + 1; other < log_end(futex) && other->at <= release->again; other++)
		if (other->releaser == release->woken)
			return false;
	return true;
}

static int join(struct futex_table *table, struct futex *futex, uint32_t process, uint64_t address, uint64_t now)
{
	struct futex *other = find_futex(table, process, address, now);
	struct futex_wait *wait;
	int r;

	if (other == futex)
		return 0;
	if (!other)
		return add_key(table, futex, process, address);
	for (struct futex_key *key = other->keys; key; key = other->keys) {
		*map_get(&table->keys, key->address, key->process) = (uintptr_t)futex;
		other->keys = key->next;
		key->next = futex->keys;
		futex->keys = key;
		futex->key_count++;
	}
	while ((wait = other->active.first)) {
		list_remove(&other->active, wait);
		active_insert(futex, wait);
	}
	while ((wait = other->pending.first)) {
		list_remove(&other->pending, wait);
		list_insert_after(&futex->pending, futex->pending.last, wait);
		wait->futex = futex;
	}
	futex->shared = true;
	for (const struct release *release = other->log + other->log_first; release < log_end(other); release++) {
		r = log_add(table, futex, release);
		if (r < 0)
			return r;
	}
	free_futex(table, other);
	return 0;
}

struct holders {
	struct futex_table *table;
	uint32_t count;
	int error;
};

static void add_holder(struct holders *holders, uint32_t task, uint64_t from, uint64_t to, bool barged)
{
	struct futex_table *table = holders->table;

	if (task == CLEW_NO_TASK || from >= to || holders->error < 0)
		return;
	if (holders->count == table->holder_capacity) {
		size_t capacity = table->holder_capacity ? table->holder_capacity * 2 : 64;
		struct clew_holder *larger = realloc(table->holders, capacity * sizeof(*larger));

		if (!larger) {
			holders->error = -ENOMEM;
			return;
		}
		table->holders = larger;
		table->holder_capacity = capacity;
	}
	table->holders[holders->count++] = (struct clew_holder){
		.task = task,
		.evidence = barged ? CLEW_EVIDENCE_OBSERVED : CLEW_EVIDENCE_EXACT,
		.barged = barged,
		.from = from,
		.to = to,
	};
}

/* Who took the futex after the wakes group..last of one release, as far as the log tells. */
static void add_taker(struct holders *holders, const struct futex *futex, const struct release *group, const struct release *last,
		      uint64_t to)
{
	for (const struct release *wake = group; wake <= last; wake++) {
		if (!lost_race(futex, wake)) {
			add_holder(holders, wake->woken, last->at, to, false);
			return;
		}
	}
	add_holder(holders, last->owner, last->at, to, true);
}

static bool woke(const struct release *group, const struct release *last, uint32_t task)
{
	for (; group <= last; group++)
		if (group->woken == task)
			return true;
	return false;
}

static int find_holders(struct clew_builder *builder, const struct futex_wait *wait)
{
	struct holders holders = {.table = &builder->futexes};
	const struct clew_sleep *sleep = &wait->sleep;
	const struct futex *futex = wait->futex;
	const struct release *group = NULL, *last = NULL; /* the wakes of the latest release */
	uint64_t end = earlier(sleep->end, builder->now), cursor = wait->start;

	for (const struct release *next = log_after(futex, wait->start); next < log_end(futex) && next->at <= end; next++) {
		if (next->releaser == sleep->task)
			continue;
		if (last && last->many && next->many && next->releaser == last->releaser) {
			if (holders.count > 0)
				holders.table->holders[holders.count - 1].to = next->at;
			last = next;
		} else {
			add_holder(&holders, next->releaser, cursor, next->at, last && !woke(group, last, next->releaser));
			group = last = next;
		}
		cursor = next->at;
	}
	if (sleep->edge_type == CLEW_EDGE_UNLOCK)
		add_holder(&holders, sleep->ended_by, cursor, end, last && !woke(group, last, sleep->ended_by));
	else if (last)
		add_taker(&holders, futex, group, last, end);
	else
		add_holder(&holders, wait->owner, cursor, end, false);
	return holders.error < 0 ? holders.error : (int)holders.count;
}

/* Sends a wait that is in no list any more, and frees it. */
static int send_wait(struct clew_builder *builder, struct futex_wait *wait)
{
	struct futex_table *table = &builder->futexes;
	int r = 0;

	if (!wait->sleep.blind)
		r = find_holders(builder, wait);
	if (r >= 0) {
		wait->sleep.holder_count = (uint32_t)r;
		wait->sleep.holders = r > 0 ? table->holders : NULL;
		r = builder->sink.sleep ? builder->sink.sleep(builder->sink.context, &wait->sleep) : 0;
	}
	wait->next = table->free_waits;
	table->free_waits = wait;
	return r < 0 ? r : 0;
}

static int send_pending(struct clew_builder *builder, struct futex_wait *wait)
{
	struct futex_table *table = &builder->futexes;

	list_remove(&wait->futex->pending, wait);
	*(wait->queue_previous ? &wait->queue_previous->queue_next : &table->queue_first) = wait->queue_next;
	*(wait->queue_next ? &wait->queue_next->queue_previous : &table->queue_last) = wait->queue_previous;
	table->pending--;
	return send_wait(builder, wait);
}

/* Nothing that is still to come can change the holders of an ended wait. */
static bool settled(const struct futex_wait *wait)
{
	const struct futex *futex = wait->futex;
	const struct release *release;

	if (wait->sleep.blind)
		return true;
	if (futex->active.first && futex->active.first->start < wait->sleep.end)
		return false;
	if (wait->sleep.edge_type == CLEW_EDGE_UNLOCK)
		return true;
	release = log_after(futex, wait->start);
	return release == log_end(futex) || release->at > wait->sleep.end;
}

static int settle(struct clew_builder *builder, struct futex *futex)
{
	int r = 0;

	while (r >= 0 && futex->pending.first && settled(futex->pending.first))
		r = send_pending(builder, futex->pending.first);
	retire_futex(&builder->futexes, futex, builder->now);
	return r;
}

int build_futex_wait(struct clew_builder *builder, struct task *task)
{
	struct futex_table *table = &builder->futexes;
	const struct clew_wait *record = &task->wait;
	bool shared = !(record->futex_operation & FUTEX_PRIVATE_FLAG);
	uint64_t released_at = task->released_at;
	struct futex_wait *wait;
	struct futex *futex;
	uint32_t owner = CLEW_NO_TASK;

	task->released_at = 0;
	if (!task->has_wait || record->object_kind != CLEW_OBJECT_FUTEX || record->object == 0 || build_dropped(builder, CLEW_EDGE_UNLOCK))
		return 0;
	futex = find_futex(table, task->process, record->object, builder->now);
	if (record->futex_class != CLEW_FUTEX_CLASS_NONE)
		owner = build_task_resolve(builder, task, record->owner, shared);
	if (futex && released_at) {
		struct release *release = log_after(futex, released_at - 1);

		for (; release < log_end(futex) && release->at == released_at; release++) {
			if (release->woken == task->serial) {
				release->again = task->since;
				release->owner = owner;
			}
		}
	}
	if (record->futex_class == CLEW_FUTEX_CLASS_NONE)
		return 0;
	if (!futex)
		futex = new_futex(table, task->process, record->object);
	wait = table->free_waits;
	if (wait)
		table->free_waits = wait->next;
	else if (futex && (wait = malloc(sizeof(*wait))))
		table->memory += sizeof(*wait);
	if (!futex || !wait)
		return -ENOMEM;
	idle_remove(table, futex);
	*wait = (struct futex_wait){.owner = owner, .start = task->since};
	active_insert(futex, wait);
	futex->shared |= shared;
	task->futex_wait = wait;
	return 0;
}

void build_futex_cancel(struct clew_builder *builder, struct task *task)
{
	struct futex_table *table = &builder->futexes;
	struct futex_wait *wait = task->futex_wait;

	if (!wait)
		return;
	task->futex_wait = NULL;
	list_remove(&wait->futex->active, wait);
	retire_futex(table, wait->futex, builder->now);
	wait->next = table->free_waits;
	table->free_waits = wait;
}

int build_futex_ended(struct clew_builder *builder, struct task *task, const struct clew_sleep *sleep, const struct wake *wake)
{
	struct futex_table *table = &builder->futexes;
	struct futex_wait *wait = task->futex_wait;
	struct futex *futex = wait->futex;
	int r;

	task->futex_wait = NULL;
	list_remove(&futex->active, wait);
	wait->sleep = *sleep;
	wait->ended = true;
	if (sleep->end == CLEW_TIME_OPEN) {
		r = send_wait(builder, wait);
		retire_futex(table, futex, builder->now);
		return r;
	}
	list_insert_after(&futex->pending, futex->pending.last, wait);
	wait->queue_previous = table->queue_last;
	*(table->queue_last ? &table->queue_last->queue_next : &table->queue_first) = wait;
	table->queue_last = wait;
	table->pending++;
	wait->deadline = builder->now + BUILD_GRACE;
	if (sleep->edge_type == CLEW_EDGE_UNLOCK) {
		struct release release = {
			.at = wake->time,
			.releaser = wake->waker,
			.woken = task->serial,
			.many = wake->operation == CLEW_FUTEX_WAKE_MANY,
		};

		r = log_add(table, futex, &release);
		if (r < 0)
			return r;
		if (wake->object_kind == CLEW_OBJECT_FUTEX && wake->object && !(wake->flags & CLEW_WAKE_PRIVATE)) {
			const struct task *waker = build_task_find(builder, wake->waker);

			r = waker ? join(table, futex, waker->process, wake->object, builder->now) : 0;
			if (r < 0)
				return r;
		}
	}
	return settle(builder, futex);
}

int build_futex_expire(struct clew_builder *builder, uint64_t now, bool all)
{
	struct futex_table *table = &builder->futexes;
	struct futex_wait *wait;

	while ((wait = table->queue_first) && (all || wait->deadline <= now || table->pending > BUILD_PENDING_MAX)) {
		struct futex *futex = wait->futex;
		int r = send_pending(builder, wait);

		retire_futex(table, futex, builder->now);
		if (r < 0)
			return r;
	}
	return 0;
}

static void free_waits(struct futex_wait *wait)
{
	while (wait) {
		struct futex_wait *next = wait->next;

		free(wait);
		wait = next;
	}
}

void build_futexes_done(struct clew_builder *builder)
{
	struct futex_table *table = &builder->futexes;

	/* Any key leads to its futex; freeing that removes them all. */
	for (size_t i = 0; table->keys.count > 0; i = (i + 1) % table->keys.capacity) {
		if (table->keys.slots[i].used) {
			struct futex *futex = (struct futex *)(uintptr_t)table->keys.slots[i].value;

			free_waits(futex->active.first);
			free_waits(futex->pending.first);
			futex->active = futex->pending = (struct wait_list){0};
			free_futex(table, futex);
		}
	}
	while (table->free_futexes) {
		struct futex *futex = table->free_futexes;

		table->free_futexes = futex->idle_next;
		free(futex->log);
		free(futex);
	}
	free_waits(table->free_waits);
	free(table->holders);
	map_done(&table->keys);
	*table = (struct futex_table){0};
}

size_t build_futexes_memory(const struct clew_builder *builder)
{
	const struct futex_table *table = &builder->futexes;

	return table->memory + map_memory(&table->keys) + table->holder_capacity * sizeof(*table->holders);
}
