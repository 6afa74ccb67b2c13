/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of record kinds as data. See kinds.h. */
#include <string.h>

#include "store/kinds.h"

#define CLEW_RECORD_KIND(NAME, name_, number, structure, wait, cause, tail, ledger)                \
	[number] = {.name = #name_,                                                                \
		    .size = sizeof(structure),                                                     \
		    .tail_length = (tail),                                                         \
		    .wait_flags = (wait),                                                          \
		    .cause_flags = (cause),                                                        \
		    .in_ledger = (ledger)},
#define CLEW_LEDGER_KIND(NAME, name_, number) [number] = {.name = #name_, .in_ledger = true},

static const struct store_shape shapes[CLEW_KIND_COUNT] = {
#include <clew/kernel/kinds.def>
};

const struct store_shape *store_shape(unsigned kind)
{
	static const struct store_shape none;

	return kind < CLEW_KIND_COUNT ? &shapes[kind] : &none;
}

size_t store_record_size(const void *record, size_t size)
{
	const struct clew_header *header = record;
	const struct store_shape *shape;
	size_t need;

	if (size < sizeof(*header))
		return 0;
	shape = store_shape(header->kind);
	if (!shape->size)
		return 0;
	need = shape->size;
	if (header->flags & shape->wait_flags)
		need += sizeof(struct clew_wait);
	if (header->flags & shape->cause_flags)
		need += sizeof(struct clew_cause);
	if (shape->tail_length && size >= need) {
		uint16_t length;

		memcpy(&length, (const uint8_t *)record + shape->tail_length, sizeof(length));
		need += length;
	}
	return need <= size ? need : 0;
}

size_t store_record_stride(unsigned kind)
{
	const struct store_shape *shape = store_shape(kind);

	return shape->size + (shape->wait_flags ? sizeof(struct clew_wait) : 0) +
	       (shape->cause_flags ? sizeof(struct clew_cause) : 0);
}
