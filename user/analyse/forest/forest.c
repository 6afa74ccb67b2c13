/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The spawning forest: one pass over the root spans' ESs counts what each span
 * spawned, a second one writes it down, so that all lists lie in one array.
 */
#include <clew/forest.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct clew_forest {
	uint32_t span_count;
	uint32_t *spawners;   /* of each span; CLEW_NONE */
	uint32_t *spawned_at; /* of each span, its ES; CLEW_NONE */
	uint32_t *begins;     /* of each span and one more: where in `spawned` its root spans are */
	uint32_t *spawned;    /* root spans */
	uint32_t *unspawned;  /* root spans */
	uint32_t unspawned_count;
};

/* The state while a forest is made. */
struct making {
	const struct clew_model *model;
	struct clew_forest *forest;
	const struct clew_forest_rule *
		*rules; /* of each dependency type, NULL: it does not spawn */
	struct clew_forest_problem problem;
	uint32_t *lists; /* of each span, the last root span that it was seen to spawn */
};

size_t clew_forest_default_rules(const struct clew_model *model, struct clew_forest_rule *rules,
				 size_t capacity)
{
	static const char *const names[] = {"spawn", "fork", "submit"};
	size_t count = 0;

	for (uint32_t type = 0; type < model->type_count; type++) {
		const char *name = clew_model_string(model, model->types[type]);

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (strcmp(name, names[i]) != 0)
				continue;
			if (count < capacity)
				rules[count] = (struct clew_forest_rule){.type = type,
									 .several_times = true};
			count++;
		}
	}
	return count;
}

/* True if the spawner has to be listed for this root span: 1, 0 or -EINVAL. */
static int spawns(struct making *making, uint32_t root, uint32_t spawner,
		  const struct clew_forest_rule *rule, bool others_before, uint32_t es)
{
	uint32_t *known = &making->forest->spawners[root], dependency = making->model->es[es].in;

	making->problem =
		(struct clew_forest_problem){.root = root,
					     .dependency = dependency,
					     .not_first = others_before && rule->first_only};
	if (making->problem.not_first)
		return -EINVAL;
	if (*known == CLEW_NONE) {
		*known = spawner;
		making->forest->spawned_at[root] = es;
	} else if (*known != spawner && !rule->several_times) {
		return -EINVAL;
	}
	if (making->lists[spawner] == root)
		return 0;
	making->lists[spawner] = root;
	return 1;
}

/* Counts in begins[spawner + 1], or with `fill` writes at begins[spawner] and moves that. */
static int look_at(struct making *making, uint32_t root, bool fill)
{
	const struct clew_model *model = making->model;
	const struct clew_range *range = &model->spans[root].elementary;
	struct clew_forest *forest = making->forest;
	bool others_before = false;

	for (uint32_t es = range->first; es < range->first + range->count; es++) {
		uint32_t dependency = model->es[es].in, trigger;
		const struct clew_forest_rule *rule;

		if (dependency == CLEW_NONE)
			continue;
		rule = making->rules[model->dependencies[dependency].type];
		trigger = rule ? clew_model_trigger(model, dependency) : CLEW_NONE;
		if (trigger != CLEW_NONE) {
			uint32_t spawner = model->es[trigger].span;
			int r = spawns(making, root, spawner, rule, others_before, es);

			if (r < 0)
				return r;
			if (r > 0 && fill)
				forest->spawned[forest->begins[spawner]++] = root;
			else if (r > 0)
				forest->begins[spawner + 1]++;
		}
		others_before = true;
	}
	return 0;
}

static int look_at_all(struct making *making, bool fill)
{
	const struct clew_model *model = making->model;

	memset(making->lists, 0xff, ((size_t)model->span_count + 1) * sizeof(*making->lists));
	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling) {
		int r = look_at(making, root, fill);

		if (r < 0)
			return r;
		if (fill && making->forest->spawners[root] == CLEW_NONE)
			making->forest->unspawned[making->forest->unspawned_count++] = root;
	}
	return 0;
}

static int fill_lists(struct making *making)
{
	struct clew_forest *forest = making->forest;
	uint32_t count = making->model->span_count, total;
	int r = look_at_all(making, false);

	if (r < 0)
		return r;
	for (uint32_t span = 0; span < count; span++)
		forest->begins[span + 1] += forest->begins[span];
	total = forest->begins[count];
	forest->spawned = malloc(((size_t)total + 1) * sizeof(*forest->spawned));
	if (!forest->spawned)
		return -ENOMEM;
	r = look_at_all(making, true);
	/* Each begin was moved to its end, which is the next one's begin. */
	memmove(forest->begins + 1, forest->begins, count * sizeof(*forest->begins));
	forest->begins[0] = 0;
	return r;
}

static int make(struct making *making, const struct clew_forest_rule *rules, size_t rule_count)
{
	size_t spans = (size_t)making->model->span_count + 1;
	struct clew_forest *forest = making->forest;

	forest->span_count = making->model->span_count;
	forest->spawners = malloc(spans * sizeof(*forest->spawners));
	forest->spawned_at = malloc(spans * sizeof(*forest->spawned_at));
	forest->begins = calloc(spans, sizeof(*forest->begins));
	forest->unspawned = malloc(spans * sizeof(*forest->unspawned));
	making->lists = malloc(spans * sizeof(*making->lists));
	making->rules = calloc((size_t)making->model->type_count + 1, sizeof(*making->rules));
	if (!forest->spawners || !forest->spawned_at || !forest->begins || !forest->unspawned ||
	    !making->lists || !making->rules)
		return -ENOMEM;
	memset(forest->spawners, 0xff, spans * sizeof(*forest->spawners));
	memset(forest->spawned_at, 0xff, spans * sizeof(*forest->spawned_at));
	for (size_t i = 0; i < rule_count; i++)
		if (rules[i].type < making->model->type_count)
			making->rules[rules[i].type] = &rules[i];
	return fill_lists(making);
}

int clew_forest_new(const struct clew_model *model, const struct clew_forest_rule *rules,
		    size_t rule_count, struct clew_forest **ret_forest,
		    struct clew_forest_problem *ret_problem)
{
	enum { MOST_DEFAULT_RULES = 3 };
	struct clew_forest_rule defaults[MOST_DEFAULT_RULES];
	struct making making = {.model = model, .forest = calloc(1, sizeof(*making.forest))};
	int r;

	if (!making.forest)
		return -ENOMEM;
	if (!rules) {
		rule_count = clew_forest_default_rules(model, defaults, MOST_DEFAULT_RULES);
		rules = defaults;
	}
	r = make(&making, rules, rule_count);
	free(making.lists);
	free(making.rules);
	if (r < 0) {
		if (r == -EINVAL && ret_problem)
			*ret_problem = making.problem;
		clew_forest_free(making.forest);
		return r;
	}
	*ret_forest = making.forest;
	return 0;
}

void clew_forest_free(struct clew_forest *forest)
{
	if (!forest)
		return;
	free(forest->spawners);
	free(forest->spawned_at);
	free(forest->begins);
	free(forest->spawned);
	free(forest->unspawned);
	free(forest);
}

uint32_t clew_forest_spawner(const struct clew_forest *forest, uint32_t root)
{
	return root < forest->span_count ? forest->spawners[root] : CLEW_NONE;
}

uint32_t clew_forest_spawned_at(const struct clew_forest *forest, uint32_t root)
{
	return root < forest->span_count ? forest->spawned_at[root] : CLEW_NONE;
}

const uint32_t *clew_forest_spawned(const struct clew_forest *forest, uint32_t span,
				    uint32_t *ret_count)
{
	*ret_count =
		span < forest->span_count ? forest->begins[span + 1] - forest->begins[span] : 0;
	return span < forest->span_count ? forest->spawned + forest->begins[span] : forest->spawned;
}

const uint32_t *clew_forest_unspawned(const struct clew_forest *forest, uint32_t *ret_count)
{
	*ret_count = forest->unspawned_count;
	return forest->unspawned;
}
