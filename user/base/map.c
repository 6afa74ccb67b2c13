/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hash map of map.h. Invariant: from a key's home slot to the slot that holds
 * it every slot is used, which removal restores by moving later keys back.
 */
#include "base/map.h"
#include <errno.h>
#include <stdlib.h>

#define LEAST 64 /* slots */

static size_t home(const struct map *map, uint64_t key, uint32_t part)
{
	uint64_t hash = (key ^ ((uint64_t)part << 32 | part)) * 0x9e3779b97f4a7c15ull;

	hash ^= hash >> 32;
	return hash * 0xd6e8feb86659fd93ull >> 20 & (map->capacity - 1);
}

static struct map_slot *find(const struct map *map, uint64_t key, uint32_t part)
{
	size_t at = home(map, key, part);

	while (map->slots[at].used && (map->slots[at].key != key || map->slots[at].part != part))
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

uint64_t *map_get(const struct map *map, uint64_t key, uint32_t part)
{
	struct map_slot *slot;

	if (map->count == 0)
		return NULL;
	slot = find(map, key, part);
	return slot->used ? &slot->value : NULL;
}

static int grow(struct map *map, size_t capacity)
{
	struct map larger = {.capacity = capacity, .count = map->count};

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			*find(&larger, map->slots[i].key, map->slots[i].part) = map->slots[i];
	free(map->slots);
	*map = larger;
	return 0;
}

int map_set(struct map *map, uint64_t key, uint32_t part, uint64_t value)
{
	struct map_slot *slot;

	if ((map->count + 1) * 4 > map->capacity * 3) {
		int r = grow(map, map->capacity ? map->capacity * 2 : LEAST);

		if (r < 0)
			return r;
	}
	slot = find(map, key, part);
	if (!slot->used)
		map->count++;
	*slot = (struct map_slot){.key = key, .part = part, .value = value, .used = true};
	return 0;
}

int map_reserve(struct map *map, size_t count)
{
	size_t capacity = map->capacity ?: LEAST;

	while (count * 4 > capacity * 3)
		capacity *= 2;
	return capacity > map->capacity ? grow(map, capacity) : 0;
}

void map_remove(struct map *map, uint64_t key, uint32_t part)
{
	size_t mask = map->capacity - 1, hole, at;

	if (map->count == 0)
		return;
	hole = (size_t)(find(map, key, part) - map->slots);
	if (!map->slots[hole].used)
		return;
	map->count--;
	for (at = (hole + 1) & mask; map->slots[at].used; at = (at + 1) & mask) {
		size_t wanted = home(map, map->slots[at].key, map->slots[at].part);

		/* Move it back unless its home lies after the hole, on the way to here. */
		if (((at - wanted) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole].used = false;
}

void map_done(struct map *map)
{
	free(map->slots);
	*map = (struct map){0};
}

size_t map_memory(const struct map *map)
{
	return map->capacity * sizeof(*map->slots);
}
