/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a segment of a why has to do with who waits for it: the last of the chain
 * sleeps then, and that sleep says on what, and who held it.
 */
#ifndef CLEW_WORDS_SEGMENT_H
#define CLEW_WORDS_SEGMENT_H

#include "explain/why.h"

/* The request that a link is, or NULL. */
const struct clew_trace_request *clew_segment_request(const struct clew_trace *trace,
						      const struct clew_link *link);

/* Whether all that was asked for below a segment's request was over by then. */
bool clew_segment_done_below(const struct clew_trace *trace, const struct clew_segment *segment);

/* The task that waits for the segment's, CLEW_NO_TASK where there is none. A task that sleeps is
 * the last of the chain itself. */
uint32_t clew_segment_waiter(const struct clew_segment *segment);

/* The sleep of the waiting task during a segment, or NULL. */
const struct clew_sleep *clew_segment_awaiting(const struct clew_trace *trace,
					       const struct clew_segment *segment);

/* When that ended; CLEW_TIME_OPEN: it did not, or nobody waited. */
uint64_t clew_segment_awaited_until(const struct clew_trace *trace,
				    const struct clew_segment *segment);

/* `sleep`: that awaits the segment, NULL none. Whether what led to a wait by a work item is from
 * before the item was queued: then it is not its worker's. */
bool clew_segment_queues(const struct clew_sleep *sleep, const struct clew_segment *segment);
/* `sleep`: likewise. Whether the segment's task held then what is waited for. */
bool clew_segment_holds(const struct clew_sleep *sleep, const struct clew_segment *segment);

#endif
