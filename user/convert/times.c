/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of each thread as ESs and gaps. times_back.c is the way back.
 */
#include "convert/to_model.h"

static int emit_interval(struct conversion *conversion, const struct interval *interval)
{
	const struct clew_trace *trace = conversion->trace;
	const struct clew_ready *ready;
	uint32_t wait;
	int r = 0;

	switch (interval->kind) {
	case INTERVAL_RUN:
		return 0;
	case INTERVAL_UNKNOWN:
		return capture_gap(conversion, interval->start, interval->end,
				   conversion->unknown_wait);
	case INTERVAL_READY:
		ready = (const struct clew_ready *)trace->readies.data + interval->index;
		if (ready->end == CLEW_TIME_OPEN)
			pairs_add(&conversion->pairs, ATTRIBUTE_OPEN, "end");
		else if (ready->end != interval->end)
			pairs_add_number(&conversion->pairs, ATTRIBUTE_UNTIL, ready->end);
		if (ready->start != interval->start)
			pairs_add_number(&conversion->pairs, ATTRIBUTE_SINCE, ready->start);
		r = pairs_make(&conversion->pairs, conversion->maker, &wait);
		if (r == 0)
			r = capture_wait_row(conversion, CLEW_SEGMENT_RUNQUEUE, wait, &wait);
		if (r < 0 || interval->start == interval->end)
			return r;
		return capture_gap(conversion, interval->start, interval->end, wait);
	default:
		break;
	}
	if (interval->start == interval->end) {
		r = capture_sleep_label(
			conversion, (const struct clew_sleep *)trace->sleeps.data + interval->index,
			interval->start, &wait);
		return r < 0 ? r : capture_mark(conversion, interval->start, wait | LABEL_OF_LIST);
	}
	r = capture_sleep_wait(conversion,
			       (const struct clew_sleep *)trace->sleeps.data + interval->index,
			       interval->start, interval->end, &wait);
	return r < 0 ? r : capture_gap(conversion, interval->start, interval->end, wait);
}

int capture_emit_threads(struct conversion *conversion)
{
	const struct clew_trace *trace = conversion->trace;
	int r = 0;

	for (uint32_t span = 0; span < conversion->actor_count && r == 0; span++) {
		const struct trace_task *task =
			span < conversion->task_count ? trace_task_at(trace, span) : NULL;
		uint64_t start = task ? task->begin : trace->start;
		struct intervals intervals;
		struct interval interval;

		capture_span_begin(conversion, span, start);
		if (!task) {
			if (conversion->end > start)
				r = capture_gap(conversion, start, conversion->end,
						conversion->unknown_wait);
			if (r == 0)
				r = capture_span_end(conversion, conversion->end);
			continue;
		}
		intervals = capture_intervals(trace, task);
		while (r == 0 && capture_interval_next(&intervals, &interval))
			r = emit_interval(conversion, &interval);
		if (r == 0)
			r = capture_span_end(conversion, task->end);
	}
	return r;
}
