/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a capture file to a finished trace: makes a reader, a builder and a trace,
 * connects them, and keeps only the trace. For a part of the capture it stops reading
 * when what overlaps the part should be over.
 */
#include "trace/load.h"

#include "base/thread.h"
#include "store/join.h"
#include "trace/internal.h"
#include "trace/touch.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Bytes for what the builder knows of pages of files. */
#define PAGES_MOST (256u << 20)

#define PROGRESS_EVERY (1u << 18) /* records */
#define TOUCH_EVERY    (1u << 12)
#define TOUCH_FROM     (1u << 16) /* what a smaller capture would gain is not worth a thread */

/* When reading ends, at most: a part's trace does not need what is far behind it. */
static uint64_t read_until(const struct clew_trace_options *options)
{
	bool part = options && options->to && options->to < UINT64_MAX - TRACE_PART_BEYOND;

	return part ? options->to + TRACE_PART_BEYOND : UINT64_MAX;
}

/* A keyframe does not repeat which functions and announced calls are under way. */
static bool has_calls(const struct clew_capture_info *info)
{
	return info->counts[CLEW_KIND_FUNCTION] || info->counts[CLEW_KIND_ANNOUNCE];
}

/* True if the thread that is asked for has nothing under way that is not known. */
static bool is_over(struct clew_trace *trace, const struct clew_builder *builder,
		    const struct clew_trace_options *options, const struct clew_capture_info *info,
		    uint64_t time)
{
	return trace->part && options->thread && time >= trace->part->look_at && !has_calls(info) &&
	       trace_part_is_over(trace, builder, options->thread, time);
}

/*
 * Goes to where reading begins: for a part, to a keyframe that is some time before it, NULL: to the
 * start.
 */
static const struct clew_keyframe *go_to_part(struct clew_reader *reader,
					      const struct clew_trace_options *options)
{
	const struct clew_capture_info *info = clew_reader_info(reader);

	if (!options || !options->to || options->from < TRACE_PART_BEFORE || has_calls(info))
		return NULL;
	return clew_reader_seek(reader, options->from - TRACE_PART_BEFORE, TRACE_PART_ROWS);
}

bool trace_load_skips(const struct clew_reader *reader, const struct clew_header *record)
{
	return record->kind != CLEW_KIND_STATE && clew_reader_is_again(reader, record);
}

/* *ret_end: when the trace ends. */
static int feed_all(struct clew_reader *reader, struct clew_builder *builder,
		    struct clew_trace *trace, const struct clew_trace_options *options,
		    uint64_t *ret_end)
{
	const struct vector *const filled[TRACE_TOUCHED] = {&trace->sleeps, &trace->runs,
							    &trace->requests};
	const struct clew_capture_info *info = clew_reader_info(reader);
	const struct clew_header *record;
	struct trace_touch *touch = NULL;
	uint64_t total = clew_capture_records(info), done = 0, until = read_until(options);
	int r;

	if (total >= TOUCH_FROM && store_thread_pays())
		touch = trace_touch_new();
	while ((r = clew_reader_next(reader, &record)) > 0 && record->time <= until) {
		if (trace_load_skips(reader, record))
			continue;
		r = clew_builder_feed(builder, record);
		if (r < 0)
			break;
		if (is_over(trace, builder, options, info, record->time))
			until = record->time;
		if (++done % TOUCH_EVERY == 0 && touch)
			trace_touch_update(touch, filled);
		if (done % PROGRESS_EVERY == 0 && options && options->progress)
			options->progress(options->progress_context,
					  done < total ? (double)done / (double)total : 1.0);
	}
	trace_touch_free(touch);
	*ret_end = info->end;
	if (r > 0 && trace->part) {
		trace->part->cut = true;
		*ret_end = until;
	}
	return r < 0 ? r : clew_builder_finish(builder, *ret_end);
}

static const void *copy_array(struct clew_trace *trace, const void *from, size_t bytes)
{
	void *copy = arena_take(&trace->arena, bytes + 1);

	return copy && bytes ? memcpy(copy, from, bytes) : copy;
}

static int keep_metas(struct clew_trace *trace, const struct clew_reader *reader)
{
	const char *key, *value;

	for (size_t i = 0; (key = clew_reader_meta_at(reader, i, &value)); i++) {
		struct vector *metas = &trace->metas;
		const char **pair;

		/* The value that was written last holds. */
		if (value != clew_reader_meta(reader, key))
			continue;
		if (vector_reserve(metas, metas->count + 2) < 0)
			return -ENOMEM;
		pair = (const char **)metas->data + metas->count;
		pair[0] = arena_copy(&trace->arena, key, strlen(key));
		pair[1] = arena_copy(&trace->arena, value, strlen(value));
		if (!pair[0] || !pair[1])
			return -ENOMEM;
		metas->count += 2;
	}
	return 0;
}

int trace_keep_info(struct clew_trace *trace, const struct clew_reader *reader)
{
	struct clew_capture_info *info = arena_take(&trace->arena, sizeof(*info));

	if (!info)
		return -ENOMEM;
	*info = *clew_reader_info(reader);
	info->ledger = copy_array(trace, info->ledger, info->ledger_count * sizeof(*info->ledger));
	info->gaps = copy_array(trace, info->gaps, info->gap_count * sizeof(*info->gaps));
	info->clocks = copy_array(trace, info->clocks, info->clock_count * sizeof(*info->clocks));
	info->keyframes =
		copy_array(trace, info->keyframes, info->keyframe_count * sizeof(*info->keyframes));
	if (!info->ledger || !info->gaps || !info->clocks || !info->keyframes)
		return -ENOMEM;
	trace->info = info;
	return keep_metas(trace, reader);
}

/* The cost of a probe where the capture was made; a capture without functions has none. */
static void take_costs(const struct clew_reader *reader, struct clew_builder_options *options)
{
	const char *costs = clew_reader_meta(reader, "probe_costs");
	unsigned long ns[5] = {};

	/* The last one is new. */
	if (!costs ||
	    sscanf(costs, "%lu %lu %lu %lu %lu", &ns[0], &ns[1], &ns[2], &ns[3], &ns[4]) < 4)
		return;
	for (unsigned i = 0; i < 5; i++)
		ns[i] = ns[i] < UINT32_MAX ? ns[i] : 0;
	for (unsigned i = CLEW_SITE_CLASS_EMULATED; i <= CLEW_SITE_CLASS_STEPPED; i++)
		options->probe_ns[i] = (uint32_t)ns[i];
	options->return_ns = (uint32_t)ns[3];
	options->probe_ns[CLEW_SITE_CLASS_KERNEL] = (uint32_t)ns[4];
}

int trace_load_begin(const struct clew_reader *reader, const struct clew_trace_options *options,
		     const struct clew_keyframe *begins, struct clew_trace **ret_trace,
		     struct clew_builder **ret_builder)
{
	struct clew_builder_options builder_options = {
		.size = sizeof(builder_options),
		.start = clew_reader_info(reader)->start,
		.drop_types = options ? options->drop_types : 0,
		.memory_most = PAGES_MOST,
		.imported = clew_reader_info(reader)->imported,
	};
	const char *layers = clew_reader_meta(reader, "layers");
	struct clew_finding_taker takers[2];
	size_t count = 1;
	int r = clew_trace_new(options, builder_options.start, ret_trace);

	if (r < 0)
		return r;
	/* Only a description of a runtime asks for them. */
	(*ret_trace)->keeps_rings = layers && strstr(layers, "io_uring:");
	if (begins) {
		builder_options.start = begins->from;
		(*ret_trace)->stated = *begins;
	}
	take_costs(reader, &builder_options);
	takers[0] = clew_trace_taker(*ret_trace);
	if (options && options->beside)
		takers[count++] = *options->beside;
	r = clew_builder_new(&builder_options, takers, count, ret_builder);
	if (r < 0)
		clew_trace_free(*ret_trace);
	return r;
}

/* Ends what was fed, with the result `r`. */
static int finish(struct clew_trace *trace, struct clew_builder *builder,
		  const struct clew_reader *reader, uint64_t end, int r,
		  struct clew_trace **ret_trace)
{
	trace->forgotten = clew_builder_forgotten(builder);
	clew_builder_free(builder);
	if (r >= 0)
		r = trace_keep_info(trace, reader);
	if (r >= 0)
		r = clew_trace_finish(trace, end);
	if (r < 0)
		clew_trace_free(trace);
	else
		*ret_trace = trace;
	return r;
}

int clew_trace_read(struct clew_reader *reader, const struct clew_trace_options *options,
		    struct clew_trace **ret_trace)
{
	const struct clew_keyframe *begins = go_to_part(reader, options);
	struct clew_builder *builder;
	struct clew_trace *trace;
	uint64_t end = 0;
	int r = trace_load_begin(reader, options, begins, &trace, &builder);

	if (r < 0)
		return r;
	r = feed_all(reader, builder, trace, options, &end);
	return finish(trace, builder, reader, end, r, ret_trace);
}

static int feed_one(void *context, const struct clew_header *record)
{
	return clew_builder_feed(context, record);
}

int clew_trace_read_segments(struct clew_join *join, size_t first, size_t count,
			     const struct clew_trace_options *options,
			     struct clew_trace **ret_trace)
{
	const struct clew_reader *last = clew_join_reader(join, first + count - 1);
	uint64_t end = clew_reader_info(last)->end;
	struct clew_builder *builder;
	struct clew_trace *trace;
	int r = trace_load_begin(clew_join_reader(join, first), options, NULL, &trace, &builder);

	if (r < 0)
		return r;
	r = clew_join_each(join, first, count, feed_one, builder);
	if (r >= 0)
		r = clew_builder_finish(builder, end);
	return finish(trace, builder, last, end, r, ret_trace);
}

struct hidden_taker {
	struct clew_trace *trace;
	uint32_t count;
};

/* Keeps what the count of hidden waits is made from: they, and the gaps. */
static int take_hidden(void *context, struct clew_finding finding)
{
	struct hidden_taker *taker = context;
	struct clew_sleep sleep;

	if (finding.tag == CLEW_FINDING_IDENTITY && finding.identity->kind != CLEW_KIND_GAP)
		return 0;
	if (finding.tag == CLEW_FINDING_SLEEP) {
		if (!finding.sleep->hidden)
			return 0;
		sleep = *finding.sleep;
		/* A trace puts sleeps where their numbers say. */
		sleep.number = taker->count++;
		finding.sleep = &sleep;
	}
	return trace_take(taker->trace, finding);
}

int clew_count_hidden(struct clew_reader *reader, uint64_t *ret_count)
{
	struct clew_builder_options options = {
		.size = sizeof(options),
		.start = clew_reader_info(reader)->start,
	};
	struct hidden_taker hidden = {};
	struct clew_finding_taker taker = {
		.wants = CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY) |
			 CLEW_FINDING_BIT(CLEW_FINDING_SLEEP),
		.take = take_hidden,
		.context = &hidden,
	};
	struct clew_builder *builder;
	uint64_t end;
	int r = clew_trace_new(NULL, options.start, &hidden.trace);

	if (r < 0)
		return r;
	r = clew_builder_new(&options, &taker, 1, &builder);
	if (r >= 0) {
		r = feed_all(reader, builder, hidden.trace, NULL, &end);
		clew_builder_free(builder);
	}
	if (r >= 0)
		r = clew_trace_finish(hidden.trace, clew_reader_info(reader)->end);
	if (r >= 0)
		*ret_count = clew_trace_hidden(hidden.trace);
	clew_trace_free(hidden.trace);
	return r;
}

int clew_trace_load(const char *path, const struct clew_trace_options *options,
		    struct clew_trace **ret_trace, char *message, size_t message_size)
{
	struct clew_reader *reader;
	int r;

	if (options && options->size < sizeof(*options))
		return -EINVAL;
	r = clew_reader_open(path, &reader, message, message_size);
	if (r < 0)
		return r;
	r = clew_trace_read(reader, options, ret_trace);
	clew_reader_close(reader);
	if (r < 0 && message && message_size > 0)
		snprintf(message, message_size, "%s: %s while reading the capture", path,
			 strerror(-r));
	return r;
}
