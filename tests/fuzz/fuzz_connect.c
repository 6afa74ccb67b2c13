/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the join of hosts by their connections: the input is the traces of two hosts in notation,
 * with a line of two hyphens between. Whatever their messages and sockets say: one trace comes that
 * is in order and can be read back, no time is moved beyond the errors that are printed, and no
 * more is joined than there is.
 */
#include <clew/model_make.h>
#include <clew/notation.h>
#include <clew/stitch.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"

#define BETWEEN "\n--\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_model(const struct clew_model *model)
{
	struct clew_problem *problems;
	struct clew_trace *trace;
	char message[300];
	size_t count;
	int r;

	must(clew_model_check(model, true, &problems, &count) == 0);
	for (size_t i = 0; i < count; i++)
		must(strcmp(problems[i].kind, "order") && strcmp(problems[i].kind, "overlap") &&
		     strcmp(problems[i].kind, "symmetry"));
	free(problems);
	r = clew_trace_from_model(model, NULL, &trace, message, sizeof(message));
	must(r == 0 || (r == -EINVAL && message[0]));
	if (r == 0)
		clew_trace_free(trace);
}

static void check_connected(const struct clew_model *const *traces)
{
	const struct clew_stitch_options options = {.connections = true};
	struct clew_stitch_clock clocks[2] = {};
	struct clew_stitch_result result = {.clocks = clocks};
	const struct clew_stitch_connected *connected = &result.connected;
	struct clew_query_error error = {.message = ""};
	struct clew_model *model;
	int r = clew_stitch(traces, 2, NULL, &options, &model, &result, &error);

	must(r == 0 || r == -EINVAL || r == -EBADMSG || r == -EOVERFLOW);
	if (r < 0)
		return;
	must(connected->joined <= connected->messages &&
	     2 * connected->connections <= connected->ends);
	must(connected->connections || (!connected->joined && !connected->dependencies));
	must(connected->dependencies <= connected->joined + connected->messages);
	must(clocks[1].source != CLEW_CLOCK_BETWEEN ||
	     (clocks[1].low <= clocks[1].offset && clocks[1].offset <= clocks[1].high));
	must(model->span_count == traces[0]->span_count + traces[1]->span_count);
	check_model(model);
	clew_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data,
		   *between = size ? memmem(text, size, BETWEEN, strlen(BETWEEN)) : NULL;
	struct clew_model *traces[2] = {};
	char message[300];
	size_t first;

	if (!between)
		return 0;
	first = (size_t)(between - text) + 1;
	if (clew_notation_read(text, first, NULL, &traces[0], message, sizeof(message)) == 0 &&
	    clew_notation_read(between + strlen(BETWEEN), size - first + 1 - strlen(BETWEEN), NULL,
			       &traces[1], message, sizeof(message)) == 0)
		check_connected((const struct clew_model *const *)traces);
	clew_model_free(traces[0]);
	clew_model_free(traces[1]);
	return 0;
}
