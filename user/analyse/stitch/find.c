/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Resolves statements in each trace as it is: by its own names and from its own start.
 */
#include <clew/tokens.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyse/stitch/internal.h"

int stitch_fail(struct stitch *s, size_t at, const char *format, ...)
{
	va_list arguments;

	s->error->offset = at;
	va_start(arguments, format);
	vsnprintf(s->error->message, sizeof(s->error->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static int add_end(struct stitch *s, uint32_t trace, uint32_t span, clew_time at)
{
	if (s->ends.count >= CLEW_NONE - 1)
		return -E2BIG;
	if (vector_reserve(&s->ends, s->ends.count + 1) < 0)
		return -ENOMEM;
	((struct stitch_end *)s->ends.data)[s->ends.count++] =
		(struct stitch_end){.trace = trace, .span = span, .at = at};
	return 0;
}

/* A dependency of the last ends. */
static int add_dependency(struct stitch *s, const struct stitch_added *added)
{
	const struct stitch_end *ends = (const struct stitch_end *)s->ends.data + added->first;
	struct stitch_statement *statement = &s->program->statements[added->statement];

	if (vector_reserve(&s->added, s->added.count + 1) < 0)
		return -ENOMEM;
	((struct stitch_added *)s->added.data)[s->added.count++] = *added;
	s->result->counts[added->statement].dependencies++;
	return stitch_note(s, statement->mode, ends, added->origins, ends + added->origins,
			   added->destinations);
}

static bool is_meant(const struct stitch_side *side, uint32_t trace)
{
	return side->trace == CLEW_NONE || side->trace == trace;
}

static int check_sides(struct stitch *s, const struct stitch_statement *statement)
{
	const struct stitch_side *sides = statement->sides.data;

	for (size_t i = 0; i < statement->sides.count; i++)
		if (sides[i].trace != CLEW_NONE && sides[i].trace >= s->count)
			return stitch_fail(s, sides[i].trace_at, "no such trace: there are %u",
					   s->count);
	return 0;
}

/* ---- positions ---- */

/* The hierarchy that a trace's categories are meant in; CLEW_NONE: it has none of that name. */
static uint32_t hierarchy_of(const struct stitch *s, const struct clew_model *model)
{
	if (!s->options->hierarchy)
		return model->hierarchy_count ? 0 : CLEW_NONE;
	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		if (!strcmp(clew_model_string(model, model->hierarchies[i]), s->options->hierarchy))
			return i;
	return CLEW_NONE;
}

static int find_positions(struct stitch *s, const struct stitch_side *side, uint32_t trace)
{
	const struct clew_model *model = s->traces[trace];
	const struct clew_query_options options = {.hierarchy = hierarchy_of(s, model)};
	struct clew_positions positions = {0};
	int r;

	/* Without its hierarchy a category path would mean all spans. */
	if (options.hierarchy == CLEW_NONE && clew_query_has_categories(side->query))
		return 0;
	r = clew_query_positions(side->query, model, &options, &positions);
	for (size_t i = 0; i < positions.count && r == 0; i++)
		r = add_end(s, trace, model->es[positions.items[i].es].span, positions.items[i].at);
	clew_positions_done(&positions);
	if (r == -E2BIG)
		return stitch_fail(
			s, side->at,
			"a regular expression takes too much to decide: write a simpler one");
	return r;
}

static int find_side(struct stitch *s, const struct stitch_side *side)
{
	size_t before = s->ends.count;
	int r = 0;

	for (uint32_t trace = 0; trace < s->count && r == 0; trace++)
		if (is_meant(side, trace))
			r = find_positions(s, side, trace);
	if (r == 0 && s->ends.count == before)
		r = stitch_fail(s, side->at,
				"nowhere in the traces: see what there is with `clew select`");
	return r;
}

static int find_added(struct stitch *s, uint32_t number)
{
	const struct stitch_statement *statement = &s->program->statements[number];
	const struct stitch_side *sides = statement->sides.data;
	struct stitch_added added = {
		.statement = number, .first = (uint32_t)s->ends.count, .key = CLEW_NONE};
	int r = 0;

	for (size_t i = 0; i < statement->sides.count && r == 0; i++) {
		r = find_side(s, &sides[i]);
		if (i < statement->origin_sides)
			added.origins = (uint32_t)s->ends.count - added.first;
	}
	if (r == 0 && added.origins > 1 && statement->mode == CLEW_MODE_SINGLE)
		r = stitch_fail(s, sides[0].at,
				"%u positions, and only several with `and` or `or` can be origins: "
				"write one, or choose fewer",
				added.origins);
	added.destinations = (uint32_t)s->ends.count - added.first - added.origins;
	return r < 0 ? r : add_dependency(s, &added);
}

/* ---- marks ---- */

struct marks {
	struct stitch *s;
	struct regex_scratch *scratch;
	struct vector items; /* keyed */
};

static int add_item(struct vector *items, struct keyed item)
{
	if (vector_reserve(items, items->count + 1) < 0)
		return -ENOMEM;
	((struct keyed *)items->data)[items->count++] = item;
	return 0;
}

/* The key in a label: what the group holds, of an expression without one the whole label.
 * CLEW_NONE: it does not match. */
static int key_of(struct marks *m, const struct stitch_side *side, const char *label,
		  uint32_t *ret_key)
{
	const struct regex_piece *pieces, *group;
	char *key;
	int r = regex_find(side->regex, m->scratch, label, &pieces);

	*ret_key = CLEW_NONE;
	if (r == -E2BIG)
		return stitch_fail(
			m->s, side->at,
			"the regular expression takes too much to decide: write a simpler one");
	if (r <= 0)
		return r;
	if (!side->group)
		return strings_add(&m->s->keys, label, ret_key);
	group = &pieces[side->group - 1];
	if (!group->begin)
		return 0;
	key = strndup(group->begin, group->size);
	r = key ? strings_add(&m->s->keys, key, ret_key) : -ENOMEM;
	free(key);
	return r;
}

/* Each label is looked at once, however many marks have it. */
static int find_marks(struct marks *m, const struct stitch_side *side, uint32_t trace,
		      bool is_destination)
{
	const struct clew_model *model = m->s->traces[trace];
	struct vector keys = {
		.item = sizeof(uint32_t)}; /* by label: key + 2, 1 none, 0 not known yet */
	uint32_t label_count = 0, *key_of_label;
	int r = 0;

	for (uint32_t i = 0; i < model->mark_count; i++)
		label_count = model->marks[i].label >= label_count ? model->marks[i].label + 1
								   : label_count;
	if (vector_reserve(&keys, label_count) < 0)
		return -ENOMEM;
	key_of_label = keys.data;
	for (uint32_t i = 0; model->mark_count && i < model->es_count && r == 0; i++) {
		struct clew_range range = clew_model_marks(model, i);

		for (uint32_t j = range.first; j < range.first + range.count && r == 0; j++) {
			const struct clew_mark *mark = &model->marks[j];
			uint32_t *known = &key_of_label[mark->label];

			if (!*known) {
				r = key_of(m, side, clew_model_string(model, mark->label), known);
				*known += 2;
			}
			if (r == 0 && *known >= 2)
				r = add_item(&m->items,
					     (struct keyed){.key = *known - 2,
							    .trace = trace,
							    .at = mark->at,
							    .item = model->es[i].span,
							    .is_destination = is_destination});
		}
	}
	vector_done(&keys);
	return r;
}

static int pair_marks(struct stitch *s, uint32_t statement, const struct keyed *origin,
		      const struct keyed *destinations, size_t count, bool exact)
{
	struct stitch_added added = {.statement = statement,
				     .first = (uint32_t)s->ends.count,
				     .origins = 1,
				     .destinations = (uint32_t)count,
				     .key = origin->key,
				     .evidence = clew_evidence_name(
					     exact ? CLEW_EVIDENCE_EXACT : CLEW_EVIDENCE_OBSERVED)};
	int r = add_end(s, origin->trace, origin->item, origin->at);

	for (size_t i = 0; i < count && r == 0; i++)
		r = add_end(s, destinations[i].trace, destinations[i].item, destinations[i].at);
	return r < 0 ? r : add_dependency(s, &added);
}

static int find_matched(struct stitch *s, uint32_t number)
{
	const struct stitch_statement *statement = &s->program->statements[number];
	const struct stitch_side *sides = statement->sides.data;
	struct marks m = {.s = s, .items.item = sizeof(struct keyed)};
	int r = regex_scratch_new(&m.scratch);

	for (uint32_t trace = 0; trace < s->count && r == 0; trace++) {
		/* One expression for both does not say which way: it goes from the first trace. */
		bool both = statement->one_expression && sides[0].trace == CLEW_NONE &&
			    sides[1].trace == CLEW_NONE;

		if (both ? trace == 0 : is_meant(&sides[0], trace))
			r = find_marks(&m, &sides[0], trace, false);
		if (r == 0 && (both ? trace > 0 : is_meant(&sides[1], trace)))
			r = find_marks(&m, &sides[1], trace, true);
	}
	if (r == 0)
		r = stitch_match(s, number, m.items.data, m.items.count, pair_marks);
	regex_scratch_free(m.scratch);
	vector_done(&m.items);
	return r;
}

/* ---- halves of dependencies ---- */

static bool is_listed(const char *list, size_t size, const char *name)
{
	size_t length = strlen(name);

	if (!size)
		return true;
	for (const char *at = list, *end = list + size; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at)) ?: end, *last = comma;

		while (at < last && strchr(" \t\n", *at))
			at++;
		while (last > at && strchr(" \t\n", last[-1]))
			last--;
		if ((size_t)(last - at) == length && !memcmp(at, name, length))
			return true;
		at = comma + 1;
	}
	return false;
}

static int begin_joins(struct stitch *s)
{
	for (uint32_t trace = 0; trace < s->count; trace++) {
		uint32_t count = s->traces[trace]->dependency_count;

		if (s->joined[trace])
			continue;
		s->joined[trace] = malloc(((size_t)count + 1) * sizeof(**s->joined));
		if (!s->joined[trace])
			return -ENOMEM;
		for (uint32_t i = 0; i < count; i++)
			s->joined[trace][i] = STITCH_NOT_JOINED;
	}
	return 0;
}

static int add_ends(struct stitch *s, const struct keyed *part, bool destinations)
{
	const struct clew_model *model = s->traces[part->trace];
	const struct clew_dependency *d = &model->dependencies[part->item];
	const struct clew_range *range = destinations ? &d->destinations : &d->origins;
	int r = 0;

	for (uint32_t i = 0; i < range->count && r == 0; i++) {
		uint32_t number = destinations ? model->destinations[range->first + i]
					       : model->origins[range->first + i];
		const struct clew_es *es = &model->es[number];

		r = add_end(s, part->trace, es->span, destinations ? es->start : es->end);
	}
	return r;
}

/* All parts become one dependency, that of the first trace. Their ends are but noted for the
 * clocks. */
static int join_parts(struct stitch *s, uint32_t statement, enum clew_mode mode,
		      const struct keyed *const *parts, size_t count)
{
	const struct keyed *first = parts[0];
	size_t before = s->ends.count, origins;
	const struct stitch_end *ends;
	int r = 0;

	for (size_t i = 1; i < count; i++)
		if (parts[i]->trace < first->trace)
			first = parts[i];
	for (size_t i = 0; i < count; i++)
		s->joined[parts[i]->trace][parts[i]->item] =
			(uint64_t)first->trace << 32 | first->item;
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_ends(s, parts[i], false);
	origins = s->ends.count - before;
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_ends(s, parts[i], true);
	ends = (const struct stitch_end *)s->ends.data + before;
	if (r == 0)
		r = stitch_note(s, mode, ends, origins, ends + origins,
				s->ends.count - before - origins);
	s->ends.count = before;
	s->result->counts[statement].dependencies++;
	return r;
}

static int pair_halves(struct stitch *s, uint32_t statement, const struct keyed *origin,
		       const struct keyed *destinations, size_t count, bool exact)
{
	const struct keyed **parts = malloc((count + 1) * sizeof(*parts));
	int r;

	(void)exact;
	if (!parts)
		return -ENOMEM;
	parts[0] = origin;
	for (size_t i = 0; i < count; i++)
		parts[i + 1] = &destinations[i];
	r = join_parts(s, statement, CLEW_MODE_SINGLE, parts, count + 1);
	free(parts);
	return r;
}

/* Parts of those that may have several origins, in order of key: one of each trace at most. */
static int pair_many(struct stitch *s, uint32_t statement, enum clew_mode mode,
		     const struct keyed *items, size_t item_count)
{
	const struct keyed *parts[CLEW_STITCH_MOST_TRACES];
	struct clew_stitch_count *count = &s->result->counts[statement];
	int r = 0;

	for (size_t i = 0, end; i < item_count && r == 0; i = end) {
		size_t traces = 0;

		for (end = i; end < item_count && items[end].key == items[i].key; end++)
			if (end == i || items[end].trace != items[end - 1].trace)
				parts[traces++] = &items[end];
		if (traces < end - i)
			count->ambiguous += end - i;
		else if (traces == 1)
			count->alone += !items[i].is_whole;
		else
			r = join_parts(s, statement, mode, parts, traces);
	}
	return r;
}

static int compare_parts(const void *one, const void *other)
{
	const struct keyed *a = one, *b = other;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->trace != b->trace)
		return a->trace < b->trace ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

/* The dependencies of each mode in a trace that may be parts. One with both sides may have further
 * destinations elsewhere. */
static int find_parts(struct stitch *s, const struct stitch_statement *statement, uint32_t trace,
		      struct vector *items)
{
	const struct clew_model *model = s->traces[trace];
	int r = 0;

	for (uint32_t i = 0; i < model->dependency_count && r == 0; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		const char *type = clew_model_string(model, model->types[d->type]), *value;
		bool is_destination = d->origins.count == 0;
		struct keyed item = {.trace = trace,
				     .item = i,
				     .is_destination =
					     is_destination && d->mode == CLEW_MODE_SINGLE,
				     .is_whole = d->origins.count && d->destinations.count};
		char *key;

		if (s->joined[trace][i] != STITCH_NOT_JOINED ||
		    (d->origins.count == 0 && d->destinations.count == 0) ||
		    !is_listed(s->program->text + statement->types_at, statement->types_size, type))
			continue;
		value = clew_model_attribute(model, d->attributes, statement->key);
		if (!value)
			continue;
		item.at = is_destination
				  ? model->es[model->destinations[d->destinations.first]].start
				  : model->es[model->origins[d->origins.first]].end;
		if (asprintf(&key, "%s\n%s", type, value) < 0)
			return -ENOMEM;
		r = strings_add(&s->keys, key, &item.key);
		free(key);
		if (r == 0)
			r = add_item(&items[d->mode], item);
	}
	return r;
}

static int find_joined(struct stitch *s, uint32_t number)
{
	const struct stitch_statement *statement = &s->program->statements[number];
	struct vector items[CLEW_MODE_OR + 1] = {{.item = sizeof(struct keyed)},
						 {.item = sizeof(struct keyed)},
						 {.item = sizeof(struct keyed)}};
	int r = begin_joins(s);

	for (uint32_t trace = 0; trace < s->count && r == 0; trace++)
		r = find_parts(s, statement, trace, items);
	if (r == 0)
		r = stitch_match(s, number, items[CLEW_MODE_SINGLE].data,
				 items[CLEW_MODE_SINGLE].count, pair_halves);
	for (unsigned mode = CLEW_MODE_AND; mode <= CLEW_MODE_OR && r == 0; mode++) {
		if (items[mode].count)
			qsort(items[mode].data, items[mode].count, sizeof(struct keyed),
			      compare_parts);
		r = pair_many(s, number, mode, items[mode].data, items[mode].count);
	}
	for (unsigned mode = 0; mode <= CLEW_MODE_OR; mode++)
		vector_done(&items[mode]);
	return r;
}

int stitch_find(struct stitch *s)
{
	static int (*const kinds[])(struct stitch * s,
				    uint32_t number) = {[STITCH_ADD] = find_added,
							[STITCH_MATCH] = find_matched,
							[STITCH_JOIN] = find_joined};
	int r = 0;

	for (uint32_t i = 0; s->program && i < s->program->count && r == 0; i++) {
		r = check_sides(s, &s->program->statements[i]);
		if (r == 0)
			r = kinds[s->program->statements[i].kind](s, i);
	}
	return r;
}
