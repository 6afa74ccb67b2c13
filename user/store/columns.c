/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prediction of columns and their byte planes. Each coding is one case in
 * store_residuals and its mirror in store_values; a number wraps in its type.
 */
#include <errno.h>
#include <string.h>

#include "store/columns.h"

/* A difference, wrapped to the type, as 0, -1, 1, -2, ... -> 0, 1, 2, 3, ... */
static inline uint64_t fold(uint64_t difference, unsigned shift)
{
	int64_t extended = (int64_t)(difference << shift) >> shift;

	return ((uint64_t)extended << 1) ^ (uint64_t)(extended >> 63);
}

static inline uint64_t unfold(uint64_t folded)
{
	return (folded >> 1) ^ -(folded & 1);
}

/* The most recent values, the last one first. */
struct recent {
	unsigned count;
	uint64_t values[STORE_RECENT_MAX];
};

/*
 * Moves a value to the front. Returns its earlier place, from 1, or 0: it was
 * not in the list.
 */
static unsigned recent_touch(struct recent *recent, uint64_t value)
{
	uint64_t carried = value;

	/* Each value on the way moves back by one place. */
	for (unsigned at = 0; at < recent->count; at++) {
		uint64_t here = recent->values[at];

		recent->values[at] = carried;
		if (here == value)
			return at + 1;
		carried = here;
	}
	if (recent->count < STORE_RECENT_MAX)
		recent->values[recent->count++] = carried;
	return 0;
}

static const uint64_t *reference_of(const struct store_work *work, const struct store_job *job)
{
	return store_column_of(work, job->column->reference);
}

/*
 * Renumbers residuals: `other`, if it is not 0, becomes 1, and those below it
 * become one more.
 */
static inline uint64_t advance(uint64_t residual, uint64_t other)
{
	if (!other || !residual || residual > other)
		return residual;
	return residual == other ? 1 : residual + 1;
}

static inline uint64_t retreat(uint64_t residual, uint64_t other)
{
	if (!other || !residual || residual > other)
		return residual;
	return residual == 1 ? other : residual - 1;
}

/*
 * KEYED predicts the value that the column had with this row's key. If the pair
 * of keys is new, the second key decides; if both are new, the third column or
 * the row before. The third column's value is the second best guess in any
 * case. NEXT is the same for ranges that continue where the last one ended: the
 * third column is the length.
 */
static int keyed(struct store_work *work, const struct store_job *job, unsigned shift, bool forward)
{
	const uint64_t *given =
		job->column->third == STORE_NONE ? NULL : store_column_of(work, job->column->third);
	const uint32_t *sources =
		store_sources(work, job, job->column->reference, job->column->second);
	uint64_t *values = work->values, *residuals = work->residuals, mask = UINT64_MAX >> shift;
	bool next = job->column->coding == STORE_NEXT;
	unsigned unit = job->unit;

	if (!sources)
		return -ENOMEM;
	for (size_t i = 0; i < job->count && !given; i++) {
		uint64_t prediction = i ? values[sources[i] & ~STORE_SOURCE_NEW] : 0;

		if (forward)
			residuals[i] = fold(values[i] - prediction, shift);
		else
			values[i] = (prediction + unfold(residuals[i])) & mask;
	}
	for (size_t i = 0; i < job->count && given; i++) {
		uint32_t source = sources[i] & ~STORE_SOURCE_NEW;
		uint64_t prediction = i ? values[source] : 0,
			 third = given[job->present[i]] >> unit, other = 0;

		if (next)
			prediction += i ? given[job->present[source]] >> unit : 0;
		else if (sources[i] & STORE_SOURCE_NEW)
			prediction = third;
		else
			other = fold(third - prediction, shift);
		if (forward)
			residuals[i] = advance(fold(values[i] - prediction, shift), other);
		else
			values[i] = (prediction + unfold(retreat(residuals[i], other))) & mask;
	}
	return 0;
}

/*
 * NEAR: close to the reference's value, except that the value which the key had
 * last has a short code. Without a key it is the row before; the value is taken
 * from the third column or, without one, from this. With neither it is 0.
 */
static int near(struct store_work *work, const struct store_job *job, unsigned shift, bool forward)
{
	uint64_t *values = work->values, *residuals = work->residuals, mask = UINT64_MAX >> shift;
	const uint64_t *reference = reference_of(work, job);
	const uint64_t *third =
		job->column->third == STORE_NONE ? NULL : store_column_of(work, job->column->third);
	const uint32_t *sources = NULL;
	unsigned unit = job->unit;

	if (job->column->second != STORE_NONE) {
		sources = store_sources(work, job, job->column->second, STORE_NONE);
		if (!sources)
			return -ENOMEM;
	}
	for (size_t i = 0; i < job->count; i++) {
		uint32_t row = job->present[i];
		uint64_t near = reference[row] >> unit, guess = 0, other;

		if (!sources)
			guess = third && row ? third[row - 1] >> unit : 0;
		else if (!(sources[i] & STORE_SOURCE_NEW))
			guess = third ? third[job->present[sources[i]]] >> unit
				      : values[sources[i]];
		other = fold(guess - near, shift);
		if (forward)
			residuals[i] = advance(fold(values[i] - near, shift), other);
		else
			values[i] = (near + unfold(retreat(residuals[i], other))) & mask;
	}
	return 0;
}

static size_t recent_forward(struct store_work *work, const struct store_job *job, unsigned shift)
{
	const uint64_t *other =
		job->column->reference == job->number ? NULL : reference_of(work, job);
	uint64_t *extra = work->residuals + job->count, previous = 0;
	struct recent recent = {0};
	size_t row = 0, count = 0;

	for (size_t i = 0; i < job->count; i++) {
		uint64_t value = work->values[i];
		unsigned place;

		for (; other && row <= job->present[i]; row++)
			recent_touch(&recent, other[row]);
		place = recent_touch(&recent, value);
		work->residuals[i] = place;
		if (!place) {
			extra[count++] = fold(value - previous, shift);
			previous = value;
		}
	}
	return count;
}

static int recent_backward(struct store_work *work, const struct store_job *job, unsigned shift,
			   size_t extra_count)
{
	const uint64_t *other =
		job->column->reference == job->number ? NULL : reference_of(work, job);
	const uint64_t *extra = work->residuals + job->count;
	uint64_t mask = UINT64_MAX >> shift, previous = 0;
	struct recent recent = {0};
	size_t row = 0, count = 0;

	for (size_t i = 0; i < job->count; i++) {
		uint64_t place = work->residuals[i];

		for (; other && row <= job->present[i]; row++)
			recent_touch(&recent, other[row]);
		if (place > recent.count)
			return -EBADMSG;
		if (place) {
			work->values[i] = recent.values[place - 1];
		} else {
			if (count == extra_count)
				return -EBADMSG;
			previous = work->values[i] = (previous + unfold(extra[count++])) & mask;
		}
		recent_touch(&recent, work->values[i]);
	}
	return 0;
}

/* The residuals of a coding that goes by a reference in the same row, or in the one before. */
static void from_reference(struct store_work *work, const struct store_job *job, unsigned shift)
{
	const struct store_column *column = job->column;
	const uint64_t *reference = reference_of(work, job);
	uint64_t *values = work->values, *residuals = work->residuals, previous = 0;
	const uint32_t *present = job->present;
	unsigned unit = job->unit;

	switch (column->coding) {
	case STORE_PREVIOUS:
		for (size_t i = 0; i < job->count; i++) {
			if (column->reference != job->number)
				previous = present[i] ? reference[present[i] - 1] >> unit : 0;
			residuals[i] = fold(values[i] - previous, shift);
			previous = values[i];
		}
		break;
	case STORE_SAME:
		for (size_t i = 0; i < job->count; i++)
			residuals[i] = fold(values[i] - (reference[present[i]] >> unit), shift);
		break;
	case STORE_OFFSET:
		for (size_t i = 0; i < job->count; i++) {
			residuals[i] =
				fold(values[i] - (reference[present[i]] >> unit) - previous, shift);
			previous = values[i] - (reference[present[i]] >> unit);
		}
		break;
	case STORE_BEFORE:
		for (size_t i = 0; i < job->count; i++)
			residuals[i] = ((reference[present[i]] >> unit) - values[i]) &
				       store_mask_of(column->type);
		break;
	}
}

/* And back. */
static void to_reference(struct store_work *work, const struct store_job *job, uint64_t mask)
{
	const struct store_column *column = job->column;
	const uint64_t *reference = reference_of(work, job);
	uint64_t *values = work->values, *residuals = work->residuals, previous = 0;
	const uint32_t *present = job->present;
	unsigned unit = job->unit;

	switch (column->coding) {
	case STORE_PREVIOUS:
		for (size_t i = 0; i < job->count; i++) {
			if (column->reference != job->number)
				previous = present[i] ? reference[present[i] - 1] >> unit : 0;
			previous = values[i] = (previous + unfold(residuals[i])) & mask;
		}
		break;
	case STORE_SAME:
		for (size_t i = 0; i < job->count; i++)
			values[i] = ((reference[present[i]] >> unit) + unfold(residuals[i])) & mask;
		break;
	case STORE_OFFSET:
		for (size_t i = 0; i < job->count; i++) {
			values[i] = ((reference[present[i]] >> unit) + previous +
				     unfold(residuals[i])) &
				    mask;
			previous = values[i] - (reference[present[i]] >> unit);
		}
		break;
	case STORE_BEFORE:
		for (size_t i = 0; i < job->count; i++)
			values[i] = ((reference[present[i]] >> unit) - residuals[i]) & mask;
		break;
	}
}

int store_residuals(struct store_work *work, const struct store_job *job, size_t *ret_extra)
{
	const struct store_column *column = job->column;
	uint64_t *values = work->values, *residuals = work->residuals, previous = 0;
	unsigned shift = 64 - 8 * store_type_size(column->type), unit = job->unit;

	*ret_extra = 0;
	switch (column->coding) {
	case STORE_PLAIN:
		if (column->type != STORE_I32)
			memcpy(residuals, values, job->count * sizeof(*values));
		for (size_t i = 0; column->type == STORE_I32 && i < job->count; i++)
			residuals[i] = fold(values[i], shift);
		return 0;
	case STORE_PREVIOUS:
	case STORE_SAME:
	case STORE_OFFSET:
	case STORE_BEFORE:
		from_reference(work, job, shift);
		return 0;
	case STORE_TIME:
		previous = job->first_time >> unit;
		for (size_t i = 0; i < job->count; i++) {
			residuals[i] = (values[i] - previous) & store_mask_of(column->type);
			previous = values[i];
		}
		return 0;
	case STORE_STREAM:
		for (size_t i = 0; i < job->count; i++)
			residuals[i] = fold(values[i] - job->stream, shift);
		return 0;
	case STORE_KEYED:
		if (column->third == STORE_NONE && !store_planes_width(values, job->count)) {
			memset(residuals, 0, job->count * sizeof(*residuals));
			return 0;
		}
		return keyed(work, job, shift, true);
	case STORE_NEXT:
		return keyed(work, job, shift, true);
	case STORE_NEAR:
		return near(work, job, shift, true);
	case STORE_RECENT:
		*ret_extra = recent_forward(work, job, shift);
		return 0;
	}
	return -EINVAL;
}

int store_values(struct store_work *work, const struct store_job *job, size_t extra)
{
	const struct store_column *column = job->column;
	uint64_t *values = work->values, *residuals = work->residuals, previous = 0,
		 mask = store_mask_of(column->type);
	unsigned shift = 64 - 8 * store_type_size(column->type), unit = job->unit;

	switch (column->coding) {
	case STORE_PLAIN:
		for (size_t i = 0; i < job->count; i++)
			values[i] =
				(column->type == STORE_I32 ? unfold(residuals[i]) : residuals[i]) &
				mask;
		return 0;
	case STORE_PREVIOUS:
	case STORE_SAME:
	case STORE_OFFSET:
	case STORE_BEFORE:
		to_reference(work, job, mask);
		return 0;
	case STORE_TIME:
		previous = job->first_time >> unit;
		for (size_t i = 0; i < job->count; i++)
			previous = values[i] = (previous + residuals[i]) & mask;
		return 0;
	case STORE_STREAM:
		for (size_t i = 0; i < job->count; i++)
			values[i] = (job->stream + unfold(residuals[i])) & mask;
		return 0;
	case STORE_KEYED:
		if (column->third == STORE_NONE && !store_planes_width(residuals, job->count)) {
			memset(values, 0, job->count * sizeof(*values));
			return 0;
		}
		return keyed(work, job, shift, false);
	case STORE_NEXT:
		return keyed(work, job, shift, false);
	case STORE_NEAR:
		return near(work, job, shift, false);
	case STORE_RECENT:
		return recent_backward(work, job, shift, extra);
	}
	return -EBADMSG;
}

unsigned store_planes_width(const uint64_t *residuals, size_t count)
{
	uint64_t all = store_bits_of(residuals, count);

	return all ? (64 - __builtin_clzll(all) + 7) / 8 : 0;
}

static inline void put_sixteen(uint8_t *restrict to, const uint64_t *restrict residuals,
			       unsigned shift)
{
	for (unsigned i = 0; i < 16; i++)
		to[i] = residuals[i] >> shift;
}

void store_planes_put(uint8_t *to, const uint64_t *residuals, size_t count, unsigned width)
{
	for (unsigned plane = 0; plane < width; plane++, to += count) {
		size_t i = 0;

		/* The compiler vectorizes a loop with a fixed count. */
		for (; i + 16 <= count; i += 16)
			put_sixteen(to + i, residuals + i, 8 * plane);
		for (; i < count; i++)
			to[i] = residuals[i] >> (8 * plane);
	}
}

void store_planes_get(uint64_t *residuals, const uint8_t *from, size_t count, unsigned width)
{
	if (!width)
		memset(residuals, 0, count * sizeof(*residuals));
	for (unsigned plane = 0; plane < width; plane++, from += count) {
		for (size_t i = 0; i < count; i++) {
			uint64_t part = (uint64_t)from[i] << (8 * plane);

			residuals[i] = plane ? residuals[i] | part : part;
		}
	}
}
