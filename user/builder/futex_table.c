/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The futexes that somebody waits for, by memory and address, with their waiters and
 * the log of their releases.
 *
 * A shared futex may have several keys, one for each memory. They become one futex when
 * a wake proves that a waker's address and a sleeper's address are the same word.
 */
#include "builder/builder.h"
#include "builder/futex.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void futex_list_remove(struct wait_list *list, struct futex_wait *wait)
{
	*(wait->previous ? &wait->previous->next : &list->first) = wait->next;
	*(wait->next ? &wait->next->previous : &list->last) = wait->previous;
	wait->next = wait->previous = NULL;
}

void futex_list_insert(struct wait_list *list, struct futex_wait *place, struct futex_wait *wait)
{
	wait->previous = place;
	wait->next = place ? place->next : list->first;
	*(wait->next ? &wait->next->previous : &list->last) = wait;
	*(place ? &place->next : &list->first) = wait;
}

void futex_add_active(struct futex *futex, struct futex_wait *wait)
{
	struct futex_wait *place = futex->active.last;

	while (place && place->start > wait->start)
		place = place->previous;
	futex_list_insert(&futex->active, place, wait);
	wait->futex = futex;
}

void futex_not_idle(struct futex_table *table, struct futex *futex)
{
	if (!futex->idle)
		return;
	*(futex->idle_previous ? &futex->idle_previous->idle_next : &table->idle_first) =
		futex->idle_next;
	*(futex->idle_next ? &futex->idle_next->idle_previous : &table->idle_last) =
		futex->idle_previous;
	futex->idle_next = futex->idle_previous = NULL;
	futex->idle = false;
	table->idle_count--;
}

static int add_key(struct futex_table *table, struct futex *futex, uint32_t memory,
		   uint64_t address)
{
	struct futex_key *key = malloc(sizeof(*key));
	int r;

	if (!key)
		return -ENOMEM;
	r = map_set(&table->keys, address, memory, (uintptr_t)futex);
	if (r < 0) {
		free(key);
		return r;
	}
	*key = (struct futex_key){.memory = memory, .address = address, .next = futex->keys};
	futex->keys = key;
	futex->key_count++;
	table->memory += sizeof(*key);
	return 0;
}

struct futex *futex_new(struct futex_table *table, uint32_t memory, uint64_t address)
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
	if (add_key(table, futex, memory, address) < 0) {
		futex->idle_next = table->free_futexes;
		table->free_futexes = futex;
		return NULL;
	}
	return futex;
}

static void free_futex(struct futex_table *table, struct futex *futex)
{
	futex_not_idle(table, futex);
	while (futex->keys) {
		struct futex_key *key = futex->keys;

		futex->keys = key->next;
		map_remove(&table->keys, key->address, key->memory);
		table->memory -= sizeof(*key);
		free(key);
	}
	futex_logs_reset(table, futex, 64);
	*futex = (struct futex){.releases = futex->releases,
				.attempts = futex->attempts,
				.idle_next = table->free_futexes};
	table->free_futexes = futex;
}

struct futex *futex_find(struct futex_table *table, uint32_t memory, uint64_t address, uint64_t now)
{
	const uint64_t *found = map_get(&table->keys, address, memory);
	struct futex *futex = found ? (struct futex *)(uintptr_t)*found : NULL;

	/* By now the memory may be used for something else. */
	if (futex && futex->idle && now - futex->idle_since > BUILD_ALIAS_GRACE) {
		free_futex(table, futex);
		return NULL;
	}
	return futex;
}

void futex_retire(struct futex_table *table, struct futex *futex, uint64_t now)
{
	size_t kept = futex->shared ? BUILD_ALIAS_LOG : BUILD_WOKEN_LATELY;

	if (futex->active.first || futex->pending.first)
		return;
	if (!futex->shared && !futex->lock && !futex->woken[0]) {
		free_futex(table, futex);
		return;
	}
	futex_logs_trim(futex, kept);
	futex_not_idle(table, futex);
	futex->idle_since = now;
	futex->idle_previous = table->idle_last;
	*(table->idle_last ? &table->idle_last->idle_next : &table->idle_first) = futex;
	table->idle_last = futex;
	futex->idle = true;
	if (++table->idle_count > BUILD_ALIAS_MAX)
		free_futex(table, table->idle_first);
}

int futex_join(struct futex_table *table, struct futex *futex, uint32_t memory, uint64_t address,
	       uint64_t now)
{
	struct futex *other = futex_find(table, memory, address, now);
	struct futex_wait *wait;
	int r;

	if (other == futex)
		return 0;
	if (!other)
		return add_key(table, futex, memory, address);
	for (struct futex_key *key = other->keys; key; key = other->keys) {
		*map_get(&table->keys, key->address, key->memory) = (uintptr_t)futex;
		other->keys = key->next;
		key->next = futex->keys;
		futex->keys = key;
		futex->key_count++;
	}
	while ((wait = other->active.first)) {
		futex_list_remove(&other->active, wait);
		futex_add_active(futex, wait);
	}
	while ((wait = other->pending.first)) {
		futex_list_remove(&other->pending, wait);
		futex_list_insert(&futex->pending, futex->pending.last, wait);
		wait->futex = futex;
	}
	futex->shared = true;
	futex->lock |= other->lock;
	if (!futex->class)
		futex->class = other->class;
	if (!futex->woken[0])
		memcpy(futex->woken, other->woken, sizeof(futex->woken));
	r = futex_logs_join(table, futex, other);
	if (r < 0)
		return r;
	free_futex(table, other);
	return 0;
}

static void free_waits(struct futex_wait *wait)
{
	while (wait) {
		struct futex_wait *next = wait->next;

		free(wait->links);
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
		futex_logs_reset(table, futex, 0);
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

	return table->memory + map_memory(&table->keys) +
	       table->holder_capacity * sizeof(*table->holders);
}
