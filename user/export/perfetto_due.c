/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Notes when each event is due. */
#include "export/perfetto_events.h"

#include <errno.h>

int event_add(struct events *events, enum event_kind kind, uint64_t at, size_t index)
{
	struct vector *keys = &events->keys[kind];

	if (vector_reserve(keys, keys->count + 1) < 0)
		return -ENOMEM;
	((struct sort_key *)keys->data)[keys->count++] =
		(struct sort_key){.key = at, .index = (uint32_t)index, .tag = kind};
	return 0;
}
