/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts how long waits were. */
#include "daemon/lengths.h"

#include <stdio.h>

void lengths_add(struct lengths *lengths, unsigned kind, uint64_t ns)
{
	buckets_add(&lengths->kinds[kind], ns);
}

void lengths_explain(struct lengths *lengths, const struct clew_slow *slow, const char *incident,
		     uint64_t wall)
{
	const uint64_t ns = slow->end - slow->start;
	struct length_example *example;

	if (slow->kind >= LENGTHS_KINDS || slow->open || slow->end < slow->start)
		return;
	example = &lengths->examples[slow->kind][buckets_of(ns)];
	example->ns = ns;
	example->wall = wall - (slow->at - slow->end);
	snprintf(example->incident, sizeof(example->incident), "%s", incident);
}
