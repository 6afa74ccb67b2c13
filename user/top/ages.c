/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Remembers how long waits have been under way. */
#include "top/ages.h"

#include <errno.h>

#include "relate/job_kept.h"

int ages_take(struct ages *ages, const struct clew_trace *trace)
{
	const uint64_t start = clew_trace_start(trace), end = clew_trace_end(trace);
	const bool follows = ages->end && start < ages->end + CLEW_SEGMENT_NEAR;
	struct ages next = {.end = end};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct clew_sleep *sleep = &sleeps[i];
		uint64_t ns = end - sleep->start;
		const uint64_t *before;
		bool unseen;

		if (sleep->end != CLEW_TIME_OPEN)
			continue;
		before = follows && sleep->open & CLEW_OPEN_START
				 ? map_get(&ages->before, sleep->task, 0)
				 : NULL;
		unseen = before ? map_get(&ages->unseen, sleep->task, 0) != NULL
				: sleep->open & CLEW_OPEN_START;
		if (before && ns < *before + (end - ages->end))
			ns = *before + (end - ages->end);
		r = map_set(&next.before, sleep->task, 0, ns);
		if (r >= 0 && unseen)
			r = map_set(&next.unseen, sleep->task, 0, 1);
	}
	ages_done(ages);
	*ages = next;
	return r;
}

uint64_t ages_of(const struct ages *ages, const struct clew_sleep *sleep, bool *ret_longer)
{
	const uint64_t *ns = map_get(&ages->before, sleep->task, 0);

	*ret_longer = map_get(&ages->unseen, sleep->task, 0);
	return ns ? *ns : 0;
}

void ages_done(struct ages *ages)
{
	map_done(&ages->before);
	map_done(&ages->unseen);
	*ages = (struct ages){};
}
