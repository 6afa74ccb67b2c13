/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Applies statements to lengths and gaps, in exact arithmetic.
 */
#include "analyse/whatif/internal.h"

int whatif_multiply(clew_time x, const struct factor *factor, clew_time *ret_product)
{
	__int128 product;
	int64_t small;

	if (!__builtin_mul_overflow(x, factor->numerator, &small) && small >= 0) {
		*ret_product = small / factor->denominator;
		return 0;
	}
	product = (__int128)x * factor->numerator;
	if (product < 0)
		product -= factor->denominator - 1;
	product /= factor->denominator;
	*ret_product = (clew_time)product;
	return product == *ret_product ? 0 : -EOVERFLOW;
}

int whatif_length(const struct span_rule *rule, clew_time length, uint32_t es_count,
		  clew_time *ret_length)
{
	const struct factor share = {.numerator =
					     rule->kind == RULE_FACTOR ? rule->delta : rule->total,
				     .denominator = rule->old};
	clew_time scaled, delta;
	__uint128_t rest;

	if (rule->kind == RULE_EQUAL) {
		*ret_length = rule->total / es_count;
		return 0;
	}
	if (rule->kind == RULE_FIXED)
		return whatif_multiply(length, &share, ret_length);
	if (whatif_multiply(length, &rule->factor, &scaled) < 0)
		return -EOVERFLOW;
	*ret_length = scaled;
	if (rule->delta == 0)
		return 0;
	if (whatif_multiply(length, &share, &delta) < 0)
		return -EOVERFLOW;
	/* Both were rounded down; what was cut off may be one more together. */
	rest = (__uint128_t)((__int128)length * rule->factor.numerator -
			     (__int128)scaled * rule->factor.denominator) *
		       (uint64_t)rule->old +
	       (__uint128_t)((__int128)length * rule->delta - (__int128)delta * rule->old) *
		       (uint64_t)rule->factor.denominator;
	if (__builtin_add_overflow(scaled, delta, ret_length))
		return -EOVERFLOW;
	*ret_length +=
		rest >= (__uint128_t)(uint64_t)rule->old * (uint64_t)rule->factor.denominator;
	return 0;
}

int whatif_scale_gap(const struct whatif *w, uint32_t es, clew_time gap, clew_time *ret_gap)
{
	const struct clew_es *behind = &w->base.es[es];

	for (uint32_t i = 0; i < w->wait_count; i++) {
		const struct statement *s = &w->program->statements[w->waits[i].statement];
		uint64_t kind = behind->wait == CLEW_NONE
					? WHATIF_UNTYPED
					: UINT64_C(1) << w->base.waits[behind->wait].kind;

		if (w->waits[i].spans[behind->span] && s->kinds & kind) {
			struct factor f = whatif_factor(w, s);

			*ret_gap = 0;
			return f.numerator > 0 ? whatif_multiply(gap, &f, ret_gap) : 0;
		}
	}
	*ret_gap = gap;
	return 0;
}
