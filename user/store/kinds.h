/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of record kinds (include/clew/kernel/kinds.def) as data: names, sizes and what
 * follows a record's structure.
 */
#ifndef CLEW_STORE_KINDS_H
#define CLEW_STORE_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>

struct store_shape {
	const char *name;     /* NULL: there is no such kind */
	uint16_t size;	      /* of the structure; 0: it has no records */
	uint16_t tail_length; /* offset of the tail's length in the structure; 0: no tail */
	uint8_t wait_flags;   /* header.flags with which a struct clew_wait follows */
	uint8_t cause_flags;  /* and with which a struct clew_cause follows after it */
	bool in_ledger;
};

/* Never NULL. */
const struct store_shape *store_shape(unsigned kind);

/* Bytes of a record by its kind, flags and tail; 0: it is no record or does not fit in `size`. */
size_t store_record_size(const void *record, size_t size);

/* Bytes of a kind's record with all that may follow it but the tail; 0: it has no records. */
size_t store_record_stride(unsigned kind);

#endif
