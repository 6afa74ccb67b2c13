/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The relation of a segment of a why to the task that waits for it. That task
 * is the last of the chain; its sleep says what it waits for, and who holds
 * that.
 */
#ifndef CLEW_WORDS_SEGMENT_H
#define CLEW_WORDS_SEGMENT_H

#include "explain/why.h"

/* The request of a link, or NULL. */
const struct clew_trace_request *clew_segment_request(const struct clew_trace *trace,
						      const struct clew_link *link);

/* True if a segment's request reads pages that a group's memory limit had evicted. */
bool clew_segment_read_again(const struct clew_trace *trace, const struct clew_segment *segment);
/* True if all lower requests of a segment's request were over by then. */
bool clew_segment_done_below(const struct clew_trace *trace, const struct clew_segment *segment);

/*
 * The task that waits for the segment's task, CLEW_NO_TASK none. In a segment
 * of sleep, that task itself is the last of the chain.
 */
uint32_t clew_segment_waiter(const struct clew_segment *segment);

/* The sleep of the waiting task during a segment, or NULL. */
const struct clew_sleep *clew_segment_awaiting(const struct clew_trace *trace,
					       const struct clew_segment *segment);

/* When that sleep ended; CLEW_TIME_OPEN: it did not, or nobody waited. */
uint64_t clew_segment_awaited_until(const struct clew_trace *trace,
				    const struct clew_segment *segment);

/* True if the work item that ended `sleep` had not been queued at a moment, ns. */
bool clew_work_to_come(const struct clew_sleep *sleep, uint64_t at);
/*
 * True if the segment is from before the work item of a wait was queued, so
 * that it is not the worker's. `sleep`: the one that awaits the segment, or
 * NULL.
 */
bool clew_segment_queues(const struct clew_sleep *sleep, const struct clew_segment *segment);
/*
 * True if the segment's task held what `sleep` waits for. `sleep` may be NULL.
 */
bool clew_segment_holds(const struct clew_sleep *sleep, const struct clew_segment *segment);
/* True if `task` held at a moment, ns, what `sleep` waits for. `sleep` may be NULL. */
bool clew_held_by(const struct clew_sleep *sleep, uint32_t task, uint64_t at);

#endif
