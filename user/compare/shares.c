/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up the shares of operations. */
#include "compare/shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"

/* ---- the rows of a class ---- */

static void add_share(struct compare_part *part, const struct compare_share *share)
{
	part->ns += share->ns;
	part->times += share->times;
	part->operations += share->operations;
}

static double mean_change(const struct compare_row *row, const struct class_operations *sides)
{
	return (double)row->sides[COMPARE_AFTER].ns / (double)sides[COMPARE_AFTER].total -
	       (double)row->sides[COMPARE_BEFORE].ns / (double)sides[COMPARE_BEFORE].total;
}

/* Adds the operations of a side to a row for each cause, in the order in which causes come. */
static int add_side(const struct compare *compare, const struct class_operations *operations,
		    unsigned side, uint32_t *row_of, struct vector *rows, struct compare_row *total)
{
	const struct compare_share *shares = compare->shares.data;

	for (size_t i = 0; i < operations->count; i++) {
		const struct compare_operation *it = &operations->operations[i];

		total->sides[side].ns += it->ns;
		for (uint32_t k = 0; k < it->share_count; k++) {
			const struct compare_share *share = &shares[it->first_share + k];

			if (!row_of[share->cause]) {
				if (vector_reserve(rows, rows->count + 1) < 0)
					return -ENOMEM;
				((struct compare_row *)rows->data)[rows->count] =
					(struct compare_row){.cause = share->cause, .on_path = NAN};
				row_of[share->cause] = (uint32_t)++rows->count;
			}
			add_share(&((struct compare_row *)rows->data)[row_of[share->cause] - 1]
					   .sides[side],
				  share);
		}
	}
	return 0;
}

/* A row, and the size of its change. */
struct ranked {
	struct compare_row row;
	double change;
};

static int most_changed_first(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (fabs(a->change) != fabs(b->change))
		return fabs(a->change) > fabs(b->change) ? -1 : 1;
	return a->row.cause < b->row.cause ? -1 : a->row.cause > b->row.cause;
}

static void merge(struct compare_row *into, const struct compare_row *row)
{
	into->merged++;
	for (unsigned side = 0; side < COMPARE_SIDES; side++) {
		into->sides[side].ns += row->sides[side].ns;
		into->sides[side].times += row->sides[side].times;
		into->sides[side].operations += row->sides[side].operations;
	}
}

/* Keeps the rows that change most, and makes one of the others. */
static int keep_rows(const struct vector *all, const struct class_operations *sides,
		     uint32_t *row_of, struct compare_class *class)
{
	struct ranked *ranked = calloc(all->count + 1, sizeof(*ranked));
	struct compare_row *rows;

	class->row_count = all->count < COMPARE_MOST_CAUSES ? all->count : COMPARE_MOST_CAUSES + 1;
	class->rows = rows = calloc(class->row_count + 1, sizeof(*rows));
	if (!ranked || !rows) {
		free(ranked);
		return -ENOMEM;
	}
	for (size_t i = 0; i < all->count; i++) {
		ranked[i].row = ((const struct compare_row *)all->data)[i];
		ranked[i].change = mean_change(&ranked[i].row, sides);
	}
	qsort(ranked, all->count, sizeof(*ranked), most_changed_first);
	for (size_t i = 0; i < all->count; i++) {
		size_t place = i < COMPARE_MOST_CAUSES ? i : COMPARE_MOST_CAUSES;

		row_of[ranked[i].row.cause] = (uint32_t)place + 1;
		if (i == COMPARE_MOST_CAUSES)
			rows[place] = (struct compare_row){.cause = UINT32_MAX, .on_path = NAN};
		if (i < COMPARE_MOST_CAUSES)
			rows[place] = ranked[i].row;
		else
			merge(&rows[place], &ranked[i].row);
	}
	free(ranked);
	return 0;
}

int shares_add_up(const struct compare *compare, const struct class_operations *sides,
		  uint32_t *row_of, struct compare_class *class)
{
	struct vector rows = {.item = sizeof(struct compare_row)};
	int r = 0;

	class->total = (struct compare_row){.cause = UINT32_MAX, .on_path = NAN};
	for (unsigned side = 0; side < COMPARE_SIDES && r == 0; side++)
		r = add_side(compare, &sides[side], side, row_of, &rows, &class->total);
	if (r == 0)
		r = keep_rows(&rows, sides, row_of, class);
	vector_done(&rows);
	return r;
}

void shares_add_slowest(const struct compare *compare, const struct compare_operation *operation,
			struct compare_class *class, const uint32_t *row_of, unsigned side)
{
	const struct compare_share *shares = compare->shares.data;

	class->total.sides[side].slowest_ns += operation->ns;
	for (uint32_t k = 0; k < operation->share_count; k++) {
		const struct compare_share *share = &shares[operation->first_share + k];

		class->rows[row_of[share->cause] - 1].sides[side].slowest_ns += share->ns;
	}
}

void shares_finish(struct compare_class *class)
{
	for (unsigned side = 0; side < COMPARE_SIDES; side++) {
		struct compare_part *total = &class->total.sides[side];
		uint64_t ns = 0, slowest = 0;

		for (size_t i = 0; i < class->row_count; i++) {
			struct compare_part *part = &class->rows[i].sides[side];

			part->mean_ns =
				(ns + part->ns) / class->count[side] - ns / class->count[side];
			if (class->slowest[side])
				part->slowest_mean_ns =
					(slowest + part->slowest_ns) / class->slowest[side] -
					slowest / class->slowest[side];
			ns += part->ns;
			slowest += part->slowest_ns;
		}
		total->mean_ns = total->ns / class->count[side];
		if (class->slowest[side])
			total->slowest_mean_ns = total->slowest_ns / class->slowest[side];
	}
}

/* ---- who took whose time ---- */

static int add_blame(struct vector *blames, struct map *places, const struct compare_name *class,
		     const struct compare_name *cause, unsigned side, uint64_t ns)
{
	uint64_t key = hash_text(hash_text(HASH_SEED, class->party) * 31, cause->party);
	const uint64_t *known = map_get(places, key, cause->spent);
	struct compare_blame *all;

	if (!known) {
		if (vector_reserve(blames, blames->count + 1) < 0 ||
		    map_set(places, key, cause->spent, blames->count) < 0)
			return -ENOMEM;
		all = blames->data;
		all[blames->count++] = (struct compare_blame){
			.victim = class->party, .party = cause->party, .spent = cause->spent};
		known = map_get(places, key, cause->spent);
	}
	all = blames->data;
	all[*known].ns[side] += ns;
	return 0;
}

static int gather_blames(const struct compare *compare, struct vector *blames, struct map *places)
{
	const struct compare_operation *operations = compare->operations.data;
	const struct compare_share *shares = compare->shares.data;
	int r = 0;

	for (size_t i = 0; i < compare->operations.count; i++) {
		const struct compare_operation *it = &operations[i];

		for (uint32_t k = 0; k < it->share_count && !it->within && r == 0; k++) {
			const struct compare_share *share = &shares[it->first_share + k];
			const struct compare_name *cause =
				compare_name_at(&compare->causes, share->cause);

			if (cause->party[0])
				r = add_blame(blames, places,
					      compare_name_at(&compare->classes, it->class), cause,
					      it->side, share->ns);
		}
	}
	return r;
}

/* Counts the operations of each victim. */
static int count_operations(const struct compare *compare, struct vector *blames)
{
	const struct compare_operation *operations = compare->operations.data;
	struct compare_blame *all = blames->data;
	struct map counts = {};
	int r = 0;

	for (size_t i = 0; i < compare->operations.count && r == 0; i++) {
		const struct compare_operation *it = &operations[i];
		const char *victim = compare_name_at(&compare->classes, it->class)->party;
		uint64_t key = hash_text(HASH_SEED, victim);
		const uint64_t *known = map_get(&counts, key, it->side);

		if (!it->within)
			r = map_set(&counts, key, it->side, (known ? *known : 0) + it->count);
	}
	for (size_t i = 0; i < blames->count && r == 0; i++)
		for (unsigned side = 0; side < COMPARE_SIDES; side++) {
			const uint64_t *known =
				map_get(&counts, hash_text(HASH_SEED, all[i].victim), side);

			all[i].operations[side] = known ? *known : 0;
		}
	map_done(&counts);
	return r;
}

/* ns a second of recording that a blame changed. */
static double blame_change(const struct compare *compare, const struct compare_blame *it)
{
	double change[COMPARE_SIDES];

	for (unsigned side = 0; side < COMPARE_SIDES; side++)
		change[side] = compare->loads[side].ns
				       ? (double)it->ns[side] / (double)compare->loads[side].ns
				       : 0;
	return fabs(change[COMPARE_AFTER] - change[COMPARE_BEFORE]);
}

static int by_change(const void *left, const void *right, void *compare)
{
	double a = blame_change(compare, left), b = blame_change(compare, right);

	return a > b ? -1 : a < b;
}

int shares_blame(const struct compare *compare, struct compare_result *result)
{
	struct vector blames = {.item = sizeof(struct compare_blame)};
	struct map places = {};
	int r = gather_blames(compare, &blames, &places);

	map_done(&places);
	if (r == 0)
		r = count_operations(compare, &blames);
	result->blames = calloc(blames.count + 1, sizeof(*result->blames));
	if (!result->blames)
		r = -ENOMEM;
	if (r == 0 && blames.count) {
		qsort_r(blames.data, blames.count, blames.item, by_change, (void *)compare);
		memcpy(result->blames, blames.data, blames.count * sizeof(*result->blames));
		result->blame_count = blames.count;
	}
	vector_done(&blames);
	return r;
}

/* ---- the mix ---- */

/* True for a class of a kind that counts. One that is too short says nothing of a mean. */
static bool is_mixed(const struct compare *compare, const struct compare_class *class, uint8_t kind)
{
	return compare_name_at(&compare->classes, class->class)->kind == kind &&
	       (class->verdict == COMPARE_SAME || class->verdict == COMPARE_CHANGED);
}

static struct compare_mix mix_of(const struct compare *compare, const struct compare_result *result,
				 uint8_t kind)
{
	struct compare_mix mix = {.kind = kind};
	const struct compare_class *class;

	for (size_t i = 0; i < result->class_count; i++) {
		class = &result->classes[i];
		for (unsigned side = 0; side < COMPARE_SIDES; side++) {
			if (!is_mixed(compare, class, kind))
				continue;
			mix.count[side] += class->count[side];
			mix.ns[side] += class->total.sides[side].ns;
		}
	}
	for (size_t i = 0; i < result->class_count && mix.count[COMPARE_BEFORE]; i++) {
		class = &result->classes[i];
		if (!is_mixed(compare, class, kind))
			continue;
		mix.change +=
			((double)class->count[COMPARE_AFTER] / (double)mix.count[COMPARE_AFTER] -
			 (double)class->count[COMPARE_BEFORE] / (double)mix.count[COMPARE_BEFORE]) *
			(double)class->total.sides[COMPARE_BEFORE].ns /
			(double)class->count[COMPARE_BEFORE];
	}
	return mix;
}

void shares_mix(const struct compare *compare, struct compare_result *result)
{
	for (uint8_t kind = 0; kind < CLEW_OPERATION_KINDS; kind++) {
		struct compare_mix mix = mix_of(compare, result, kind);

		if (mix.count[COMPARE_BEFORE])
			result->mixes[result->mix_count++] = mix;
	}
}
