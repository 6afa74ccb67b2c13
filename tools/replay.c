/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replays a capture through libclew and says how fast that went, as one JSON
 * object: the reader with the builder alone (its findings are made and dropped), then
 * the whole trace as every command loads it, then one answer of why.
 *
 * Usage: replay CAPTURE
 */
#include "builder/build.h"
#include "builder/builder.h"
#include "explain/why.h"
#include "store/capture.h"
#include "trace/trace.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static int fail(const char *what, int error, const char *message)
{
	fprintf(stderr, "replay: %s: %s\n", what, message[0] ? message : strerror(-error));
	return 3;
}

static bool is_switch(const struct clew_header *record)
{
	return record->kind == CLEW_KIND_SWITCH;
}

/* ---- the builder alone ---- */

struct held {
	size_t bytes, tasks, of_tasks; /* the rest of the bytes is of requests, work items and pages
					  that are on their way */
};

static struct held held_by(const struct clew_builder *builder)
{
	struct held held = {.of_tasks =
				    build_tasks_memory(builder) + build_futexes_memory(builder)};

	held.bytes = clew_builder_memory(builder, &held.tasks);
	return held;
}

static void print_held(const char *name, const struct held *held)
{
	printf("\"%s\":{\"bytes\":%zu,\"tasks\":%zu,\"of_tasks\":%zu},", name, held->bytes,
	       held->tasks, held->of_tasks);
}

static int drop(void *context, struct clew_finding finding)
{
	(void)context;
	(void)finding;
	return 0;
}

static int replay_builder(const char *path)
{
	struct clew_builder_options options = {.size = sizeof(options)};
	const struct clew_finding_taker taker = {.wants = CLEW_FINDINGS_ALL, .take = drop};
	const struct clew_header *record;
	struct clew_builder *builder;
	struct clew_reader *reader;
	char message[256] = "";
	uint64_t records = 0, switches = 0, half;
	struct held at_half = {}, at_end;
	double begin;
	int r;

	r = clew_reader_open(path, &reader, message, sizeof(message));
	if (r < 0)
		return fail(path, r, message);
	half = clew_reader_info(reader)->counts[CLEW_KIND_SWITCH] / 2;
	options.start = clew_reader_info(reader)->start;
	r = clew_builder_new(&options, &taker, 1, &builder);
	if (r < 0)
		return fail("builder", r, "");

	begin = now();
	while ((r = clew_reader_next(reader, &record)) > 0) {
		records++;
		r = clew_builder_feed(builder, record);
		if (r < 0)
			break;
		if (is_switch(record) && ++switches == half)
			at_half = held_by(builder);
	}
	at_end = held_by(builder);
	if (r >= 0)
		r = clew_builder_finish(builder, clew_reader_info(reader)->end);
	if (r < 0)
		return fail("replay", r, "");
	printf("\"records\":%" PRIu64 ",\"switches\":%" PRIu64 ",\"builder_seconds\":%.6f,",
	       records, switches, now() - begin);
	print_held("builder_half", &at_half);
	print_held("builder_end", &at_end);
	clew_builder_free(builder);
	clew_reader_close(reader);
	return 0;
}

/* ---- the whole trace ---- */

static bool user_task(void *context, const struct clew_trace_task *task)
{
	(void)context;
	return !(task->flags & (CLEW_TASK_KTHREAD | CLEW_TASK_SELF));
}

static int replay_trace(const char *path)
{
	struct clew_trace_options options = {.size = sizeof(options)};
	struct clew_operation *operations = NULL;
	size_t sleeps, edges, runs, count = 0, total = 0, segments = 0;
	struct clew_trace *trace;
	struct clew_why why = {};
	char message[256] = "";
	double begin, loaded, answered;
	int r;

	begin = now();
	r = clew_trace_load(path, &options, &trace, message, sizeof(message));
	if (r < 0)
		return fail(path, r, message);
	loaded = now();
	r = clew_operations(trace, user_task, NULL, 0, clew_trace_start(trace),
			    clew_trace_end(trace), 1, &operations, &count, &total);
	if (r < 0)
		return fail("operations", r, "");
	if (count > 0) {
		r = clew_why_explain(trace, NULL, operations[0].task, operations[0].from,
				     operations[0].to, &why);
		if (r < 0)
			return fail("why", r, "");
		segments = why.segment_count;
		clew_why_done(&why);
	}
	answered = now();
	clew_trace_sleeps(trace, &sleeps);
	clew_trace_edges(trace, &edges);
	clew_trace_runs(trace, &runs);
	printf("\"load_seconds\":%.6f,\"why_seconds\":%.6f,\"operations\":%zu,\"segments\":%zu,"
	       "\"trace_bytes\":%zu,\"tasks\":%zu,\"sleeps\":%zu,\"edges\":%zu,\"runs\":%zu",
	       loaded - begin, answered - loaded, total, segments, clew_trace_memory(trace),
	       clew_trace_task_count(trace), sleeps, edges, runs);
	free(operations);
	clew_trace_free(trace);
	return 0;
}

int main(int argc, char **argv)
{
	int r;

	if (argc != 2) {
		fprintf(stderr, "Usage: replay CAPTURE\n");
		return 2;
	}
	printf("{");
	r = replay_builder(argv[1]);
	if (r == 0)
		r = replay_trace(argv[1]);
	printf("}\n");
	return r;
}
