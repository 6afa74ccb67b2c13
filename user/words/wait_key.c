/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When two waits are for the same object. See wait_key.h. */
#include "words/wait_key.h"

#include "trace/wait_key.h"

struct clew_sum_key clew_wait_object_key(const struct clew_trace *trace,
					 const struct clew_sleep *sleep)
{
	struct clew_wait_key key = clew_wait_key(trace, sleep);

	return (struct clew_sum_key){{key.parts[0], key.parts[1], key.parts[2]}};
}

int clew_sums_add_wait(struct clew_sums *sums, struct clew_sum_key key, uint64_t ns,
		       const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	size_t count;
	uint32_t item = (uint32_t)(sleep - clew_trace_sleeps(trace, &count));
	uint64_t vain;

	return clew_trace_vain(trace, sleep, &vain) ? clew_sums_add_vain(sums, key, ns, item, vain)
						    : clew_sums_add(sums, key, ns, item);
}
