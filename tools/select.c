/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures what selecting spans of a large trace takes: the median of five runs of
 * each pattern, in one JSON object on standard output. The trace: requests, each a
 * root span of a name of its own, with four children that all share four names and
 * are suspended four times: 29 elementary spans.
 *
 * Usage: select [MILLIONS OF ELEMENTARY SPANS]
 */
#include <clew/model_make.h>
#include <clew/query.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHILDREN = 4, SUSPENDS = 4, ES_OF_REQUEST = 29, CHILD_NS = 100, REQUEST_NS = 500, RUNS = 5 };

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "select: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct clew_model *make(uint32_t requests)
{
	static const char *const names[CHILDREN] = {"parse", "query", "commit", "send"};
	struct clew_bulk_span *spans = calloc((size_t)requests * (CHILDREN + 1), sizeof(*spans)),
			      *span = spans;
	struct clew_bulk_suspend *suspends = calloc((size_t)requests * CHILDREN * SUSPENDS,
						    sizeof(*suspends)),
				 *suspend = suspends;
	char *texts = malloc((size_t)requests * 24);
	struct clew_bulk bulk = {.spans = spans, .suspends = suspends};
	struct clew_maker *maker;
	struct clew_model *model;

	check(spans && suspends && texts, "out of memory");
	for (uint32_t request = 0; request < requests; request++) {
		clew_time start = (clew_time)request * 10;
		uint32_t root = (uint32_t)(span - spans);
		char *name = texts + (size_t)request * 24;

		snprintf(name, 24, "request-%" PRIu32, request);
		*span++ = (struct clew_bulk_span){name, start, start + REQUEST_NS, CLEW_NONE,
						  CLEW_NONE};
		for (int child = 0; child < CHILDREN; child++) {
			clew_time begin = start + 10 + child * (CHILD_NS + 10);

			for (int i = 0; i < SUSPENDS; i++)
				*suspend++ =
					(struct clew_bulk_suspend){.span = (uint32_t)(span - spans),
								   .kind = CLEW_NONE,
								   .attributes = CLEW_NONE,
								   .start = begin + 20 * i + 5,
								   .end = begin + 20 * i + 15};
			*span++ = (struct clew_bulk_span){names[child], begin, begin + CHILD_NS,
							  root, CLEW_NONE};
		}
	}
	bulk.span_count = (size_t)(span - spans);
	bulk.suspend_count = (size_t)(suspend - suspends);
	check(clew_maker_new(&maker) == 0 && clew_maker_bulk(maker, &bulk) == 0 &&
		      clew_maker_finish(maker, &model) == 0,
	      "cannot make the trace");
	clew_maker_free(maker);
	free(spans);
	free(suspends);
	free(texts);
	return model;
}

static int by_value(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static void measure(const struct clew_model *model, const char *name, const char *pattern,
		    size_t expected)
{
	struct clew_query_error error;
	struct clew_query *query;
	double seconds[RUNS];
	uint32_t *spans;
	size_t count;

	check(clew_query_compile(pattern, strlen(pattern), &query, &error) == 0, pattern);
	for (int run = 0; run < RUNS; run++) {
		seconds[run] = now();
		check(clew_query_spans(query, model, NULL, &spans, &count) == 0, "out of memory");
		seconds[run] = now() - seconds[run];
		check(count == expected, pattern);
		free(spans);
	}
	qsort(seconds, RUNS, sizeof(*seconds), by_value);
	printf(", \"%s\": %.4f", name, seconds[RUNS / 2]);
	clew_query_free(query);
}

int main(int argc, char **argv)
{
	uint32_t requests = (uint32_t)((argc > 1 ? atof(argv[1]) : 10) * 1e6 / ES_OF_REQUEST);
	struct clew_model *model;
	char path[64];

	check(requests > 0, "give a number of millions");
	model = make(requests);
	snprintf(path, sizeof(path), "request-%" PRIu32 "/commit", requests - 1);
	printf("{\"es\": %" PRIu32 ", \"spans\": %" PRIu32, model->es_count, model->span_count);
	measure(model, "literal", path, 1);
	measure(model, "no_such_name", "**/nobody", 0);
	measure(model, "any_level_literal", "**/commit", requests);
	measure(model, "regex", "**/(^comm|^se.d$)", 2 * (size_t)requests);
	measure(model, "regex_of_many_names", "**/(^request-[0-9]*7$|it$)",
		requests + (requests + 2) / 10);
	measure(model, "two_levels", "**/(1$)/**/(.)", 4 * (size_t)((requests + 8) / 10));
	measure(model, "where", "** where total_unsuspended_duration > duration(280ns)", requests);
	puts("}");
	clew_model_free(model);
	return 0;
}
