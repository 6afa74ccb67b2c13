/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers, each as often as it occurs, packed: millions of them take one or two bytes each, or less
 * where they repeat. Only what is greater than all others can be added; two sets can be joined.
 */
#ifndef CLEW_BASE_MULTISET_H
#define CLEW_BASE_MULTISET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct multiset {
	uint8_t *bytes; /* of each number: its distance from the one before, and how often */
	size_t size, capacity;
	uint64_t greatest;
	uint64_t count; /* of numbers, each as often as it occurs */
};

/* Adds a number that is greater than all others. 0 or -ENOMEM; then nothing was added. */
int multiset_add(struct multiset *set, uint64_t number, uint64_t times);
/* Adds all of another one, which stays as it is. 0 or -ENOMEM; then nothing was added. */
int multiset_join(struct multiset *set, const struct multiset *other);
/* The number at a rank, from 0, in order; 0 of an empty set. */
uint64_t multiset_at(const struct multiset *set, uint64_t rank);
void multiset_done(struct multiset *set);

#endif
