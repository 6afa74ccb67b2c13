/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Orders what a trace has in order of time by task, and by time within each
 * task.
 */
#include "convert/to_model.h"
#include <errno.h>
#include <stdlib.h>

int capture_order_by_task(struct sort_key **keys, size_t count,
			  uint32_t (*task_of)(const void *things, size_t index), const void *things)
{
	struct sort_key *made;

	if (*keys || count == 0)
		return 0;
	made = *keys = malloc(2 * count * sizeof(*made));
	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		made[i] = (struct sort_key){.key = task_of(things, i), .index = (uint32_t)i};
	sort_keys(made, made + count, count);
	return 0;
}

size_t capture_first_of_task(const struct sort_key *keys, size_t count, uint32_t serial)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (keys[middle].key < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
