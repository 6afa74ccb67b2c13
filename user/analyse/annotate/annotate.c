/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks where dependencies begin and end. No ES is divided by a mark, so all that changes
 * are the marks and which of them each ES has.
 */
#include "model/make_internal.h"
#include <clew/annotate.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/program_text.h"

struct rule {
	size_t offset, size; /* of its text, without the semicolon */
	bool incoming;
	size_t types_at, types_size; /* a list; size 0: all */
	struct clew_query *spans;
	size_t spans_at;
	char *label;
};

struct clew_annotation {
	char *text;
	struct rule *rules;
	uint32_t count;
};

/* ---- the text ---- */

void clew_annotation_free(struct clew_annotation *rules)
{
	if (!rules)
		return;
	for (uint32_t i = 0; i < rules->count; i++) {
		clew_query_free(rules->rules[i].spans);
		free(rules->rules[i].label);
	}
	free(rules->rules);
	free(rules->text);
	free(rules);
}

uint32_t clew_annotation_count(const struct clew_annotation *rules)
{
	return rules->count;
}

void clew_annotation_rule(const struct clew_annotation *rules, uint32_t rule, size_t *ret_offset,
			  size_t *ret_size)
{
	*ret_offset = rules->rules[rule].offset;
	*ret_size = rules->rules[rule].size;
}

static int parse_rule(struct program_text *p, struct clew_annotation *rules)
{
	struct rule *rule = reallocarray(rules->rules, rules->count + 1, sizeof(*rule));
	int r;

	if (!rule)
		return -ENOMEM;
	rules->rules = rule;
	rule += rules->count++;
	*rule = (struct rule){.offset = p->at};
	r = program_want(p, "mark");
	if (r == 0)
		r = program_skip(p);
	if (r < 0)
		return r;
	rule->incoming = program_take(p, "incoming");
	if (!rule->incoming && !program_take(p, "outgoing"))
		return program_fail(p, p->at,
				    "neither 'incoming' nor 'outgoing': write one of them");
	r = program_types(p, "dependencies", &rule->types_at, &rule->types_size);
	if (r == 0)
		r = program_want(p, "of");
	if (r == 0)
		r = program_query(p, "spans", false, &rule->spans, &rule->spans_at);
	if (r == 0)
		r = program_want(p, "as");
	if (r == 0)
		r = program_name(p, "label", &rule->label);
	rule->size = p->at - rule->offset;
	return r < 0 ? r : program_end_statement(p);
}

int clew_annotation_compile(const char *text, size_t size, struct clew_annotation **ret_rules,
			    struct clew_query_error *ret_error)
{
	struct clew_annotation *rules = calloc(1, sizeof(*rules));
	struct program_text p = {.size = size, .error = ret_error};
	int r = 0;

	if (!rules)
		return -ENOMEM;
	rules->text = malloc(size + 1);
	if (rules->text) {
		if (size)
			memcpy(rules->text, text, size);
		rules->text[size] = '\0';
		p.text = rules->text;
		for (r = program_skip(&p); r == 0 && p.at < size;)
			r = parse_rule(&p, rules);
	} else {
		r = -ENOMEM;
	}
	if (r < 0) {
		clew_annotation_free(rules);
		return r;
	}
	*ret_rules = rules;
	return 0;
}

/* ---- where the marks go ---- */

/* A mark to be made: number `number` of a rule in a span. */
struct pending {
	clew_time at;
	uint32_t es;
	uint32_t rule, number;
};

/* A rule and a trace. */
struct bound_rule {
	uint8_t *spans, *types; /* whether each is meant */
	struct vector labels;	/* uint32_t: strings of the new model, by number */
};

struct annotation {
	const struct clew_model *model;
	const struct clew_annotation *rules;
	struct clew_query_error *error;
	struct bound_rule *bound;
	struct vector pending, es, marks;
};

static int fail(struct annotation *a, size_t at, const char *message)
{
	a->error->offset = at;
	snprintf(a->error->message, sizeof(a->error->message), "%s", message);
	return -EINVAL;
}

static int bind_types(struct annotation *a, const struct rule *rule, struct bound_rule *bound)
{
	const struct clew_model *model = a->model;

	bound->types = calloc((size_t)model->type_count + 1, 1);
	if (!bound->types)
		return -ENOMEM;
	if (!rule->types_size)
		memset(bound->types, 1, model->type_count);
	for (size_t at = rule->types_at, end = at + rule->types_size; at < end;) {
		const char *text = a->rules->text;
		size_t first = at, last;
		bool known = false;

		while (at < end && text[at] != ',')
			at++;
		for (last = at++;
		     last > first &&
		     (text[last - 1] == ' ' || text[last - 1] == '\n' || text[last - 1] == '\t');)
			last--;
		while (first < last &&
		       (text[first] == ' ' || text[first] == '\n' || text[first] == '\t'))
			first++;
		for (uint32_t i = 0; i < model->type_count; i++) {
			const char *name = clew_model_string(model, model->types[i]);

			if (strlen(name) == last - first &&
			    !memcmp(name, text + first, last - first))
				bound->types[i] = known = true;
		}
		if (!known)
			return fail(a, first,
				    "the trace has no dependency of that type: see what there is "
				    "with `clew dump`");
	}
	return 0;
}

static int bind_spans(struct annotation *a, const struct rule *rule,
		      const struct clew_query_options *options, struct bound_rule *bound)
{
	uint32_t *spans = NULL;
	size_t count = 0;
	int r;

	bound->spans = calloc((size_t)a->model->span_count + 1, 1);
	if (!bound->spans)
		return -ENOMEM;
	if ((options ? options->hierarchy == CLEW_NONE : !a->model->hierarchy_count) &&
	    clew_query_has_categories(rule->spans))
		return fail(a, rule->spans_at,
			    "the trace has no hierarchy of categories: leave out what stands "
			    "before the >");
	r = clew_query_spans(rule->spans, a->model, options, &spans, &count);
	for (size_t i = 0; i < count && r == 0; i++)
		bound->spans[spans[i]] = 1;
	free(spans);
	return r == -E2BIG
		       ? fail(a, rule->spans_at,
			      "a regular expression takes too much to decide: write a simpler one")
		       : r;
}

static int mark_span(struct annotation *a, uint32_t number, uint32_t span)
{
	const struct clew_model *model = a->model;
	const struct bound_rule *bound = &a->bound[number];
	struct clew_range range = model->spans[span].elementary;
	bool incoming = a->rules->rules[number].incoming;
	uint32_t first = range.first, count = 0;

	for (uint32_t i = range.first; i < range.first + range.count; i++) {
		const struct clew_es *es = &model->es[i];
		uint32_t dependency = incoming ? es->in : es->out;
		clew_time at = incoming ? es->start : es->end;

		if (dependency == CLEW_NONE || !bound->types[model->dependencies[dependency].type])
			continue;
		/* The first one that ends then or later. */
		while (first < i && model->es[first].end < at)
			first++;
		if (vector_reserve(&a->pending, a->pending.count + 1) < 0)
			return -ENOMEM;
		((struct pending *)a->pending.data)[a->pending.count++] =
			(struct pending){.at = at, .es = first, .rule = number, .number = count++};
	}
	return 0;
}

/* In the order in which marks are kept: of one moment the newest comes first. */
static int compare(const void *one, const void *other)
{
	const struct pending *a = one, *b = other;

	if (a->es != b->es)
		return a->es < b->es ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->rule != b->rule)
		return a->rule > b->rule ? -1 : 1;
	return a->number > b->number ? -1 : a->number < b->number;
}

static void order(struct pending *pending, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (compare(&pending[i - 1], &pending[i]) > 0) {
			qsort(pending, count, sizeof(*pending), compare);
			return;
		}
}

static int find_all(struct annotation *a)
{
	int r = 0;

	for (uint32_t span = 0; span < a->model->span_count && r == 0; span++) {
		size_t before = a->pending.count;

		for (uint32_t i = 0; i < a->rules->count && r == 0; i++)
			if (a->bound[i].spans[span])
				r = mark_span(a, i, span);
		if (a->pending.count > before)
			order((struct pending *)a->pending.data + before,
			      a->pending.count - before);
	}
	order(a->pending.data, a->pending.count);
	return r < 0 || a->pending.count < CLEW_NONE - 1 - a->model->mark_count ? r : -E2BIG;
}

/* ---- the new model ---- */

/* The old marks and the new ones; the label of those is the number of one of `pending`, until the
 * strings are there. */
static int merge(struct annotation *a, uint32_t *place)
{
	const struct clew_model *model = a->model;
	const struct pending *pending = a->pending.data, *next = pending;
	const struct pending *end = pending ? pending + a->pending.count : NULL;
	struct clew_mark *marks;
	struct clew_es *es;

	if (vector_reserve(&a->es, model->es_count) < 0 ||
	    vector_reserve(&a->marks, model->mark_count + a->pending.count) < 0)
		return -ENOMEM;
	marks = a->marks.data;
	es = a->es.data;
	for (uint32_t i = 0; i < model->es_count; i++) {
		struct clew_range old = clew_model_marks(model, i);

		es[i] = model->es[i];
		es[i].mark = (uint32_t)a->marks.count;
		for (uint32_t j = old.first;
		     j < old.first + old.count || (next < end && next->es == i);) {
			bool is_new =
				next < end && next->es == i &&
				(j == old.first + old.count || next->at <= model->marks[j].at);

			if (!is_new) {
				marks[a->marks.count++] = model->marks[j++];
				continue;
			}
			place[next - pending] = (uint32_t)a->marks.count;
			marks[a->marks.count++] =
				(struct clew_mark){.at = next->at, .label = model->types[0]};
			next++;
		}
	}
	return 0;
}

static int name_mark(struct annotation *a, struct strings *strings, const struct pending *pending,
		     uint32_t *ret_label)
{
	struct vector *labels = &a->bound[pending->rule].labels;
	char *text;
	int r;

	if (vector_reserve(labels, (size_t)pending->number + 1) < 0)
		return -ENOMEM;
	*ret_label = ((uint32_t *)labels->data)[pending->number];
	if (*ret_label)
		return 0;
	if (asprintf(&text, "%s%u", a->rules->rules[pending->rule].label, pending->number) < 0)
		return -ENOMEM;
	r = strings_add(strings, text, ret_label);
	free(text);
	((uint32_t *)labels->data)[pending->number] = *ret_label;
	return r;
}

static int make(struct annotation *a, uint32_t *place, struct clew_model **ret_model)
{
	struct clew_model arrays = *a->model, *model;
	struct clew_mark *marks;
	int r = merge(a, place);

	if (r < 0)
		return r;
	arrays.es = a->es.data;
	arrays.marks = a->marks.data;
	arrays.mark_count = (uint32_t)a->marks.count;
	arrays.waits = NULL;
	arrays.types = NULL;
	arrays.attribute_lists = NULL;
	arrays.categories = NULL;
	r = model_from_arrays(a->model, &arrays, &a->es, &model);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	marks = model_column(model, COLUMN_MARK)->data;
	for (size_t i = 0; i < a->pending.count && r == 0; i++)
		r = name_mark(a, model_strings(model), (const struct pending *)a->pending.data + i,
			      &marks[place[i]].label);
	if (r < 0)
		clew_model_free(model);
	else
		*ret_model = model;
	return r;
}

static int run(struct annotation *a, const struct clew_query_options *options,
	       struct clew_model **ret_model)
{
	uint32_t *place;
	int r = 0;

	if (!make_is_right(a->model))
		return -EBADMSG;
	a->bound = calloc((size_t)a->rules->count + 1, sizeof(*a->bound));
	if (!a->bound)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->rules->count && r == 0; i++) {
		a->bound[i].labels.item = sizeof(uint32_t);
		r = bind_types(a, &a->rules->rules[i], &a->bound[i]);
		if (r == 0)
			r = bind_spans(a, &a->rules->rules[i], options, &a->bound[i]);
	}
	if (r == 0)
		r = find_all(a);
	if (r < 0)
		return r;
	place = malloc((a->pending.count + 1) * sizeof(*place));
	r = place ? make(a, place, ret_model) : -ENOMEM;
	free(place);
	return r;
}

int clew_annotate(const struct clew_model *model, const struct clew_annotation *rules,
		  const struct clew_query_options *options, struct clew_model **ret_model,
		  uint64_t *ret_marks, struct clew_query_error *ret_error)
{
	struct annotation a = {
		.model = model,
		.rules = rules,
		.error = ret_error,
		.pending.item = sizeof(struct pending),
		.es.item = sizeof(struct clew_es),
		.marks.item = sizeof(struct clew_mark),
	};
	int r = run(&a, options, ret_model);

	for (uint32_t i = 0; i < rules->count && ret_marks && r == 0; i++)
		ret_marks[i] = 0;
	for (size_t i = 0; i < a.pending.count && ret_marks && r == 0; i++)
		ret_marks[((const struct pending *)a.pending.data)[i].rule]++;
	for (uint32_t i = 0; i < rules->count && a.bound; i++) {
		free(a.bound[i].spans);
		free(a.bound[i].types);
		vector_done(&a.bound[i].labels);
	}
	free(a.bound);
	vector_done(&a.pending);
	vector_done(&a.es);
	vector_done(&a.marks);
	return r;
}
