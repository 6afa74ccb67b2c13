/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the nodes of a tree that a path selects: spans or categories, by their names.
 *
 * The path is tried on groups of siblings. A group is looked at whole before the
 * children of its nodes are, node after node; that gives the order of the result.
 * Work that is left lies on a stack of our own, for trees may be deep.
 *
 * Only from its second "any number of levels" on can a path come by one group
 * twice in the same state; what was done there is remembered then, and a path
 * takes as many steps as there are nodes, at most, for each of its fragments.
 */
#include "query/internal.h"
#include <stdlib.h>
#include <string.h>

/* A fragment in one trace. */
struct step {
	enum fragment_kind kind;
	uint32_t string; /* of a name; CLEW_NONE: the trace has no such one */
	const struct regex *regex;
	struct known *known;
	uint64_t *visited; /* nodes whose children this step was tried on; NULL: it comes by only
			      once */
	bool rest_is_any;  /* what follows is nothing but any number of levels, so that the node
			      itself is selected too */
};

/* The answers of a regular expression about each string: 0 not asked yet, 1 no, 2 yes. */
struct known {
	uint8_t *answers;
	size_t capacity;
};

/* Where a tree has what the search needs of a node. */
struct tree {
	const char *nodes;
	size_t size;
	size_t name;
	size_t first_child;
	size_t next_sibling;
	uint32_t count;
};

enum work_kind {
	WORK_GROUP,    /* try a step on a node and those after it in its group */
	WORK_CHILDREN, /* try a step on the children of a node, and of those after it */
	WORK_MATCHING, /* the same, but only of nodes that the step before selects */
};

/* `at`: a node, or where the group is a list of roots the number of one. */
struct work {
	uint32_t at;
	uint32_t step;
	uint8_t kind;
	bool listed;
};

struct search {
	struct evaluation *evaluation;
	struct tree tree;
	const struct list *roots;
	struct step *steps;
	struct known *known;
	uint32_t step_count;
	uint64_t *selected; /* nodes; NULL: none can be selected twice */
	struct work *stack;
	size_t depth, capacity;
	struct list *result;
};

int query_list_grow(struct list *list)
{
	size_t capacity = list->capacity ? 2 * list->capacity : 16;
	uint32_t *items = realloc(list->items, capacity * sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	list->capacity = capacity;
	return 0;
}

static inline uint32_t field(const struct tree *tree, uint32_t node, size_t offset)
{
	return *(const uint32_t *)(tree->nodes + node * tree->size + offset);
}

static inline bool has(const uint64_t *set, uint32_t node)
{
	return set[node / 64] >> node % 64 & 1;
}

static inline void put(uint64_t *set, uint32_t node)
{
	set[node / 64] |= UINT64_C(1) << node % 64;
}

static inline bool at_end(const struct search *search, const struct work *work)
{
	return work->listed ? work->at >= search->roots->count : work->at == CLEW_NONE;
}

static inline uint32_t node_of(const struct search *search, const struct work *work)
{
	return work->listed ? search->roots->items[work->at] : work->at;
}

static inline void go_on(const struct search *search, struct work *work)
{
	work->at = work->listed ? work->at + 1
				: field(&search->tree, work->at, search->tree.next_sibling);
}

static int push(struct search *search, struct work work)
{
	if (search->depth == search->capacity) {
		size_t capacity = search->capacity ? 2 * search->capacity : 64;
		struct work *stack = realloc(search->stack, capacity * sizeof(*stack));

		if (!stack)
			return -ENOMEM;
		search->stack = stack;
		search->capacity = capacity;
	}
	search->stack[search->depth++] = work;
	return 0;
}

/* 1, 0 or -errno. */
static int ask(struct search *search, const struct step *step, uint32_t string)
{
	struct known *known = step->known;
	int r;

	if (string >= known->capacity) {
		size_t capacity = known->capacity ? known->capacity : 1024;
		uint8_t *answers;

		while (capacity <= string)
			capacity *= 2;
		answers = realloc(known->answers, capacity);
		if (!answers)
			return -ENOMEM;
		memset(answers + known->capacity, 0, capacity - known->capacity);
		known->answers = answers;
		known->capacity = capacity;
	}
	if (known->answers[string])
		return known->answers[string] - 1;
	r = regex_matches(step->regex, search->evaluation->scratch,
			  clew_model_string(search->evaluation->model, string));
	if (r >= 0)
		known->answers[string] = (uint8_t)(r + 1);
	return r;
}

/* True if a step that goes down one level selects a node: 1, 0 or -errno. */
static inline int matches(struct search *search, const struct step *step, uint32_t node)
{
	uint32_t string;

	if (step->kind == FRAGMENT_ONE)
		return 1;
	string = field(&search->tree, node, search->tree.name);
	return step->kind == FRAGMENT_NAME ? string == step->string : ask(search, step, string);
}

static inline int choose(struct search *search, uint32_t node)
{
	if (search->selected) {
		if (has(search->selected, node))
			return 0;
		put(search->selected, node);
	}
	return query_list_append(search->result, node);
}

static int try_levels(struct search *search, struct work work)
{
	bool last = work.step + 1 == search->step_count;
	int r;

	r = push(search, (struct work){work.at, work.step, WORK_CHILDREN, work.listed});
	if (r < 0)
		return r;
	if (!last)
		return push(search, (struct work){work.at, work.step + 1, WORK_GROUP, work.listed});
	for (; r == 0 && !at_end(search, &work); go_on(search, &work))
		r = choose(search, node_of(search, &work));
	return r;
}

static int try_one_level(struct search *search, struct work work)
{
	const struct step *step = &search->steps[work.step];
	bool last = work.step + 1 == search->step_count;
	int r = 0;

	if (!last && step->kind == FRAGMENT_NAME && step->string == CLEW_NONE)
		return 0;
	if (!last)
		r = push(search, (struct work){work.at, work.step + 1, WORK_MATCHING, work.listed});
	if (!last && !step->rest_is_any)
		return r;
	for (; r == 0 && !at_end(search, &work); go_on(search, &work)) {
		uint32_t node = node_of(search, &work);

		r = matches(search, step, node);
		if (r > 0)
			r = choose(search, node);
	}
	return r;
}

/* The next node whose children there are, then the rest of the group. */
static int descend(struct search *search, struct work work)
{
	const struct step *step = &search->steps[work.step];

	for (; !at_end(search, &work); go_on(search, &work)) {
		uint32_t node = node_of(search, &work),
			 child = field(&search->tree, node, search->tree.first_child);
		int r = 1;

		if (child == CLEW_NONE)
			continue;
		if (work.kind == WORK_MATCHING)
			r = matches(search, step - 1, node);
		if (r < 0)
			return r;
		if (r == 0 || (step->visited && has(step->visited, node)))
			continue;
		if (step->visited)
			put(step->visited, node);
		go_on(search, &work);
		r = push(search, work);
		return r < 0 ? r : push(search, (struct work){child, work.step, WORK_GROUP, false});
	}
	return 0;
}

static int run(struct search *search, uint32_t first)
{
	int r = push(search, (struct work){first, 0, WORK_GROUP, search->roots != NULL});

	while (r == 0 && search->depth > 0) {
		struct work work = search->stack[--search->depth];

		if (work.kind != WORK_GROUP)
			r = descend(search, work);
		else if (search->steps[work.step].kind == FRAGMENT_LEVELS)
			r = try_levels(search, work);
		else
			r = try_one_level(search, work);
	}
	return r;
}

static uint64_t *new_set(uint32_t count)
{
	return calloc(count / 64 + 1, sizeof(uint64_t));
}

static int prepare(struct search *search, const struct path *path)
{
	const struct fragment *fragment = path->first;
	uint32_t levels = 0;

	search->step_count = (uint32_t)path->count;
	search->steps = calloc(path->count, sizeof(*search->steps));
	search->known = calloc(path->count, sizeof(*search->known));
	if (!search->steps || !search->known)
		return -ENOMEM;
	for (uint32_t i = 0; i < search->step_count; i++, fragment = fragment->next) {
		struct step *step = &search->steps[i];

		step->kind = fragment->kind;
		step->regex = fragment->regex;
		step->known = &search->known[i];
		step->rest_is_any = fragment->next && fragment->next->kind == FRAGMENT_LEVELS &&
				    !fragment->next->next;
		if (fragment->kind == FRAGMENT_NAME)
			step->string =
				clew_model_find_string(search->evaluation->model, fragment->name);
		if (fragment->kind == FRAGMENT_LEVELS && levels++ > 0) {
			step->visited = new_set(search->tree.count);
			if (!step->visited)
				return -ENOMEM;
		}
	}
	if (levels > 1) {
		search->selected = new_set(search->tree.count);
		if (!search->selected)
			return -ENOMEM;
	}
	return 0;
}

static int search_tree(struct search *search, const struct path *path, uint32_t first)
{
	int r = prepare(search, path);

	if (r == 0)
		r = run(search, first);
	for (uint32_t i = 0; i < search->step_count; i++) {
		if (search->steps)
			free(search->steps[i].visited);
		if (search->known)
			free(search->known[i].answers);
	}
	free(search->steps);
	free(search->known);
	free(search->selected);
	free(search->stack);
	return r;
}

int query_match_spans(struct evaluation *evaluation, const struct path *path,
		      const struct list *roots, struct list *spans)
{
	const struct clew_model *model = evaluation->model;
	struct search search = {
		.evaluation = evaluation,
		.roots = roots,
		.result = spans,
		.tree = {(const char *)model->spans, sizeof(*model->spans),
			 offsetof(struct clew_span, name), offsetof(struct clew_span, first_child),
			 offsetof(struct clew_span, next_sibling), model->span_count},
	};

	return search_tree(&search, path, roots ? 0 : model->first_root);
}

int query_match_categories(struct evaluation *evaluation, const struct path *path,
			   struct list *categories)
{
	const struct clew_model *model = evaluation->model;
	struct search search = {
		.evaluation = evaluation,
		.result = categories,
		.tree = {(const char *)model->categories, sizeof(*model->categories),
			 offsetof(struct clew_category, name),
			 offsetof(struct clew_category, first_child),
			 offsetof(struct clew_category, next_sibling), model->category_count},
	};

	return search_tree(&search, path, clew_model_root_category(model, evaluation->hierarchy));
}
