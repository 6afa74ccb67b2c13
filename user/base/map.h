/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hash map from (number, small number) to a number: open addressing, linear
 * probing, no tombstones. It never holds more than 3/4 of its slots.
 */
#ifndef CLEW_BASE_MAP_H
#define CLEW_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
	uint32_t part; /* the second half of the key */
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t count;
	size_t capacity; /* a power of two, or 0 */
};

/* The value of a key, or NULL. Valid until the map is changed. */
uint64_t *map_get(const struct map *map, uint64_t key, uint32_t part);
/* Sets a key's value; 0 or -ENOMEM. */
int map_set(struct map *map, uint64_t key, uint32_t part, uint64_t value);
/* Makes room for `count` keys in all, so that setting them takes no memory. 0 or -ENOMEM. */
int map_reserve(struct map *map, size_t count);
void map_remove(struct map *map, uint64_t key, uint32_t part);
void map_done(struct map *map);
size_t map_memory(const struct map *map);

#endif
