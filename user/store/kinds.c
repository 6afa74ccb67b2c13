/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of record kinds as data. */
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

/* Keeps the compiler from making a conditional move of the branch that it is in. */
#define STAYS_A_BRANCH(number) __asm__ volatile("" : "+r"(number))

/*
 * A size is made of constants behind branches, which the CPU predicts. Were it
 * computed from the header, a loop over records could not begin to load the next
 * header before it has this one: encoding takes 8 % longer then.
 */
#define CLEW_RECORD_KIND(NAME, name_, number, structure, wait, cause, tail, ledger)                \
	case number:                                                                               \
		need = sizeof(structure);                                                          \
		STAYS_A_BRANCH(need);                                                              \
		wait_flags = (wait);                                                               \
		cause_flags = (cause);                                                             \
		tail_length = (tail);                                                              \
		break;
#define CLEW_LEDGER_KIND(NAME, name_, number)

size_t store_record_size(const void *record, size_t size)
{
	const struct clew_header *header = record;
	unsigned wait_flags, cause_flags;
	size_t need, tail_length;

	if (size < sizeof(*header))
		return 0;
	switch (header->kind) {
#include <clew/kernel/kinds.def>
	default:
		return 0;
	}
	if (header->flags & wait_flags) {
		need += sizeof(struct clew_wait);
		STAYS_A_BRANCH(need);
	}
	if (header->flags & cause_flags) {
		need += sizeof(struct clew_cause);
		STAYS_A_BRANCH(need);
	}
	if (tail_length && size >= need) {
		uint16_t length;

		memcpy(&length, (const uint8_t *)record + tail_length, sizeof(length));
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
