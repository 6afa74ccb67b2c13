/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps what identifies a side, and finds files that have other build ids. */
#include "compare/about.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trace/internal.h"

static const char *const keys[COMPARE_ABOUT_COUNT] = {
	[COMPARE_HOST] = "host",     [COMPARE_KERNEL] = "kernel",     [COMPARE_MACHINE] = "machine",
	[COMPARE_CPU] = "cpu_model", [COMPARE_TOPOLOGY] = "topology",
};

const char *about_key(enum compare_about about)
{
	return keys[about];
}

static int add_image(struct compare *compare, enum compare_side_name side,
		     const struct trace_image *image)
{
	struct vector *all = &compare->images;
	struct compare_image added = {
		.path = arena_copy(&compare->memory, image->path, strlen(image->path)),
		.build_id = hash_bytes(HASH_SEED, image->build_id, image->build_id_size),
		.side = (uint8_t)side};

	if (!added.path || vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct compare_image *)all->data)[all->count++] = added;
	return 0;
}

int about_add(struct compare *compare, enum compare_side_name side, const struct clew_trace *trace)
{
	int r = 0;

	for (unsigned about = 0; about < COMPARE_ABOUT_COUNT; about++) {
		const char *value = clew_trace_meta(trace, keys[about]);

		if (!value || compare->about[side][about])
			continue;
		compare->about[side][about] = arena_copy(&compare->memory, value, strlen(value));
		if (!compare->about[side][about])
			return -ENOMEM;
	}
	for (size_t i = 0; i < trace->images.capacity && r == 0; i++) {
		const struct map_slot *slot = &trace->images.slots[i];
		const struct trace_image *image =
			slot->used ? (const struct trace_image *)(uintptr_t)slot->value : NULL;

		if (image && !image->jit && image->build_id_size && image->path[0] == '/')
			r = add_image(compare, side, image);
	}
	return r;
}

static int by_path(const void *left, const void *right)
{
	const struct compare_image *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	if (order)
		return order;
	return a->build_id < b->build_id ? -1 : a->build_id > b->build_id;
}

/* True if a path has a build id after that it did not have before, and was there before. */
static bool is_rebuilt(const struct compare_image *images, size_t count)
{
	bool before = false, fresh = false;

	for (size_t i = 0, end; i < count; i = end) {
		bool sides[COMPARE_SIDES] = {};

		for (end = i; end < count && images[end].build_id == images[i].build_id; end++)
			sides[images[end].side] = true;
		before |= sides[COMPARE_BEFORE];
		fresh |= sides[COMPARE_AFTER] && !sides[COMPARE_BEFORE];
	}
	return before && fresh;
}

int about_rebuilt(const struct compare *compare, struct compare_result *result)
{
	struct compare_image *images = compare->images.data;
	size_t count = compare->images.count;

	result->rebuilt = calloc(count + 1, sizeof(*result->rebuilt));
	if (!result->rebuilt)
		return -ENOMEM;
	if (count)
		qsort(images, count, sizeof(*images), by_path);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && !strcmp(images[end].path, images[i].path);)
			end++;
		if (is_rebuilt(images + i, end - i))
			result->rebuilt[result->rebuilt_count++] = images[i].path;
	}
	return 0;
}
