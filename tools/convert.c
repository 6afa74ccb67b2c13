/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loads a capture and makes a causal trace of it and a trace of that again; says as
 * one JSON object how long each step took and what it left in memory.
 *
 * Usage: convert CAPTURE
 */
#include "convert/convert.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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
	fprintf(stderr, "convert: %s: %s\n", what, message[0] ? message : strerror(-error));
	return 3;
}

int main(int argc, char **argv)
{
	const struct clew_trace_options options = {.size = sizeof(options)};
	const struct clew_capture_info *info;
	struct clew_trace *trace, *again;
	double begin, loaded, made, back;
	struct clew_model *model;
	char message[256] = "";
	uint64_t records = 0;
	int r;

	if (argc != 2) {
		fputs("Usage: convert CAPTURE\n", stderr);
		return 2;
	}
	begin = now();
	r = clew_trace_load(argv[1], &options, &trace, message, sizeof(message));
	if (r < 0)
		return fail(argv[1], r, message);
	loaded = now();
	r = clew_model_from_trace(trace, &model);
	if (r < 0)
		return fail("to a causal trace", r, "");
	made = now();
	r = clew_trace_from_model(model, &options, &again, message, sizeof(message));
	if (r < 0)
		return fail("and back", r, message);
	back = now();
	info = clew_trace_info(trace);
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
		records += info->counts[kind];
	printf("{\"records\":%" PRIu64 ",\"elementary_spans\":%u,\"spans\":%u,\"dependencies\":%u,"
	       "\"waits\":%u,\"attribute_lists\":%u,"
	       "\"model_bytes\":%zu,\"trace_bytes\":%zu,\"load_seconds\":%.3f,\"model_seconds\":%."
	       "3f,\"back_seconds\":%.3f}\n",
	       records, model->es_count, model->span_count, model->dependency_count,
	       model->wait_count, model->attribute_list_count, clew_model_memory(model),
	       clew_trace_memory(trace), loaded - begin, made - loaded, back - made);
	clew_trace_free(again);
	clew_model_free(model);
	clew_trace_free(trace);
	return 0;
}
