/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows to columns, for the encoder: the members of the records of one kind,
 * each column by itself and as wide as the member.
 */
#ifndef CLEW_STORE_TURN_H
#define CLEW_STORE_TURN_H

#include "store/columns.h"

struct store_turned {
	uint8_t *columns[STORE_COLUMNS_MAX]; /* values of the rows that have the column */
	bool done[STORE_COLUMNS_MAX];
	uint64_t bits[STORE_COLUMNS_MAX]; /* bits that are set in any of the values */
	uint8_t *memory;
	size_t capacity;
};

/*
 * Begins a kind with that many rows; the columns of the last one are dropped.
 * Returns 0 or -ENOMEM.
 */
int store_turned_begin(struct store_turned *turned, const struct store_kind *kind, size_t rows);
void store_turned_done(struct store_turned *turned);

/*
 * Turns the job's column if it is not turned yet. `at`: offsets in `records` of
 * the kind's rows.
 */
void store_turn(struct store_turned *turned, const struct store_kind *kind,
		const struct store_job *job, const uint8_t *records, const uint32_t *at);

/* The values of a turned column, as numbers. */
void store_turned_values(const struct store_turned *turned, const struct store_job *job,
			 uint64_t *values);

#endif
