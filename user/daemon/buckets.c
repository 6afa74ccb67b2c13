/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts lengths in buckets with fixed bounds. */
#include "daemon/buckets.h"

const struct bucket_bound buckets_bounds[BUCKETS_BOUNDS] = {
	{10000, "0.00001"},  {25000, "0.000025"}, {50000, "0.00005"},	 {100000, "0.0001"},
	{250000, "0.00025"}, {500000, "0.0005"},  {1000000, "0.001"},	 {2500000, "0.0025"},
	{5000000, "0.005"},  {10000000, "0.01"},  {25000000, "0.025"},	 {50000000, "0.05"},
	{100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},	 {1000000000, "1.0"},
	{2500000000, "2.5"}, {5000000000, "5.0"}, {10000000000, "10.0"},
};

unsigned buckets_of(uint64_t ns)
{
	unsigned bucket = 0;

	while (bucket < BUCKETS_BOUNDS && ns > buckets_bounds[bucket].ns)
		bucket++;
	return bucket;
}

void buckets_add(struct buckets *buckets, uint64_t ns)
{
	buckets->counts[buckets_of(ns)]++;
	buckets->count++;
	buckets->ns += ns;
}
