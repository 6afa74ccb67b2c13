/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists operations by the name of their class. */
#include "compare/timed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "compare/compare.h"
#include "words/match.h"

#define MOST_OTHERS 3

/* A name that fits. */
struct named {
	char *name;
	uint64_t ns;
	size_t number; /* of the class, or hash of the name */
};

struct naming {
	struct vector all; /* struct named */
	struct map places; /* hash of a name -> place, and 1 */
};

static void naming_done(struct naming *naming)
{
	struct named *all = naming->all.data;

	for (size_t i = 0; i < naming->all.count; i++)
		free(all[i].name);
	vector_done(&naming->all);
	map_done(&naming->places);
}

/* Takes ownership of `name`. */
static int add_name(struct naming *naming, char *name, uint64_t ns, size_t number)
{
	if (!name || vector_reserve(&naming->all, naming->all.count + 1) < 0) {
		free(name);
		return -ENOMEM;
	}
	((struct named *)naming->all.data)[naming->all.count++] =
		(struct named){.name = name, .ns = ns, .number = number};
	return 0;
}

static int most_first(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Chooses the name with most time. *ret_chosen: NULL if none fits. */
static int choose(struct naming *naming, struct timed *timed, const struct named **ret_chosen)
{
	struct named *all = naming->all.data;
	char *text = NULL;
	size_t size, count = naming->all.count;
	FILE *out;

	*ret_chosen = NULL;
	if (!count)
		return 0;
	qsort(all, count, sizeof(*all), most_first);
	timed->name = strdup(all[0].name);
	*ret_chosen = &all[0];
	out = count > 1 ? open_memstream(&text, &size) : NULL;
	for (size_t i = 1; out && i < count && i <= MOST_OTHERS; i++)
		fprintf(out, "%s%s", i > 1 ? ", " : "", all[i].name);
	if (out && count > MOST_OTHERS + 1)
		fprintf(out, " and %zu more", count - MOST_OTHERS - 1);
	if (!timed->name || (count > 1 && (!out || fclose(out) != 0))) {
		free(text);
		return -ENOMEM;
	}
	timed->others = text;
	return 0;
}

static int add(struct timed *timed, const struct clew_trace *trace, uint64_t from, uint64_t to,
	       uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	if (vector_reserve(&timed->all, timed->all.count + 1) < 0)
		return -ENOMEM;
	((struct timed_operation *)timed->all.data)[timed->all.count++] =
		(struct timed_operation){.from = from, .to = to, .tid = task ? task->tid : 0};
	return 0;
}

/* ---- classes ---- */

static int name_classes(const struct clew_trace *trace, const struct clew_operation_classes *found,
			const char *words, struct naming *naming)
{
	int r = 0;

	for (size_t i = 0; i < found->class_count && r == 0; i++) {
		char *name = compare_class_name(trace, found, i);

		if (name && !compare_fits(words, name))
			free(name);
		else
			r = add_name(naming, name, found->classes[i].sum, i);
	}
	return r;
}

static int add_class(struct timed *timed, const struct clew_trace *trace,
		     const struct clew_operation_classes *found, size_t class)
{
	const struct clew_operation_class *it = &found->classes[class];
	int r = 0;

	for (size_t i = it->first; i < it->first + it->count && r == 0; i++) {
		const struct clew_kind_operation *one = &found->operations[i];

		if (!one->begun_before && !one->goes_on)
			r = add(timed, trace, one->operation.from, one->operation.to,
				one->operation.task);
	}
	return r;
}

int timed_find_class(const struct clew_trace *trace, const struct clew_chosen *chosen,
		     const char *words, struct timed *ret_timed)
{
	struct clew_operation_classes found;
	const struct named *one = NULL;
	struct naming naming = {.all.item = sizeof(struct named)};
	int r = clew_classes_find(trace, chosen, clew_trace_start(trace), clew_trace_end(trace),
				  &found);

	*ret_timed = (struct timed){.all.item = sizeof(struct timed_operation)};
	if (r < 0)
		return r;
	r = name_classes(trace, &found, words, &naming);
	if (r == 0)
		r = choose(&naming, ret_timed, &one);
	if (r == 0 && one)
		r = add_class(ret_timed, trace, &found, one->number);
	naming_done(&naming);
	clew_classes_done(&found);
	return r;
}

/* ---- announced calls ---- */

/* True if a call is one of the name, from its begin to its end. */
static bool is_one(const struct clew_relations *relations, const struct clew_chosen *chosen,
		   const char *name, const struct clew_activity *activity)
{
	return activity->part != CLEW_ACTIVITY_RUN && activity->end != CLEW_TIME_OPEN &&
	       clew_is_chosen(chosen, clew_relations_trace(relations), activity->task) &&
	       clew_match_activity(name, activity);
}

static int name_call(struct naming *naming, const struct clew_activity *activity)
{
	char *name;
	uint64_t key;
	const uint64_t *known;

	if (asprintf(&name, "%s.%s", activity->interface, activity->operation) < 0)
		return -ENOMEM;
	key = hash_text(HASH_SEED, name);
	known = map_get(&naming->places, key, 0);
	if (known) {
		((struct named *)naming->all.data)[*known - 1].ns +=
			activity->end - activity->begin;
		free(name);
		return 0;
	}
	if (map_set(&naming->places, key, 0, naming->all.count + 1) < 0) {
		free(name);
		return -ENOMEM;
	}
	return add_name(naming, name, activity->end - activity->begin, key);
}

static bool is_called(const struct clew_activity *activity, const char *name)
{
	size_t length = strlen(activity->interface);

	return !strncmp(name, activity->interface, length) && name[length] == '.' &&
	       !strcmp(name + length + 1, activity->operation);
}

int timed_find_calls(const struct clew_relations *relations, const struct clew_chosen *chosen,
		     const char *name, struct timed *ret_timed)
{
	struct naming naming = {.all.item = sizeof(struct named)};
	const struct clew_trace *trace = clew_relations_trace(relations);
	const struct named *one = NULL;
	size_t count;
	const struct clew_activity *all = clew_relations_activities(relations, &count);
	int r = 0;

	*ret_timed = (struct timed){.all.item = sizeof(struct timed_operation)};
	for (size_t i = 0; i < count && r == 0; i++)
		if (is_one(relations, chosen, name, &all[i]))
			r = name_call(&naming, &all[i]);
	if (r == 0)
		r = choose(&naming, ret_timed, &one);
	for (size_t i = 0; one && i < count && r == 0; i++)
		if (is_one(relations, chosen, name, &all[i]) && is_called(&all[i], one->name))
			r = add(ret_timed, trace, all[i].begin, all[i].end, all[i].task);
	naming_done(&naming);
	return r;
}

void timed_done(struct timed *timed)
{
	vector_done(&timed->all);
	free(timed->name);
	free(timed->others);
}
