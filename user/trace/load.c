/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a capture file to a finished trace.
 */
#include "base/thread.h"
#include "trace/internal.h"
#include "trace/touch.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PROGRESS_EVERY (1u << 18) /* records */
#define TOUCH_EVERY    (1u << 12)
#define TOUCH_FROM     (1u << 16) /* what a smaller capture would gain is not worth a thread */

static int feed_all(struct clew_trace *trace, const struct clew_trace_options *options)
{
	const struct vector *const filled[TRACE_TOUCHED] = {&trace->sleeps, &trace->runs,
							    &trace->requests};
	const struct clew_capture_info *info = clew_reader_info(trace->reader);
	const struct clew_header *record;
	struct trace_touch *touch = NULL;
	uint64_t total = 0, done = 0;
	int r;

	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
		total += info->counts[kind];
	if (total >= TOUCH_FROM && store_thread_pays())
		touch = trace_touch_new();
	while ((r = clew_reader_next(trace->reader, &record)) > 0) {
		r = clew_trace_feed(trace, record);
		if (r < 0)
			break;
		if (++done % TOUCH_EVERY == 0 && touch)
			trace_touch_tell(touch, filled);
		if (done % PROGRESS_EVERY == 0 && options && options->progress)
			options->progress(options->progress_context,
					  done < total ? (double)done / (double)total : 1.0);
	}
	trace_touch_free(touch);
	return r;
}

int clew_trace_load(const char *path, const struct clew_trace_options *options,
		    struct clew_trace **ret_trace, char *message, size_t message_size)
{
	const struct clew_capture_info *info;
	struct clew_trace *trace = NULL;
	struct clew_reader *reader;
	int r;

	if (options && options->size < sizeof(*options))
		return -EINVAL;
	r = clew_reader_open(path, &reader, message, message_size);
	if (r < 0)
		return r;
	info = clew_reader_info(reader);
	r = clew_trace_new(options, info->start, &trace);
	if (r < 0) {
		clew_reader_close(reader);
	} else {
		trace->reader = reader;
		r = feed_all(trace, options);
	}
	if (r >= 0)
		r = clew_trace_finish(trace, info->end);
	if (r < 0) {
		if (message && message_size > 0)
			snprintf(message, message_size, "%s: %s while reading the capture", path,
				 strerror(-r));
		clew_trace_free(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}
