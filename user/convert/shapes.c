/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cache of attribute lists by what they are made from: most waits and most
 * dependencies have the same attributes as many others.
 */
#include "convert/to_model.h"
#include <string.h>

struct shape *capture_shape(struct shape_cache *cache, const char bytes[static SHAPE_SIZE])
{
	uint64_t hash = 0, word;
	const uint64_t *known;
	struct shape *shape;

	for (size_t i = 0; i < SHAPE_SIZE; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		hash = (hash ^ word) * 0xd6e8feb86659fd93ull;
		hash ^= hash >> 32;
	}
	known = map_get(&cache->index, hash, 0);
	if (known) {
		shape = (struct shape *)cache->shapes.data + *known;
		return memcmp(shape->bytes, bytes, SHAPE_SIZE) ? NULL : shape;
	}
	cache->shapes.item = sizeof(struct shape);
	if (vector_reserve(&cache->shapes, cache->shapes.count + 1) < 0 ||
	    map_set(&cache->index, hash, 0, cache->shapes.count) < 0)
		return NULL;
	shape = (struct shape *)cache->shapes.data + cache->shapes.count++;
	memcpy(shape->bytes, bytes, SHAPE_SIZE);
	shape->made = CLEW_NONE;
	return shape;
}
