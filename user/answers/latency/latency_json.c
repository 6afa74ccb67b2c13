/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `latency` as JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "answers/latency/latency.h"
#include "builder/findings.h"
#include "symbol/code/signature.h"

static void json_id(struct clew_json *json, const char *key, uint64_t id)
{
	char text[20];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	clew_json_string(json, key, text);
}

/* The names from the root on. */
static void json_path(struct clew_json *json, const struct clew_latency *latency, uint32_t index)
{
	uint32_t path[CLEW_LATENCY_MOST_DEPTH], depth = 0;

	for (; index != CLEW_NO_NUMBER; index = clew_latency_at(latency, index)->parent)
		path[depth++] = index;
	clew_json_array(json, "path");
	while (depth)
		clew_json_string(json, NULL, clew_latency_at(latency, path[--depth])->name.name);
	clew_json_array_end(json);
}

static void json_times(struct clew_json *json, const struct histogram *times)
{
	static const struct {
		const char *name;
		double share;
	} percentiles[] = {{"p1_ns", .01},  {"p5_ns", .05},   {"p10_ns", .1}, {"p25_ns", .25},
			   {"p50_ns", .5},  {"p75_ns", .75},  {"p90_ns", .9}, {"p95_ns", .95},
			   {"p99_ns", .99}, {"p999_ns", .999}};

	clew_json_unsigned(json, "count", times->count);
	clew_json_unsigned(json, "total_ns", times->sum);
	clew_json_unsigned(json, "mean_ns", (uint64_t)(histogram_mean(times) + .5));
	clew_json_unsigned(json, "stdev_ns", (uint64_t)(histogram_deviation(times) + .5));
	clew_json_unsigned(json, "min_ns", times->least);
	for (unsigned i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		clew_json_unsigned(json, percentiles[i].name,
				   histogram_percentile(times, percentiles[i].share));
	clew_json_unsigned(json, "max_ns", times->greatest);
}

static void json_group(struct clew_json *json, const struct clew_latency *latency, uint32_t index,
		       bool aggregate)
{
	const struct clew_latency_group *group = clew_latency_at(latency, index);

	clew_json_object(json, NULL);
	json_id(json, "id", group->id);
	if (group->parent == CLEW_NO_NUMBER)
		clew_json_null(json, "parent");
	else
		json_id(json, "parent", clew_latency_at(latency, group->parent)->id);
	clew_json_unsigned(json, "depth", group->depth);
	json_path(json, latency, index);
	clew_json_string(json, "place", group->name.place[0] ? group->name.place : NULL);
	if (aggregate)
		clew_json_bool(json, "consistent", !group->several);
	clew_json_object(json, "properties");
	for (unsigned i = 0; i < group->name.property_count; i++)
		clew_json_string(json, group->name.properties[i].name,
				 group->name.properties[i].value);
	clew_json_object_end(json);
	json_times(json, &group->times);
	clew_json_unsigned(json, "probe_ns", group->probe);
	clew_json_object(json, "split");
	for (int i = 0; i < CLEW_SPLIT_COUNT; i++)
		clew_json_unsigned(json, clew_split_name((enum clew_split)i), group->split[i]);
	clew_json_object_end(json);
	clew_json_unsigned(json, "open", group->open);
	clew_json_unsigned(json, "inherited", group->inherited);
	clew_json_object_end(json);
}

/* "thread", or "arg:" and the argument's name. */
static void json_level(struct clew_json *json, const struct clew_latency_options *options)
{
	const char *level = clew_latency_level_name(options->level);
	char text[CLEW_WANTED_NAME + 8];

	snprintf(text, sizeof(text), "%s:%s", level ?: "", options->argument ?: "");
	clew_json_string(json, "group", options->argument ? text : level);
}

int clew_json_latency(struct clew_json *json, const struct clew_latency *latency,
		      const struct clew_latency_options *options, size_t top,
		      const struct clew_latency_left_out *left_out, bool partial)
{
	uint32_t *order;
	size_t count;
	int r = clew_latency_order(latency, &options->view, &order, &count);

	if (r < 0)
		return r;
	clew_json_string(json, "by", clew_latency_by_name(options->by));
	json_level(json, options);
	clew_json_unsigned(json, "digits", latency->digits);
	clew_json_array(json, "groups");
	for (size_t i = 0; i < count && i < top; i++)
		json_group(json, latency, order[i], options->by == CLEW_LATENCY_FUNCTION);
	clew_json_array_end(json);
	clew_json_bool(json, "partial", partial);
	clew_json_unsigned(json, "unplaced", latency->unplaced);
	clew_json_object(json, "left_out");
	clew_json_unsigned(json, "idle", left_out->idle);
	clew_json_unsigned(json, "elsewhere", left_out->elsewhere);
	clew_json_object_end(json);
	free(order);
	return 0;
}
