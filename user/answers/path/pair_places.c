/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that antagonists ran in, as text and as JSON. */
#include "answers/path/pair_places.h"

#include "format/text.h"
#include "words/places.h"
#include "words/samples.h"

#define LEAST_SHARE 10 /* less than one part in so many is not worth a word */

/* The longest sum of a pair, NULL: there is none. */
static const struct clew_place_sum *longest(struct clew_pair_places *pairs,
					    const struct clew_blame_pair *pair)
{
	const struct clew_place_sum *sums;
	size_t count;

	if (pair->number >= pairs->sums.count)
		return NULL;
	sums = clew_place_sums_list((struct clew_place_sums *)pairs->sums.data + pair->number,
				    &count);
	return count ? &sums[0] : NULL;
}

void clew_print_pair_places(FILE *out, struct clew_pair_places *pairs,
			    const struct clew_blame_pair *pair)
{
	const struct clew_place_sum *sum = longest(pairs, pair);

	if (!sum || sum->ns < (uint64_t)pair->ns / LEAST_SHARE)
		return;
	fprintf(out, ", running %s ", CLEW_DURATION(sum->ns));
	clew_print_place_sum(out, sum);
}

void clew_json_pair_places(struct clew_json *json, struct clew_pair_places *pairs,
			   const struct clew_blame_pair *pair)
{
	const struct clew_place_sum *sum = longest(pairs, pair);

	if (!sum)
		return;
	clew_json_object(json, "in");
	clew_json_place_sum(json, sum);
	clew_json_object_end(json);
}

/* Its samples, NULL: it has none. */
static const struct clew_samples *samples_of(const struct clew_pair_places *pairs,
					     const struct clew_blame_pair *pair)
{
	return pair->number < pairs->samples.count
		       ? (const struct clew_samples *)pairs->samples.data + pair->number
		       : NULL;
}

int clew_print_pair_samples(FILE *out, const struct clew_pair_places *pairs,
			    const struct clew_blame_pair *pair)
{
	const struct clew_samples *samples = samples_of(pairs, pair);

	return samples ? clew_print_samples(out, ", ", pairs->stacks, samples) : 0;
}

int clew_json_pair_samples(struct clew_json *json, const struct clew_pair_places *pairs,
			   const struct clew_blame_pair *pair)
{
	const struct clew_samples *samples = samples_of(pairs, pair);

	return samples ? clew_json_samples(json, pairs->stacks, samples) : 0;
}

/* The samples of all pairs, and those of them that have a stack. */
static size_t count_samples(const struct clew_pair_places *pairs, size_t *ret_known)
{
	const struct clew_samples *samples = pairs->samples.data;
	size_t count = 0;

	*ret_known = 0;
	for (size_t i = 0; i < pairs->samples.count; i++) {
		count += samples[i].samples.count;
		*ret_known += clew_samples_with_stack(pairs->stacks, &samples[i]);
	}
	return count;
}

void clew_print_pairs_told(FILE *out, const struct clew_pair_places *pairs)
{
	size_t known, count = count_samples(pairs, &known);

	if (!count)
		return;
	fprintf(out, "\nThere %s %zu sample%s of what had the CPUs and locks meanwhile",
		count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
	if (known < count)
		fprintf(out, ", %zu of them with a stack", known);
	fputs(".\n", out);
}

void clew_json_pairs_told(struct clew_json *json, const struct clew_pair_places *pairs)
{
	size_t known, count = count_samples(pairs, &known);

	if (!pairs->stacks)
		return;
	clew_json_unsigned(json, "samples", count);
	clew_json_unsigned(json, "samples_with_stack", known);
}
