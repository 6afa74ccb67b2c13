/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the classes of operations of both sides, each by itself, and judges all of their causes
 * together.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/about.h"
#include "compare/blocks.h"
#include "compare/compare.h"
#include "compare/named.h"
#include "compare/shares.h"

#define MOST_BLIND   20	  /* one operation in so many may have losses */
#define LEAST_PART   100  /* a change is at least one part in so many of the operation, */
#define LEAST_CHANGE 1000 /* .. and that many ns */

/* A class on its way, with the room that all classes use. */
struct comparing {
	const struct compare *compare;
	struct compare_class *class;
	struct class_operations sides[COMPARE_SIDES];
	struct class_blocks blocks[COMPARE_SIDES];
	uint32_t *row_of; /* by number of a cause: its row, and 1; 0: none */
};

/* Sums of the causes of each block: all together, then row by row. */
static double *sum_blocks(const struct comparing *comparing, unsigned side)
{
	const struct compare_class *class = comparing->class;
	const struct class_operations *operations = &comparing->sides[side];
	const struct class_blocks *blocks = &comparing->blocks[side];
	const struct compare_share *shares = comparing->compare->shares.data;
	size_t columns = class->row_count + 1;
	double *sums = calloc(blocks->count * columns + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < operations->count; i++) {
		const struct compare_operation *operation = &operations->operations[i];
		double *block = sums + blocks->block_of[i] * columns;

		block[0] += (double)operation->ns;
		for (uint32_t k = 0; k < operation->share_count; k++) {
			const struct compare_share *share = &shares[operation->first_share + k];

			block[comparing->row_of[share->cause]] += (double)share->ns;
		}
	}
	return sums;
}

static int find_noise(struct comparing *comparing)
{
	struct compare_class *class = comparing->class;
	size_t columns = class->row_count + 1;
	struct noise_difference *differences = calloc(columns, sizeof(*differences));
	struct noise_side sides[COMPARE_SIDES];
	double *sums[COMPARE_SIDES];
	int r = differences ? 0 : -ENOMEM;

	for (unsigned side = 0; side < COMPARE_SIDES; side++) {
		const struct class_blocks *blocks = &comparing->blocks[side];

		sums[side] = sum_blocks(comparing, side);
		r = sums[side] ? r : -ENOMEM;
		sides[side] = (struct noise_side){.blocks = blocks->count,
						  .captures = blocks->captures,
						  .capture = blocks->capture,
						  .operations = blocks->operations,
						  .sums = sums[side]};
	}
	class->replicated = noise_draws_captures(&sides[0], &sides[1]);
	if (r == 0)
		r = noise_differences(&sides[0], &sides[1], columns, differences);
	if (r == 0) {
		class->total.difference = differences[0];
		for (size_t i = 0; i < class->row_count; i++)
			class->rows[i].difference = differences[i + 1];
	}
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		free(sums[side]);
	free(differences);
	return r;
}

static int longest_first(const void *left, const void *right)
{
	const struct compare_operation *a = *(const struct compare_operation *const *)left,
				       *b = *(const struct compare_operation *const *)right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->first_share < b->first_share ? -1 : a->first_share > b->first_share;
}

/* Percentiles of a side; and adds the shares of its slowest operations to the rows. */
static int find_slowest(struct comparing *comparing, unsigned side)
{
	struct compare_class *class = comparing->class;
	const struct class_operations *operations = &comparing->sides[side];
	const struct compare_operation **sorted = calloc(operations->count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	class->count[side] = operations->total;
	for (size_t i = 0; i < operations->count; i++)
		sorted[i] = &operations->operations[i];
	qsort(sorted, operations->count, sizeof(*sorted), longest_first);
	/* Sums do not say which operations were slow. */
	if (operations->total != operations->count) {
		class->p50[side] = compare_length_of(comparing->compare, side, class->class, .5);
		class->p99[side] = compare_length_of(comparing->compare, side, class->class, .99);
		free(sorted);
		return 0;
	}
	class->slowest[side] = operations->count / 100 ?: 1;
	if (side == COMPARE_AFTER)
		class->longest = sorted[0];
	class->p50[side] = sorted[operations->count / 2]->ns;
	class->p99[side] = sorted[operations->count / 100]->ns;
	for (size_t i = 0; i < class->slowest[side]; i++)
		shares_add_slowest(comparing->compare, sorted[i], class, comparing->row_of, side);
	free(sorted);
	return 0;
}

static void forget_rows(struct comparing *comparing)
{
	const struct compare_share *shares = comparing->compare->shares.data;

	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < comparing->sides[side].count; i++) {
			const struct compare_operation *it = &comparing->sides[side].operations[i];

			for (uint32_t k = 0; k < it->share_count; k++)
				comparing->row_of[shares[it->first_share + k].cause] = 0;
		}
}

static size_t least_blocks(const struct compare_class *class)
{
	bool sums = !class->slowest[0] && !class->slowest[1];

	return sums ? NOISE_LEAST_PERIODS : NOISE_LEAST_BLOCKS;
}

static int compare_class(struct comparing *comparing)
{
	struct compare_class *class = comparing->class;
	int r = 0;

	for (unsigned side = 0; side < COMPARE_SIDES && r == 0; side++) {
		r = blocks_make(&comparing->sides[side], &comparing->blocks[side]);
		class->blocks[side] = comparing->blocks[side].count;
	}
	if (r == 0)
		r = shares_add_up(comparing->compare, comparing->sides, comparing->row_of, class);
	for (unsigned side = 0; side < COMPARE_SIDES && r == 0; side++)
		r = find_slowest(comparing, side);
	if (r == 0)
		shares_finish(class);
	if (class->blocks[0] < least_blocks(class) || class->blocks[1] < least_blocks(class))
		class->verdict = COMPARE_SHORT;
	else if (r == 0)
		r = find_noise(comparing);
	forget_rows(comparing);
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		blocks_done(&comparing->blocks[side]);
	return r;
}

/* ---- all classes ---- */

static int add_alone(struct compare_result *result, unsigned side,
		     const struct class_operations *operations)
{
	struct compare_alone *all =
		realloc(result->alone[side], (result->alone_count[side] + 1) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	result->alone[side] = all;
	all += result->alone_count[side]++;
	*all = (struct compare_alone){.class = operations->operations[0].class,
				      .count = operations->total};
	for (size_t i = 0; i < operations->count; i++)
		all->ns += operations->operations[i].ns;
	return 0;
}

static int add_class(struct comparing *comparing, struct compare_result *result)
{
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		if (!comparing->sides[!side].count)
			return add_alone(result, side, &comparing->sides[side]);
	comparing->class = &result->classes[result->class_count++];
	comparing->class->class = comparing->sides[0].operations[0].class;
	return compare_class(comparing);
}

static struct class_operations operations_of(struct compare_operation *first, size_t count)
{
	struct class_operations operations = {.operations = first, .count = count};

	for (size_t i = 0; i < count; i++)
		operations.total += first[i].count;
	return operations;
}

static int add_classes(struct comparing *comparing, struct compare_result *result)
{
	struct compare_operation *all = comparing->compare->operations.data;
	size_t count = comparing->compare->operations.count;
	int r = 0;

	for (size_t first = 0, end; first < count && r == 0; first = end) {
		size_t middle = first;

		for (end = first; end < count && all[end].class == all[first].class; end++)
			middle += all[end].side == COMPARE_BEFORE;
		comparing->sides[COMPARE_BEFORE] = operations_of(all + first, middle - first);
		comparing->sides[COMPARE_AFTER] = operations_of(all + middle, end - middle);
		r = add_class(comparing, result);
	}
	return r;
}

static void count_left_out(const struct compare *compare, struct compare_result *result)
{
	const struct compare_left_out *all = compare->left_out.data;

	for (size_t i = 0; i < result->class_count; i++) {
		struct compare_class *class = &result->classes[i];

		for (size_t k = 0; k < compare->left_out.count; k++) {
			if (all[k].class != class->class)
				continue;
			if (all[k].blind)
				class->blind[all[k].side] += all[k].count;
			else
				class->cut[all[k].side] += all[k].count;
		}
		for (unsigned side = 0; side < COMPARE_SIDES; side++)
			if (class->blind[side] * MOST_BLIND >
			    class->blind[side] + class->count[side])
				class->verdict = COMPARE_BLIND;
	}
}

static bool is_large(const struct compare_class *class, const struct compare_row *row)
{
	double least = (double)class->total.sides[COMPARE_BEFORE].mean_ns / LEAST_PART;

	return fabs(row->difference.change) >= (least > LEAST_CHANGE ? least : LEAST_CHANGE);
}

static int judge(struct compare_result *result)
{
	size_t count = 0;
	struct noise_difference **all;

	for (size_t i = 0; i < result->class_count; i++)
		count += result->classes[i].row_count + 1;
	all = calloc(count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; i < result->class_count; i++) {
		struct compare_class *class = &result->classes[i];

		if (class->verdict != COMPARE_SAME)
			continue;
		all[count++] = &class->total.difference;
		for (size_t k = 0; k < class->row_count; k++)
			all[count++] = &class->rows[k].difference;
	}
	noise_judge(all, count);
	free(all);
	for (size_t i = 0; i < result->class_count; i++) {
		struct compare_class *class = &result->classes[i];

		class->total.changed =
			class->total.difference.beyond && is_large(class, &class->total);
		class->verdict = class->total.changed ? COMPARE_CHANGED : class->verdict;
		for (size_t k = 0; k < class->row_count; k++) {
			struct compare_row *row = &class->rows[k];

			row->changed = row->difference.beyond && is_large(class, row);
			class->verdict = row->changed ? COMPARE_CHANGED : class->verdict;
		}
	}
	return 0;
}

/* The time that the change of a class makes in AFTER. */
static double weight(const struct compare_class *class)
{
	return fabs((double)class->total.sides[COMPARE_AFTER].mean_ns -
		    (double)class->total.sides[COMPARE_BEFORE].mean_ns) *
	       (double)class->count[COMPARE_AFTER];
}

static int changed_first(const void *left, const void *right)
{
	const struct compare_class *a = left, *b = right;
	bool first = a->verdict == COMPARE_CHANGED, second = b->verdict == COMPARE_CHANGED;

	if (first != second)
		return first ? -1 : 1;
	if (weight(a) != weight(b))
		return weight(a) > weight(b) ? -1 : 1;
	return a->class < b->class ? -1 : a->class > b->class;
}

static int most_alone_first(const void *left, const void *right)
{
	const struct compare_alone *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->class < b->class ? -1 : a->class > b->class;
}

int compare_find(const struct compare *compare, struct compare_result *ret_result)
{
	struct comparing comparing = {.compare = compare};
	int r = 0;

	*ret_result = (struct compare_result){};
	blocks_sort(compare);
	comparing.row_of = calloc(compare->causes.list.count + 1, sizeof(*comparing.row_of));
	ret_result->classes = calloc(compare->classes.list.count + 1, sizeof(*ret_result->classes));
	if (!comparing.row_of || !ret_result->classes)
		r = -ENOMEM;
	if (r == 0)
		r = named_join(compare);
	if (r == 0)
		r = add_classes(&comparing, ret_result);
	free(comparing.row_of);
	if (r == 0) {
		count_left_out(compare, ret_result);
		r = judge(ret_result);
	}
	if (r == 0)
		r = shares_blame(compare, ret_result);
	if (r == 0)
		r = about_rebuilt(compare, ret_result);
	if (r < 0)
		return r;
	shares_mix(compare, ret_result);
	qsort(ret_result->classes, ret_result->class_count, sizeof(*ret_result->classes),
	      changed_first);
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		if (ret_result->alone_count[side])
			qsort(ret_result->alone[side], ret_result->alone_count[side],
			      sizeof(*ret_result->alone[side]), most_alone_first);
	return 0;
}

void compare_result_done(struct compare_result *result)
{
	for (size_t i = 0; i < result->class_count; i++)
		free(result->classes[i].rows);
	free(result->classes);
	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		free(result->alone[side]);
	free(result->blames);
	free(result->rebuilt);
	*result = (struct compare_result){};
}
