/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Columns of numbers: prediction and byte planes, the same for both directions.
 *
 * A column's values become residuals (the differences from a simple
 * prediction), and these are stored in as many planes as the largest has bytes:
 * first the lowest byte of every row, then the next. Nothing is carried over
 * from one chunk to the next.
 */
#ifndef CLEW_STORE_COLUMNS_H
#define CLEW_STORE_COLUMNS_H

#include "store/pack.h"
#include "store/schema.h"

#define STORE_RECENT_MAX 255
#define STORE_HASHED	 256 /* bytes of a tail that its hash covers */
#define STORE_KEYS	 16  /* for how many keys slots and sources are kept */

/* The bits that a number of a type has. */
static inline uint64_t store_mask_of(unsigned type)
{
	return UINT64_MAX >> (64 - 8 * store_type_size(type));
}

/*
 * The results for one combination of keys, by place among the rows that have
 * the column.
 */
struct store_keys {
	uint8_t reference, second, condition;
	uint32_t mask;
	uint32_t count; /* number of different slots, or of sources; 0: not computed yet */
	uint32_t *of;
};

/* Working memory for one chunk at a time, grown to the largest so far. */
struct store_work {
	size_t capacity;
	uint64_t *values; /* of the column at hand, by present row */
	uint64_t *residuals;
	uint64_t *keys;	 /* keys that are to be numbered */
	uint32_t *last;	 /* by slot, of the key or pair, then of the second key: the last place */
	uint32_t *pairs; /* slots of two keys together */
	uint32_t *identity; /* 0, 1, 2, ... */
	uint32_t *present;  /* rows that have the column at hand */
	size_t present_count;
	uint8_t present_condition; /* what `present` was computed for, STORE_NONE nothing yet */
	uint32_t present_mask;
	uint64_t *left; /* packed: residuals of the column before in the stream, by row */
	uint32_t *hash;
	size_t hash_size;
	uint64_t *full[STORE_COLUMNS_MAX];     /* referenced columns of the kind at hand, by row; 0
						  where absent */
	uint64_t *common[STORE_COLUMNS_MAX];   /* referenced common columns, by row of the kind at
						  hand */
	struct store_keys slots[STORE_KEYS];   /* dense numbers of a column's values */
	struct store_keys sources[STORE_KEYS]; /* see store_sources() */
	unsigned next_slots, next_sources;
	void (*rest)(void *context); /* see store_encoder_rest(), or NULL */
	void *rest_context;
	size_t steps; /* since the last rest */
};

#define STORE_STEPS 4096 /* of about 20 ns each */

static inline void store_rest(struct store_work *work, size_t steps)
{
	work->steps += steps;
	if (work->steps < STORE_STEPS)
		return;
	work->steps = 0;
	if (work->rest)
		work->rest(work->rest_context);
}

/* The input from which the values or residuals of one column are computed. */
struct store_job {
	const struct store_column *column;
	unsigned number; /* its number in its kind */
	size_t rows;	 /* of its kind */
	const uint32_t *present;
	size_t count;  /* of present */
	unsigned unit; /* packed: values are multiples of 1 << unit and are stored in that unit;
			  else 0 */
	uint64_t first_time;
	uint64_t stream;
};

int store_work_reserve(struct store_work *work, size_t rows);
/*
 * Allocates an array with an element for each row, once; its contents are
 * undefined.
 */
int store_work_array(struct store_work *work, uint64_t **array);
/* Drops the results for the last kind. */
void store_work_begin(struct store_work *work);
void store_work_done(struct store_work *work);

/* The values of a referenced column, by row. The column has to come earlier. */
static inline const uint64_t *store_column_of(const struct store_work *work, uint8_t reference)
{
	return reference & STORE_COMMON ? work->common[reference & ~STORE_COMMON]
					: work->full[reference];
}

/* The bits that are set in any of the numbers. */
static inline uint64_t store_bits_of(const uint64_t *numbers, size_t count)
{
	uint64_t even = 0, odd = 0;
	size_t i = 0;

	for (; i + 4 <= count; i += 4) {
		even |= numbers[i] | numbers[i + 2];
		odd |= numbers[i + 1] | numbers[i + 3];
	}
	for (; i < count; i++)
		even |= numbers[i];
	return even | odd;
}

/*
 * Finds the rows that have the column: all, or those whose condition holds, in
 * work->present.
 */
void store_present(struct store_work *work, struct store_job *job);

/*
 * A LATEST column's values: for each row the value of the other kind's last row
 * before it. `at` and `other_at` rise and are places on one scale.
 */
int store_latest(struct store_work *work, const struct store_job *job, const uint32_t *at,
		 const uint64_t *other, const uint32_t *other_at, size_t other_rows);

/*
 * For each of job->present the place of the last one before it with the same
 * key or pair of keys, else with the same second key; or, with
 * STORE_SOURCE_NEW, of the one just before (0 for the first). NULL: no memory.
 */
#define STORE_SOURCE_NEW 0x80000000u
const uint32_t *store_sources(struct store_work *work, const struct store_job *job,
			      uint8_t reference, uint8_t second);

/*
 * The number that a TAIL column has for columns that refer to it: a hash of its
 * bytes.
 */
uint64_t store_tail_hash(const uint8_t *bytes, size_t size);

/* Keeps work->values by row for the columns that refer to this one, if any do. */
int store_keep(struct store_work *work, const struct store_job *job);

/*
 * True if a packed column may be stored in units; its entry in the directory is
 * then the unit and 1.
 */
bool store_has_unit(const struct store_column *column);
/* Sets job->unit to the largest unit that fits all of work->values. */
void store_find_unit(const struct store_work *work, struct store_job *job);
/* Converts work->values to units and back. */
void store_to_units(struct store_work *work, const struct store_job *job);
void store_from_units(struct store_work *work, const struct store_job *job);

/*
 * work->values -> work->residuals and back, both in units. RECENT has one
 * residual for each row (the place in the list, 0 for a value that is not in
 * it), and after them the residuals of the new values: *ret_extra is how many
 * these are, `extra` how many there have to be.
 */
int store_residuals(struct store_work *work, const struct store_job *job, size_t *ret_extra);
int store_values(struct store_work *work, const struct store_job *job, size_t extra);

/*
 * work->residuals, with the extra ones of a RECENT column, into a packed stream
 * and back; work->left is zero at the beginning of a kind.
 */
int store_pack_residuals(struct store_work *work, const struct store_job *job,
			 struct store_pack *pack);
int store_unpack_residuals(struct store_work *work, const struct store_job *job,
			   struct store_pack *pack, size_t *ret_extra);

/* Residuals to planes and back. */
unsigned store_planes_width(const uint64_t *residuals, size_t count);
void store_planes_put(uint8_t *to, const uint64_t *residuals, size_t count, unsigned width);
void store_planes_get(uint64_t *residuals, const uint8_t *from, size_t count, unsigned width);

#endif
