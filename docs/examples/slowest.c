/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An example of a program with libclew: the slowest operation in a capture or causal trace, and
 * how long its critical path did what.
 *
 * gcc -o slowest slowest.c $(pkg-config --cflags --libs clew)
 */
#include <clew/notation.h>
#include <clew/path.h>
#include <clew/tokens.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operation and its span. */
struct slowest {
	struct clew_path_operation operation;
	uint32_t span;
	clew_time length;
};

/* Finds the longest time between two waits for work. 0 or -errno. */
static int find_slowest(const struct clew_model *model, struct slowest *ret_slowest)
{
	*ret_slowest = (struct slowest){.span = CLEW_NONE};
	for (uint32_t span = 0; span < model->span_count; span++) {
		struct clew_path_operation *operations;
		size_t count;
		int r = clew_path_operations(model, span, 0, &operations, &count);

		if (r < 0)
			return r;
		for (size_t i = 0; i < count; i++) {
			clew_time length = operations[i].end.at - operations[i].from;

			if (length > ret_slowest->length)
				*ret_slowest = (struct slowest){operations[i], span, length};
		}
		free(operations);
	}
	return ret_slowest->span == CLEW_NONE ? -ENOENT : 0;
}

/* Prints the time of a path by kind, longest first. 0 or -errno. */
static int print_path(const struct clew_model *model, struct clew_path *path)
{
	uint64_t sums[CLEW_SEGMENT_KIND_COUNT] = {0};
	struct clew_path_segment *segments;
	size_t count;
	int r = clew_path_segments(model, path, &segments, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		if (segments[i].kind < CLEW_SEGMENT_KIND_COUNT)
			sums[segments[i].kind] += (uint64_t)(segments[i].end - segments[i].start);
	free(segments);
	for (;;) {
		unsigned most = 0;

		for (unsigned kind = 1; kind < CLEW_SEGMENT_KIND_COUNT; kind++)
			most = sums[kind] > sums[most] ? kind : most;
		if (!sums[most])
			return 0;
		printf("  %12llu ns  %s\n", (unsigned long long)sums[most],
		       clew_wait_kind_name(most));
		sums[most] = 0;
	}
}

static int explain(const struct clew_model *model)
{
	const struct clew_path_options options = {.strategy = CLEW_STRATEGY_MOST_PROX};
	struct clew_path_finder *finder = NULL;
	struct clew_paths paths = {};
	struct slowest slowest;
	char *name;
	int r = find_slowest(model, &slowest);

	if (r >= 0)
		r = clew_path_finder_new(model, &finder);
	if (r >= 0)
		r = clew_path_find(finder, &slowest.operation.start, &slowest.operation.end,
				   &options, &paths);
	if (r >= 0 && paths.count) {
		name = clew_model_span_path(model, slowest.span);
		printf("%s: %lld ns\n", name ? name : "?", (long long)slowest.length);
		free(name);
		paths.paths[0].start = slowest.operation.from;
		r = print_path(model, &paths.paths[0]);
	}
	clew_paths_done(&paths);
	clew_path_finder_free(finder);
	return r;
}

int main(int argc, char **argv)
{
	struct clew_load_options options = {.size = sizeof(options)};
	struct clew_model *model;
	char message[300];
	int r;

	if (argc != 2) {
		fputs("usage: slowest TRACE\n", stderr);
		return 2;
	}
	r = clew_model_load(argv[1], &options, &model, message, sizeof(message));
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], message[0] ? message : strerror(-r));
		return 2;
	}
	r = explain(model);
	clew_model_free(model);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[1],
			r == -ENOENT ? "no operation in it" : strerror(-r));
	return r < 0;
}
