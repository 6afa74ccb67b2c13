/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last minutes of each class of operations. */
#include "live/usual.h"

#include <errno.h>
#include <stdlib.h>

#include "base/histogram.h"

#define PART   30000000000ull /* ns */
#define PARTS  10	      /* the last of which goes on */
#define DIGITS 2

struct part {
	uint64_t number; /* 1 + how many are before it */
	struct histogram lengths;
};

struct usual_class {
	struct part parts[PARTS];
	/* The median, and for when it is known: */
	uint64_t median, number, count;
};

static void free_class(struct usual_class *class)
{
	for (unsigned i = 0; i < PARTS; i++)
		histogram_done(&class->parts[i].lengths);
	free(class);
}

void usual_done(struct usual *usual)
{
	for (size_t i = 0; i < usual->classes.capacity; i++)
		if (usual->classes.slots[i].used)
			free_class((struct usual_class *)(uintptr_t)usual->classes.slots[i].value);
	map_done(&usual->classes);
}

static struct usual_class *find_class(const struct usual *usual, uint64_t class)
{
	const uint64_t *known = map_get(&usual->classes, class, 0);

	return known ? (struct usual_class *)(uintptr_t)*known : NULL;
}

static struct usual_class *make_class(struct usual *usual, uint64_t class)
{
	struct usual_class *made;

	if (usual->classes.count >= USUAL_MOST)
		usual_done(usual);
	made = calloc(1, sizeof(*made));
	if (made && map_set(&usual->classes, class, 0, (uintptr_t)made) < 0) {
		free(made);
		return NULL;
	}
	return made;
}

int usual_add(struct usual *usual, uint64_t class, uint64_t at, uint64_t ns)
{
	struct usual_class *known = find_class(usual, class) ?: make_class(usual, class);
	uint64_t number = at / PART + 1;
	struct part *part;

	if (!known)
		return -ENOMEM;
	part = &known->parts[number % PARTS];
	if (part->number > number)
		return 0;
	if (part->number < number) {
		histogram_done(&part->lengths);
		*part = (struct part){.number = number, .lengths = histogram_new(DIGITS)};
	}
	return histogram_add(&part->lengths, ns);
}

static bool is_recent(const struct part *part, uint64_t number)
{
	return part->lengths.count && part->number <= number && part->number + PARTS > number;
}

/* Adds the parts up. */
static uint64_t find_median(const struct usual_class *class, uint64_t number)
{
	struct histogram all = histogram_new(DIGITS);
	uint64_t median;
	int r = 0;

	for (unsigned i = 0; i < PARTS && r == 0; i++)
		if (is_recent(&class->parts[i], number))
			r = histogram_merge(&all, &class->parts[i].lengths);
	median = r == 0 ? histogram_percentile(&all, .5) : 0;
	histogram_done(&all);
	return median;
}

uint64_t usual_median(const struct usual *usual, uint64_t class, uint64_t at)
{
	struct usual_class *known = find_class(usual, class);
	uint64_t number = at / PART + 1, count = 0;

	for (unsigned i = 0; known && i < PARTS; i++)
		if (is_recent(&known->parts[i], number))
			count += known->parts[i].lengths.count;
	if (count < USUAL_LEAST)
		return 0;
	/* It hardly moves until some more have come. */
	if (known->number != number || count - known->count > count / 16) {
		known->median = find_median(known, number);
		known->number = number;
		known->count = count;
	}
	return known->median;
}
