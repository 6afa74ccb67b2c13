/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up the time of tasks by pod, container or unit. */
#include "answers/report/report_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "words/group.h"

/* The name of a place by which its tasks are added up, and the group of one of them. */
struct place {
	char *name;
	uint64_t group;
	struct report_spent sum;
};

static char *name_of(const struct clew_place *place)
{
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	if (!out)
		return NULL;
	if (place->pod)
		clew_print_pod(out, place);
	else if (place->container)
		clew_print_container(out, place);
	else
		fputs(place->unit, out);
	fclose(out);
	return name;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct place *)left)->name, ((const struct place *)right)->name);
}

static int most_time_first(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->sum.total != b->sum.total)
		return a->sum.total > b->sum.total ? -1 : 1;
	return by_name(a, b);
}

static void add_up(struct report_spent *sum, const struct report_spent *more)
{
	sum->tasks += more->tasks;
	sum->total += more->total;
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++)
		sum->spent[spent] += more->spent[spent];
}

/* A place with the time of one task; the name is NULL where it has none. 0 or -ENOMEM. */
static int place_of(const struct report *report, const struct clew_task_time *time,
		    struct place *ret_place)
{
	const struct clew_trace_task *task = clew_trace_task(report->trace, time->task);
	struct clew_place place;

	*ret_place = (struct place){};
	if (!task || task->flags & CLEW_TASK_SELF ||
	    !clew_place_of(report->trace, task->cgroup, &place))
		return 0;
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++) {
		ret_place->sum.spent[spent] = time->spent[spent];
		ret_place->sum.total += time->spent[spent];
	}
	if (!ret_place->sum.total)
		return 0;
	ret_place->sum.tasks = 1;
	ret_place->group = task->cgroup;
	ret_place->name = name_of(&place);
	return ret_place->name ? 0 : -ENOMEM;
}

static void places_done(struct vector *places)
{
	struct place *all = places->data;

	for (size_t i = 0; i < places->count; i++)
		free(all[i].name);
	vector_done(places);
}

/* Makes one of places of one name. */
static void join(struct vector *places)
{
	struct place *all = places->data;
	size_t count = 0;

	if (places->count)
		qsort(all, places->count, sizeof(*all), by_name);
	for (size_t i = 0; i < places->count; i++) {
		if (count && !strcmp(all[count - 1].name, all[i].name)) {
			add_up(&all[count - 1].sum, &all[i].sum);
			free(all[i].name);
		} else {
			all[count++] = all[i];
		}
	}
	places->count = count;
}

/* For places_done(), also after an error. Most time first. 0 or -ENOMEM. */
static int find_places(const struct report *report, struct vector *ret_places)
{
	const struct vector *times = &report->summary.times.times;
	const struct clew_task_time *all = times->data;
	struct place *found;
	int r = 0;

	*ret_places = (struct vector){.item = sizeof(struct place)};
	for (size_t i = 0; r == 0 && i < times->count; i++) {
		struct place place;

		r = vector_reserve(ret_places, ret_places->count + 1);
		if (r == 0)
			r = place_of(report, &all[i], &place);
		found = ret_places->data;
		if (r == 0 && place.name)
			found[ret_places->count++] = place;
	}
	join(ret_places);
	if (ret_places->count)
		qsort(ret_places->data, ret_places->count, sizeof(*found), most_time_first);
	return r;
}

void report_print_places(FILE *out, const struct report *report, size_t width, bool bars)
{
	struct report_table table = {.heading =
					     "Where the time of each pod, container or unit went",
				     .what = "name (threads)",
				     .width = 36,
				     .more = "of them"};
	struct vector places;
	struct place *all;

	if (find_places(report, &places) == 0 && places.count > 1)
		table.rows = calloc(places.count, sizeof(*table.rows));
	all = places.data;
	for (size_t i = 0; table.rows && i < places.count; i++) {
		table.rows[table.count] = all[i].sum;
		table.rows[table.count++].name = all[i].name;
	}
	if (table.count)
		report_print_table(out, &table, width, bars);
	free(table.rows);
	places_done(&places);
}

void report_json_places(struct clew_json *json, const struct report *report)
{
	struct vector places;
	int r = find_places(report, &places);
	const struct place *all = places.data;

	clew_json_array(json, "places");
	for (size_t i = 0; r == 0 && i < places.count; i++) {
		struct clew_place place;

		clew_place_of(report->trace, all[i].group, &place);
		clew_json_object(json, NULL);
		clew_json_string(json, "pod", place.pod);
		clew_json_string(json, "namespace", place.name_space);
		clew_json_string(json, "container", place.pod ? NULL : place.container);
		clew_json_string(json, "unit", place.unit);
		clew_json_unsigned(json, "tasks", all[i].sum.tasks);
		clew_json_unsigned(json, "total_ns", all[i].sum.total);
		clew_json_object(json, "spent_ns");
		for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++)
			clew_json_unsigned(json, clew_spent_word((enum clew_spent)spent),
					   all[i].sum.spent[spent]);
		clew_json_object_end(json);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	places_done(&places);
}
