/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures the analyses of a causal trace: makes a random trace of so many ESs
 * in 64 spans and says how much CPU time each analysis of the whole of it took, as one JSON
 * object.
 *
 * Usage: analyse ITEM COUNT     items: path slack blame what_if check
 */
#include "base/vector.h"
#include <clew/blame.h>
#include <clew/model_make.h>
#include <clew/path.h>
#include <clew/slack.h>
#include <clew/what_if.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { WIDTH = 64 };

static void *room(size_t count, size_t size)
{
	struct vector vector = {.item = size};

	if (vector_grow(&vector, count) < 0) {
		fputs("analyse: out of memory\n", stderr);
		exit(3);
	}
	return vector.data;
}

/* Half of the ESs lead to another span's next one, a quarter begin after a gap. */
static void make(struct clew_model *model, uint32_t count)
{
	uint32_t each = count / WIDTH, at[WIDTH] = {0}, waiting[WIDTH];
	struct clew_es *all = room((size_t)each * WIDTH, sizeof(*all));
	struct clew_span *spans = room(WIDTH, sizeof(*spans));
	struct clew_dependency *dependencies = room((size_t)each * WIDTH, sizeof(*dependencies));
	uint32_t *origins = room((size_t)each * WIDTH, sizeof(*origins)),
		 *destinations = room((size_t)each * WIDTH, sizeof(*destinations));
	uint32_t edges = 0;
	clew_time clock[WIDTH] = {0};

	for (uint32_t i = 0; i < WIDTH; i++) {
		waiting[i] = CLEW_NONE;
		spans[i] = (struct clew_span){.parent = CLEW_NONE,
					      .first_child = CLEW_NONE,
					      .next_sibling = i + 1 < WIDTH ? i + 1 : CLEW_NONE,
					      .attributes = CLEW_NONE,
					      .elementary = {i * each, each}};
	}
	for (uint32_t step = 0; step < each * WIDTH; step++) {
		uint32_t span = step % WIDTH, number = span * each + at[span]++,
			 target = pick(WIDTH);
		struct clew_es *es = &all[number];

		*es = (struct clew_es){
			.span = span, .in = CLEW_NONE, .out = CLEW_NONE, .wait = CLEW_NONE};
		es->start = clock[span] + (pick(4) ? 0 : pick(1000));
		if (waiting[span] != CLEW_NONE) {
			clew_time ready = all[origins[waiting[span]]].end + pick(100);

			es->in = waiting[span];
			es->start = ready > es->start ? ready : es->start;
			destinations[waiting[span]] = number;
			dependencies[waiting[span]].destinations =
				(struct clew_range){waiting[span], 1};
			waiting[span] = CLEW_NONE;
		}
		clock[span] = es->end = es->start + pick(2000);
		if (pick(2) && waiting[target] == CLEW_NONE && target != span) {
			es->out = waiting[target] = edges;
			origins[edges] = number;
			dependencies[edges] = (struct clew_dependency){.type = 2,
								       .attributes = CLEW_NONE,
								       .origins = {edges, 1},
								       .destinations = {edges, 0}};
			edges++;
		}
	}
	for (uint32_t i = 0; i < WIDTH; i++) {
		spans[i].start = all[i * each].start;
		spans[i].end = clock[i];
	}
	*model = (struct clew_model){
		.es = all,
		.spans = spans,
		.dependencies = dependencies,
		.origins = origins,
		.destinations = destinations,
		.es_count = each * WIDTH,
		.span_count = WIDTH,
		.dependency_count = edges,
		.origin_count = edges,
		.destination_count = edges,
		.unit = 1,
		.type_count = 3,
	};
}

/* From the first ES of a span to the last one that all of the trace leads to. */
static int time_path(const struct clew_model *model, enum clew_strategy strategy)
{
	const struct clew_range *range = &model->spans[0].elementary;
	uint32_t last = range->first + range->count - 1;
	const struct clew_position from = {range->first, model->es[range->first].end},
				   to = {last, model->es[last].start};
	const struct clew_path_options options = {.strategy = strategy};
	struct clew_path_finder *finder;
	struct clew_paths paths = {};
	struct clew_path_segment *segments;
	double begin = now();
	size_t count;
	int r = clew_path_finder_new(model, &finder);

	if (r == 0)
		r = clew_path_find(finder, &from, &to, &options, &paths);
	if (r == 0)
		r = clew_path_segments(model, &paths.paths[0], &segments, &count);
	if (r < 0) {
		fprintf(stderr, "analyse: %s: %s\n", clew_strategy_name(strategy), strerror(-r));
		return 3;
	}
	printf(",\"%s\":{\"seconds\":%.6f,\"elements\":%" PRIu32 ",\"segments\":%zu}",
	       clew_strategy_name(strategy), now() - begin, paths.paths[0].count, count);
	free(segments);
	clew_paths_done(&paths);
	clew_path_finder_free(finder);
	return 0;
}

static int time_slack(const struct clew_model *model)
{
	struct clew_slack slack;
	double begin = now();
	int r = clew_slack_find(model, NULL, NULL, &slack);
	uint64_t critical = 0;

	if (r < 0) {
		fprintf(stderr, "analyse: slack: %s\n", strerror(-r));
		return 3;
	}
	printf(",\"slack\":{\"seconds\":%.6f", now() - begin);
	for (uint32_t i = 0; i < slack.count; i++)
		critical += slack.rows[i].drag > 0;
	printf(",\"with_drag\":%" PRIu64 "}", critical);
	clew_slack_done(&slack);
	return 0;
}

/* All spans against eight. */
static int time_blame(const struct clew_model *model)
{
	uint32_t antagonists[8];
	const struct clew_blame_options options = {
		.antagonists = antagonists, .antagonist_count = 8, .all_running = true};
	struct clew_blame_pair *pairs;
	double begin = now();
	size_t count;
	int r;

	for (uint32_t i = 0; i < 8; i++)
		antagonists[i] = i * WIDTH / 8;
	r = clew_blame_find(model, &options, &pairs, &count);
	if (r < 0) {
		fprintf(stderr, "analyse: blame: %s\n", strerror(-r));
		return 3;
	}
	printf(",\"blame\":{\"seconds\":%.6f,\"pairs\":%zu}", now() - begin, count);
	free(pairs);
	return 0;
}

/* The same trace with names and all that a model has, or NULL. */
static struct clew_model *full(const struct clew_model *arrays)
{
	struct clew_maker *maker;
	struct clew_model *like = NULL, *model = NULL;
	uint32_t number;

	if (clew_maker_new(&maker) < 0)
		return NULL;
	if (clew_maker_root(maker, "a", 0, 1, &number) == 0 &&
	    clew_maker_type(maker, "send", &number) == 0 && clew_maker_finish(maker, &like) == 0 &&
	    clew_model_from_arrays(like, arrays, &model) < 0)
		model = NULL;
	clew_maker_free(maker);
	clew_model_free(like);
	return model;
}

/* A quarter as many CPUs as spans: who runs when, and the new trace. */
static int time_cpus(const struct clew_model *model)
{
	static const char text[] = "set cpus to 16;";
	struct clew_query_error error = {.message = ""};
	struct clew_program *program;
	struct clew_what_if result;
	struct clew_model *after;
	double begin = now();
	int r = clew_program_compile(text, sizeof(text) - 1, false, &program, &error);

	if (r < 0)
		return r;
	r = clew_what_if(model, program, NULL, &after, &result, &error);
	clew_program_free(program);
	if (r < 0)
		return r;
	printf(",\"what_if_cpus\":{\"seconds\":%.6f}", now() - begin);
	clew_model_free(after);
	return 0;
}

/* Every span half as long; the new trace, too, is made. */
static int time_what_if(const struct clew_model *arrays)
{
	static const char text[] = "scale spans(**) by .5;";
	struct clew_model *model = full(arrays), *after;
	struct clew_query_error error = {.message = ""};
	struct clew_program *program = NULL;
	struct clew_what_if result;
	double begin = now();
	int r = model ? clew_program_compile(text, sizeof(text) - 1, false, &program, &error)
		      : -ENOMEM;

	if (r == 0)
		r = clew_what_if(model, program, NULL, &after, &result, &error);
	if (r < 0) {
		fprintf(stderr, "analyse: what_if: %s %s\n", strerror(-r), error.message);
		return 3;
	}
	printf(",\"what_if\":{\"seconds\":%.6f", now() - begin);
	clew_model_free(after);
	begin = now();
	r = clew_what_if(model, program, NULL, NULL, &result, &error);
	printf("},\"times_alone\":{\"seconds\":%.6f}", now() - begin);
	clew_program_free(program);
	if (r == 0)
		r = time_cpus(model);
	clew_model_free(model);
	return r < 0 ? 3 : 0;
}

static int time_check(const struct clew_model *arrays)
{
	struct clew_model *model = full(arrays);
	struct clew_problem *problems = NULL;
	double begin = now();
	size_t count = 0;
	int r = model ? clew_model_check(model, true, &problems, &count) : -ENOMEM;

	if (r == 0)
		printf(",\"check\":{\"seconds\":%.6f,\"problems\":%zu}", now() - begin, count);
	else
		fprintf(stderr, "analyse: check: %s\n", strerror(-r));
	free(problems);
	clew_model_free(model);
	return r < 0 ? 3 : 0;
}

int main(int argc, char **argv)
{
	struct clew_model model;
	int status = 0;

	if (argc != 3) {
		fputs("usage: analyse ITEM COUNT\n", stderr);
		return 2;
	}
	make(&model, (uint32_t)strtoul(argv[2], NULL, 10));
	printf("{\"es\":%" PRIu32 ",\"dependencies\":%" PRIu32, model.es_count,
	       model.dependency_count);
	for (unsigned i = 0; i < CLEW_STRATEGY_COUNT && !strcmp(argv[1], "path"); i++)
		status = time_path(&model, i) ?: status;
	if (!strcmp(argv[1], "slack"))
		status = time_slack(&model);
	if (!strcmp(argv[1], "blame"))
		status = time_blame(&model);
	if (!strcmp(argv[1], "what_if"))
		status = time_what_if(&model);
	if (!strcmp(argv[1], "check"))
		status = time_check(&model);
	puts("}");
	return status;
}
