/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures how fast causal traces are made: of so many ESs, half of them beginning with a
 * dependency and half ending with one, in spans of some thousand, and what a trace
 * takes; and how long its check. Prints one JSON object; seconds are of CPU time, the best of some
 * rounds.
 *
 * Usage: construct COUNT ORDER     orders: time (rows as they happen, over all spans),
 *        shuffled (no order at all), one (a single span, shuffled), maker (one
 *        operation after the other, as they happen), maker-shuffled, maker-one
 */
#include "base/vector.h"
#include <clew/model_make.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPAN_ES = 5000, STEP = 1000 };

static uint64_t seed = 88172645463325252u;

static uint32_t pick(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 20) % below);
}

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static void *room(size_t count, size_t size)
{
	struct vector vector = {.item = size};

	if (vector_grow(&vector, count) < 0) {
		fputs("construct: out of memory\n", stderr);
		exit(3);
	}
	return vector.data;
}

static void check(int r, const struct clew_maker *maker)
{
	if (r < 0) {
		fprintf(stderr, "construct: %s: %s\n", strerror(-r),
			maker ? clew_maker_error(maker) : "");
		exit(3);
	}
}

static void fill(struct clew_bulk *bulk, uint32_t count, uint32_t span_count, bool shuffled)
{
	uint32_t edges = (count - span_count) / 2;
	struct clew_bulk_span *spans = room(span_count, sizeof(*spans));
	struct clew_bulk_dependency *dependencies = room(edges, sizeof(*dependencies));
	struct clew_bulk_endpoint *ends = room((size_t)edges * 2, sizeof(*ends));

	for (uint32_t i = 0; i < span_count; i++)
		spans[i] = (struct clew_bulk_span){"span", 0, ((clew_time)edges + 2) * STEP,
						   CLEW_NONE, CLEW_NONE};
	for (uint32_t i = 0; i < edges; i++) {
		clew_time at = ((clew_time)i + 1) * STEP;

		dependencies[i] = (struct clew_bulk_dependency){.attributes = CLEW_NONE};
		ends[2 * i] = (struct clew_bulk_endpoint){
			.dependency = i, .span = pick(span_count), .at = at + pick(STEP / 2)};
		ends[2 * i + 1] = (struct clew_bulk_endpoint){.dependency = i,
							      .span = pick(span_count),
							      .at = at + STEP / 2 + pick(STEP / 2),
							      .destination = 1};
	}
	for (uint32_t i = 2 * edges; shuffled && i > 1; i--) {
		uint32_t other = pick(i);
		struct clew_bulk_endpoint swap = ends[i - 1];

		ends[i - 1] = ends[other];
		ends[other] = swap;
	}
	*bulk = (struct clew_bulk){.spans = spans,
				   .dependencies = dependencies,
				   .endpoints = ends,
				   .span_count = span_count,
				   .dependency_count = edges,
				   .endpoint_count = 2 * (size_t)edges};
}

static void make_each(struct clew_maker *maker, const struct clew_bulk *bulk)
{
	uint32_t number;

	for (size_t i = 0; i < bulk->span_count; i++)
		check(clew_maker_root(maker, bulk->spans[i].name, bulk->spans[i].start,
				      bulk->spans[i].end, &number),
		      maker);
	for (size_t i = 0; i < bulk->dependency_count; i++)
		check(clew_maker_dependency(maker, 0, CLEW_MODE_SINGLE, CLEW_NONE, &number), maker);
	for (size_t i = 0; i < bulk->endpoint_count; i++) {
		const struct clew_bulk_endpoint *end = &bulk->endpoints[i];

		if (end->destination)
			check(clew_maker_destination(maker, end->dependency, end->span, end->at,
						     end->at, 0),
			      maker);
		else
			check(clew_maker_origin(maker, end->dependency, end->span, end->at, 0),
			      maker);
	}
}

int main(int argc, char **argv)
{
	uint32_t count = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0,
		 spans = count / SPAN_ES + 1;
	const char *order = argc == 3 ? argv[2] : "";
	bool maker_way = strncmp(order, "maker", 5) == 0,
	     shuffled = strstr(order, "shuffled") || strstr(order, "one");
	uint32_t rounds = 1 + 10000000 / (count + 1);
	struct clew_bulk bulk;
	double best = 1e9, check_seconds = 0;
	struct clew_problem *problems;
	size_t problem_count = 0;
	size_t bytes = 0;
	uint32_t made = 0;

	if (count < 100) {
		fputs("Usage: construct COUNT time|shuffled|one|maker|maker-shuffled|maker-one, "
		      "COUNT 100 or more\n",
		      stderr);
		return 2;
	}
	fill(&bulk, count, strstr(order, "one") ? 1 : spans, shuffled);
	rounds = rounds < 3 ? 3 : rounds > 50 ? 50 : rounds;
	for (uint32_t round = 0; round < rounds; round++) {
		struct clew_maker *maker;
		struct clew_model *model;
		double begin = now(), taken;

		check(clew_maker_new(&maker), NULL);
		if (maker_way)
			make_each(maker, &bulk);
		else
			check(clew_maker_bulk(maker, &bulk), maker);
		check(clew_maker_finish(maker, &model), maker);
		taken = now() - begin;
		best = taken < best ? taken : best;
		clew_maker_free(maker);
		bytes = clew_model_memory(model);
		made = model->es_count;
		if (round == 0) {
			begin = now();
			check(clew_model_check(model, true, &problems, &problem_count), NULL);
			check_seconds = now() - begin;
			free(problems);
		}
		clew_model_free(model);
	}
	printf("{\"elementary\":%u,\"seconds\":%.6f,\"bytes\":%zu,\"check_seconds\":%.6f,"
	       "\"problems\":%zu}\n",
	       made, best, bytes, check_seconds, problem_count);
	return 0;
}
