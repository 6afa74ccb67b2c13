/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All traces in one: names by a maker, so that each is there once, everything in time as
 * arrays, trace by trace and span by span, simplified on the way. Until the end the links of
 * ESs are numbers of endpoints, over all traces in order.
 */
#include "convert/shift.h"
#include "model/make_internal.h"
#include <stdio.h>

#include "analyse/stitch/internal.h"

/* Ends of connections of one trace, at most: numbers of all traces have 32 bits. */
#define ENDS_SHIFT 26
_Static_assert(CLEW_STITCH_MOST_TRACES <= 1 << (32 - ENDS_SHIFT), "numbers of ends have 32 bits");

struct copy {
	struct stitch *s;
	struct stitch_names names;
	struct stitch_clash clash;
	struct capture_shift shift;
	struct capture_shift_devices devices;
	struct pairs pairs;
	struct clew_maker *maker;
	uint32_t *numbers[CLEW_STITCH_MOST_TRACES]; /* of dependencies in the whole, by trace */
	struct vector es, marks, waits, dependencies, ranges;
	struct vector origin_of, destination_of; /* uint32_t: the dependency of each endpoint */

	/* The trace at hand: */
	uint32_t trace;
	const struct clew_model *model;
	uint32_t *hierarchies, *categories, *types, *lists, *labels;
	uint32_t first_wait, first_origin, first_destination;
};

static int room_for(struct vector *vector, size_t more)
{
	if (more >= CLEW_NONE - 1 - vector->count)
		return -E2BIG;
	return vector_reserve(vector, vector->count + more);
}

static bool is_renamed(void *context, const char *name)
{
	struct copy *c = context;

	return stitch_is_renamed(&c->names, c->trace, name);
}

/* ---- what moves in attributes ---- */

static bool is_cpu(const struct clew_model *model, uint32_t span)
{
	return model->spans[span].parent == CLEW_NONE &&
	       clew_model_attribute(model, model->spans[span].attributes, "cpu");
}

/* The number of functions that a list of them numbers. */
static uint32_t count_functions(struct copy *c, const char *value)
{
	struct row *row = &c->shift.row;
	uint32_t count = 0;

	if (!value || row_start(row, ATTRIBUTE_FUNCTIONS, "functions", value) < 0)
		return 0;
	while (row_next(row) > 0)
		if (row_fields(row)[0].number >= count)
			count = (uint32_t)row_fields(row)[0].number + 1;
	return count;
}

/* CPUs, functions and requests of the trace at hand: those of the next one have numbers behind
 * them. */
static void count_numbers(struct copy *c)
{
	const struct clew_model *model = c->model;
	uint32_t devices = CLEW_NONE, cpus = 0, functions = 0;

	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		if (!strcmp(clew_model_string(model, model->hierarchies[i]), "devices"))
			devices = i;
	for (uint32_t i = 0; i < model->span_count; i++) {
		uint32_t parent = model->spans[i].parent;
		const char *value =
			is_cpu(model, i)
				? clew_model_attribute(model, model->spans[i].attributes, "cpu")
				: NULL;
		uint64_t number;

		if (value)
			functions += count_functions(
				c, clew_model_attribute(model, model->spans[i].attributes,
							"functions"));
		if (value && scan_value_number(&value, &number) && number < UINT16_MAX)
			cpus = number >= cpus ? (uint32_t)number + 1 : cpus;
		if (parent != CLEW_NONE && model->spans[parent].parent == CLEW_NONE &&
		    devices != CLEW_NONE &&
		    clew_model_category_of(model, parent, devices) != CLEW_NONE)
			c->shift.requests++;
	}
	c->shift.functions += functions;
	if (c->shift.devices)
		c->shift.cpus += cpus;
}

static int move(clew_time at, clew_time by, clew_time *ret_at)
{
	return __builtin_add_overflow(at, by, ret_at) ? -EOVERFLOW : 0;
}

/* From the first moment to the last one, of all traces by one clock. */
static int find_extent(struct copy *c)
{
	struct capture_shift *shift = &c->shift;
	int r = 0;

	shift->has_extent = c->s->count > 1;
	shift->start = INT64_MAX;
	shift->end = INT64_MIN;
	for (uint32_t trace = 0; trace < c->s->count; trace++)
		for (uint32_t i = 0; i < c->s->traces[trace]->span_count && r == 0; i++) {
			const struct clew_span *span = &c->s->traces[trace]->spans[i];
			clew_time start = 0, end = 0;

			r = move(stitch_warped(c->s, trace, span->start), c->s->offsets[trace],
				 &start);
			if (r == 0)
				r = move(stitch_warped(c->s, trace, span->end),
					 c->s->offsets[trace], &end);
			shift->start = start < shift->start ? start : shift->start;
			shift->end = end > shift->end ? end : shift->end;
		}
	return r;
}

/* ---- names ---- */

static int copy_hierarchies(struct copy *c)
{
	int r = 0;

	for (uint32_t i = 0; i < c->model->hierarchy_count && r == 0; i++) {
		r = clew_maker_hierarchy(c->maker,
					 clew_model_string(c->model, c->model->hierarchies[i]),
					 &c->hierarchies[i]);
		r = r == -EEXIST ? 0 : r;
	}
	for (uint32_t i = 0; i < c->model->category_count && r == 0; i++) {
		const struct clew_category *category = &c->model->categories[i];
		bool root = category->parent == CLEW_NONE;
		const char *name = root ? stitch_category_name(&c->names, c->trace, i)
					: clew_model_string(c->model, category->name);

		if (!name)
			return -ENOMEM;
		r = clew_maker_category(c->maker, c->hierarchies[category->hierarchy],
					root ? CLEW_NONE : c->categories[category->parent], name,
					&c->categories[i]);
	}
	return r;
}

/* The hosts of all traces, and the errors of their clocks, for the first one's capture. */
static void describe_hosts(struct copy *c)
{
	pairs_begin(&c->pairs, "capture.host");
	for (uint32_t i = 0; i < c->s->count; i++) {
		pairs_text(&c->pairs, i ? ", " : "");
		pairs_text(&c->pairs, c->s->hosts[i]);
	}
	pairs_begin(&c->pairs, "capture.hosts");
	for (uint32_t i = 0; i < c->s->count; i++) {
		const struct clew_stitch_clock *clock = &c->s->result->clocks[i];
		char text[STITCH_PREFIX + 32];

		if (clock->source == CLEW_CLOCK_FIRST || clock->source == CLEW_CLOCK_BETWEEN)
			snprintf(text, sizeof(text), "%s%s %llu", i ? "," : "", c->s->hosts[i],
				 (unsigned long long)clock->error);
		else
			snprintf(text, sizeof(text), "%s%s -", i ? "," : "", c->s->hosts[i]);
		pairs_text(&c->pairs, text);
	}
}

/* The device that a list of attributes names; 0: none. */
static uint32_t device_of(const struct clew_model *model, uint32_t list)
{
	const char *value = clew_model_attribute(model, list, "dev");
	uint32_t device;

	return value && scan_value_device(&value, &device) ? device : 0;
}

static int copy_attributes(struct copy *c)
{
	const struct clew_model *model = c->model;
	int r = 0;

	for (uint32_t i = 0; i < model->attribute_list_count && r == 0; i++) {
		c->shift.on = device_of(model, i);
		for (uint32_t j = model->attribute_lists[i]; j < model->attribute_lists[i + 1];
		     j++) {
			const char *key = clew_model_string(model, model->attributes[j].key);
			const char *becomes = capture_shift_key(&c->shift, key);
			const char *value = capture_shift_value(
				&c->shift, key,
				clew_model_string(model, model->attributes[j].value));

			if (!value || !becomes)
				return -ENOMEM;
			if (stitch_clashes(&c->clash, becomes))
				continue;
			if (c->trace == 0 && c->s->hosts[0] && !strcmp(key, "capture.host")) {
				describe_hosts(c);
				continue;
			}
			pairs_begin(&c->pairs, becomes);
			pairs_text(&c->pairs, value);
		}
		r = pairs_make(&c->pairs, c->maker, &c->lists[i]);
	}
	return r;
}

static uint32_t list_of(const struct copy *c, uint32_t list)
{
	return list == CLEW_NONE ? CLEW_NONE : c->lists[list];
}

static int copy_waits(struct copy *c)
{
	int r = room_for(&c->waits, c->model->wait_count);

	c->first_wait = (uint32_t)c->waits.count;
	for (uint32_t i = 0; i < c->model->wait_count && r == 0; i++)
		((struct clew_model_wait *)c->waits.data)[c->waits.count++] =
			(struct clew_model_wait){.kind = c->model->waits[i].kind,
						 .attributes =
							 list_of(c, c->model->waits[i].attributes)};
	return r;
}

/* Spans with their places; what is in them comes later. */
static int copy_spans(struct copy *c)
{
	const struct clew_model *model = c->model;
	uint32_t first = c->s->first_span[c->trace], number;
	int r = 0;

	for (uint32_t i = 0; i < model->span_count && r == 0; i++) {
		const struct clew_span *span = &model->spans[i];

		if (span->parent == CLEW_NONE) {
			const char *name = stitch_span_name(&c->names, c->trace, i);

			r = name ? clew_maker_root(c->maker, name,
						   stitch_moved(c->s, c->trace, span->start),
						   stitch_moved(c->s, c->trace, span->end), &number)
				 : -ENOMEM;
		} else {
			r = clew_maker_child_alone(c->maker, first + span->parent,
						   clew_model_string(model, span->name),
						   stitch_moved(c->s, c->trace, span->start),
						   stitch_moved(c->s, c->trace, span->end),
						   &number);
		}
		if (r == 0)
			r = clew_maker_set_span_attributes(c->maker, number,
							   list_of(c, span->attributes));
	}
	for (uint32_t i = 0; i < model->category_count && r == 0; i++) {
		uint32_t count;
		const uint32_t *spans = clew_model_category_spans(model, i, &count);

		for (uint32_t j = 0; j < count && r == 0; j++)
			r = clew_maker_place(c->maker, first + spans[j], c->categories[i]);
	}
	return r;
}

/* ---- dependencies ---- */

/* Values that the other part has and the first one lacks. */
static int join_attributes(struct copy *c, struct clew_dependency *d, uint32_t more)
{
	const struct vector *attributes = model_column(c->maker->model, COLUMN_ATTRIBUTE);
	const uint32_t *lists = model_column(c->maker->model, COLUMN_ATTRIBUTE_LIST)->data;
	const struct clew_attribute *all = attributes->data;
	const struct strings *strings = model_strings(c->maker->model);
	uint32_t own = d->attributes;

	if (more == CLEW_NONE || more == own)
		return 0;
	for (uint32_t i = own == CLEW_NONE ? 0 : lists[own]; own != CLEW_NONE && i < lists[own + 1];
	     i++) {
		pairs_begin(&c->pairs, strings_get(strings, all[i].key));
		pairs_text(&c->pairs, strings_get(strings, all[i].value));
	}
	for (uint32_t i = lists[more]; i < lists[more + 1]; i++) {
		bool there = false;

		for (uint32_t j = own == CLEW_NONE ? 0 : lists[own];
		     own != CLEW_NONE && j < lists[own + 1]; j++)
			there = there || all[j].key == all[i].key;
		if (there)
			continue;
		pairs_begin(&c->pairs, strings_get(strings, all[i].key));
		pairs_text(&c->pairs, strings_get(strings, all[i].value));
	}
	return pairs_make(&c->pairs, c->maker, &d->attributes);
}

static uint64_t joined(const struct copy *c, uint32_t dependency)
{
	uint64_t own = (uint64_t)c->trace << 32 | dependency;
	const uint64_t *parts = c->s->joined[c->trace];

	return parts && parts[dependency] != STITCH_NOT_JOINED ? parts[dependency] : own;
}

static int number_dependencies(struct copy *c)
{
	const struct clew_model *model = c->model;
	uint32_t *numbers = malloc(((size_t)model->dependency_count + 1) * sizeof(*numbers));
	struct clew_dependency *all;
	int r = numbers ? room_for(&c->dependencies, model->dependency_count) : -ENOMEM;

	c->numbers[c->trace] = numbers;
	if (r < 0)
		return r;
	all = c->dependencies.data;
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *d = &model->dependencies[i];

		if (joined(c, i) != ((uint64_t)c->trace << 32 | i))
			continue;
		numbers[i] = (uint32_t)c->dependencies.count++;
		all[numbers[i]] = (struct clew_dependency){.type = c->types[d->type] & 0xffffff,
							   .mode = d->mode,
							   .attributes = list_of(c, d->attributes)};
	}
	for (uint32_t i = 0; i < model->dependency_count && r == 0; i++) {
		uint64_t part = joined(c, i);

		if (part == ((uint64_t)c->trace << 32 | i))
			continue;
		numbers[i] = c->numbers[part >> 32][(uint32_t)part];
		r = join_attributes(c, &all[numbers[i]],
				    list_of(c, model->dependencies[i].attributes));
	}
	return r;
}

static int copy_dependencies(struct copy *c)
{
	const struct clew_model *model = c->model;
	struct clew_dependency *all;
	int r = number_dependencies(c);

	c->first_origin = (uint32_t)c->origin_of.count;
	c->first_destination = (uint32_t)c->destination_of.count;
	if (r == 0)
		r = room_for(&c->origin_of, model->origin_count);
	if (r == 0)
		r = room_for(&c->destination_of, model->destination_count);
	if (r < 0)
		return r;
	all = c->dependencies.data;
	/* Some arrays of a model may have no owner. */
	for (uint32_t i = 0; i < model->origin_count; i++)
		((uint32_t *)c->origin_of.data)[c->first_origin + i] = CLEW_NONE;
	for (uint32_t i = 0; i < model->destination_count; i++)
		((uint32_t *)c->destination_of.data)[c->first_destination + i] = CLEW_NONE;
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		uint32_t number = c->numbers[c->trace][i];

		all[number].origins.count += d->origins.count;
		all[number].destinations.count += d->destinations.count;
		for (uint32_t j = d->origins.first; j < d->origins.first + d->origins.count; j++)
			((uint32_t *)c->origin_of.data)[c->first_origin + j] = number;
		for (uint32_t j = d->destinations.first;
		     j < d->destinations.first + d->destinations.count; j++)
			((uint32_t *)c->destination_of.data)[c->first_destination + j] = number;
	}
	c->origin_of.count += model->origin_count;
	c->destination_of.count += model->destination_count;
	return 0;
}

/* ---- ESs and marks ---- */

static int copy_marks(struct copy *c, uint32_t es, bool on_cpu)
{
	struct clew_range range = clew_model_marks(c->model, es);
	int r = room_for(&c->marks, range.count);

	for (uint32_t i = range.first; i < range.first + range.count && r == 0; i++) {
		const struct clew_mark *mark = &c->model->marks[i];
		uint32_t *known = &c->labels[2 * (size_t)mark->label + on_cpu];

		if (!*known) {
			const char *label = capture_shift_label(
				&c->shift, clew_model_string(c->model, mark->label), on_cpu);

			r = label ? strings_add(model_strings(c->maker->model), label, known)
				  : -ENOMEM;
			++*known;
		}
		((struct clew_mark *)c->marks.data)[c->marks.count++] = (struct clew_mark){
			.at = stitch_moved(c->s, c->trace, mark->at), .label = *known - 1};
	}
	return r;
}

static int copy_es(struct copy *c, const uint32_t *in, const uint32_t *out, uint32_t span)
{
	struct clew_range range = c->model->spans[span].elementary;
	bool on_cpu = is_cpu(c->model, span);
	size_t first = c->es.count;
	int r = room_for(&c->es, range.count);

	for (uint32_t i = range.first; i < range.first + range.count && r == 0; i++) {
		const struct clew_es *es = &c->model->es[i];

		((struct clew_es *)c->es.data)[c->es.count++] = (struct clew_es){
			.start = stitch_moved(c->s, c->trace, es->start),
			.end = stitch_moved(c->s, c->trace, es->end),
			.span = c->s->first_span[c->trace] + span,
			.in = es->in == CLEW_NONE ? CLEW_NONE : in[i],
			.out = es->out == CLEW_NONE ? CLEW_NONE : out[i],
			.wait = es->wait == CLEW_NONE ? CLEW_NONE : c->first_wait + es->wait,
			.mark = (uint32_t)c->marks.count};
		r = copy_marks(c, i, on_cpu);
	}
	if (r < 0)
		return r;
	/* A CPU's ESs are runs of one thread after another: nothing but a mark parts them, and
	 * still they are not one. */
	if (!on_cpu)
		range.count = make_simplify_span((struct clew_es *)c->es.data + first, range.count);
	range.first = (uint32_t)first;
	c->es.count = first + range.count;
	r = room_for(&c->ranges, 1);
	if (r == 0)
		((struct clew_range *)c->ranges.data)[c->ranges.count++] = range;
	return r;
}

static int copy_times(struct copy *c)
{
	const struct clew_model *model = c->model;
	uint32_t *in = malloc(((size_t)model->es_count + 1) * sizeof(*in)),
		 *out = malloc(((size_t)model->es_count + 1) * sizeof(*out));
	int r = in && out ? room_for(&c->es, model->es_count) : -ENOMEM;

	for (uint32_t i = 0; i < model->origin_count && r == 0; i++)
		if (((const uint32_t *)c->origin_of.data)[c->first_origin + i] != CLEW_NONE)
			out[model->origins[i]] = c->first_origin + i;
	for (uint32_t i = 0; i < model->destination_count && r == 0; i++)
		if (((const uint32_t *)c->destination_of.data)[c->first_destination + i] !=
		    CLEW_NONE)
			in[model->destinations[i]] = c->first_destination + i;
	for (uint32_t i = 0; i < model->span_count && r == 0; i++)
		r = copy_es(c, in, out, i);
	free(in);
	free(out);
	return r;
}

/* ---- a trace ---- */

static int copy_trace(struct copy *c)
{
	const struct clew_model *model = c->model;
	int r = 0;

	c->hierarchies = malloc(((size_t)model->hierarchy_count + 1) * sizeof(uint32_t));
	c->categories = malloc(((size_t)model->category_count + 1) * sizeof(uint32_t));
	c->types = malloc(((size_t)model->type_count + 1) * sizeof(uint32_t));
	c->lists = malloc(((size_t)model->attribute_list_count + 1) * sizeof(uint32_t));
	c->labels = calloc(2 * model_strings(model)->offsets.count + 2, sizeof(uint32_t));
	if (!c->hierarchies || !c->categories || !c->types || !c->lists || !c->labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->type_count && r == 0; i++)
		r = clew_maker_type(c->maker, clew_model_string(model, model->types[i]),
				    &c->types[i]);
	if (r == 0)
		r = copy_hierarchies(c);
	if (r == 0)
		r = copy_attributes(c);
	if (r == 0)
		r = copy_waits(c);
	if (r == 0)
		r = copy_spans(c);
	if (r == 0)
		r = copy_dependencies(c);
	if (r == 0)
		r = copy_times(c);
	if (r == 0)
		count_numbers(c);
	return r;
}

static void forget_trace(struct copy *c)
{
	free(c->hierarchies);
	free(c->categories);
	free(c->types);
	free(c->lists);
	free(c->labels);
	c->hierarchies = c->categories = c->types = c->lists = c->labels = NULL;
}

static int copy_traces(struct copy *c)
{
	int r = find_extent(c);

	for (uint32_t i = 0, first = 0; i < c->s->count && r == 0; i++) {
		char prefix[STITCH_PREFIX];

		c->trace = i;
		c->model = c->s->traces[i];
		if (!make_is_right(c->model))
			return -EBADMSG;
		if (c->model->span_count > CLEW_NONE - 1 - first)
			return -E2BIG;
		c->s->first_span[i] = first;
		first += c->model->span_count;
		c->shift.offset = c->s->offsets[i];
		c->shift.rate = c->s->rates[i];
		c->shift.zero = c->s->zeros[i];
		c->shift.ends = i << ENDS_SHIFT;
		c->shift.host = c->s->hosts[i];
		capture_shift_next(&c->devices, i == 0);
		stitch_prefix(c->s, i, prefix);
		c->shift.prefix = prefix;
		r = copy_trace(c);
		forget_trace(c);
	}
	return r;
}

/* ---- the whole ---- */

/* The order that origins have where they are added one after the other. */
static void order_origins(const struct clew_es *es, const struct clew_dependency *d,
			  uint32_t *origins)
{
	uint32_t count = d->origins.count;

	if (d->mode == CLEW_MODE_SINGLE)
		return;
	for (uint32_t i = 1; i < count; i++) {
		clew_time at = es[origins[i]].end, best = es[origins[0]].end;
		uint32_t origin = origins[i];

		if (d->mode == CLEW_MODE_AND ? at <= best : at >= best)
			continue;
		origins[i] = origins[0];
		origins[0] = origin;
	}
}

/* Endpoints of dependencies, in order of the traces. `of`: the dependency of each, `es_of` its ES.
 * Returns how many. */
static uint32_t lay_out(struct copy *c, const struct vector *of, const uint32_t *es_of,
			bool is_origin, uint32_t *endpoints)
{
	struct clew_dependency *all = c->dependencies.data;
	uint32_t first = 0;

	for (size_t i = 0; i < c->dependencies.count; i++) {
		struct clew_range *range = is_origin ? &all[i].origins : &all[i].destinations;

		range->first = first;
		first += range->count;
		range->count = 0;
	}
	for (size_t i = 0; i < of->count; i++) {
		uint32_t number = ((const uint32_t *)of->data)[i];
		struct clew_range *range;

		if (number == CLEW_NONE)
			continue;
		range = is_origin ? &all[number].origins : &all[number].destinations;
		endpoints[range->first + range->count++] = es_of[i];
	}
	return first;
}

static void resolve(struct copy *c, uint32_t *origins, uint32_t *destinations, uint32_t *es_of,
		    struct clew_model *whole)
{
	const struct clew_dependency *all = c->dependencies.data;
	struct clew_es *es = c->es.data;

	for (uint32_t i = 0; i < c->es.count; i++)
		if (es[i].out != CLEW_NONE) {
			es_of[es[i].out] = i;
			es[i].out = ((const uint32_t *)c->origin_of.data)[es[i].out];
		}
	whole->origin_count = lay_out(c, &c->origin_of, es_of, true, origins);
	for (uint32_t i = 0; i < c->es.count; i++)
		if (es[i].in != CLEW_NONE) {
			es_of[es[i].in] = i;
			es[i].in = ((const uint32_t *)c->destination_of.data)[es[i].in];
		}
	whole->destination_count = lay_out(c, &c->destination_of, es_of, false, destinations);
	for (uint32_t trace = 0; trace < c->s->count; trace++)
		for (uint32_t i = 0;
		     c->s->joined[trace] && i < c->s->traces[trace]->dependency_count; i++)
			if (c->s->joined[trace][i] == ((uint64_t)trace << 32 | i)) {
				const struct clew_dependency *d = &all[c->numbers[trace][i]];

				order_origins(es, d, origins + d->origins.first);
			}
}

static int assemble(struct copy *c, const struct clew_model *like, struct clew_model **ret_model)
{
	size_t ends = c->origin_of.count > c->destination_of.count ? c->origin_of.count
								   : c->destination_of.count;
	uint32_t *origins = malloc((c->origin_of.count + 1) * sizeof(*origins));
	uint32_t *destinations = malloc((c->destination_of.count + 1) * sizeof(*destinations));
	uint32_t *es_of = calloc(ends + 1, sizeof(*es_of));
	struct clew_span *spans = malloc(((size_t)like->span_count + 1) * sizeof(*spans));
	struct clew_model whole = {
		.es = c->es.data,
		.spans = spans,
		.dependencies = c->dependencies.data,
		.origins = origins,
		.destinations = destinations,
		.marks = c->marks.data,
		.waits = c->waits.data,
		.es_count = (uint32_t)c->es.count,
		.span_count = like->span_count,
		.dependency_count = (uint32_t)c->dependencies.count,
		.mark_count = (uint32_t)c->marks.count,
		.wait_count = (uint32_t)c->waits.count,
	};
	int r = -ENOMEM;

	if (origins && destinations && es_of && spans) {
		for (uint32_t i = 0; i < like->span_count; i++) {
			spans[i] = like->spans[i];
			spans[i].elementary = ((const struct clew_range *)c->ranges.data)[i];
		}
		resolve(c, origins, destinations, es_of, &whole);
		r = model_from_arrays(like, &whole, &c->es, ret_model);
	}
	free(origins);
	free(destinations);
	free(es_of);
	free(spans);
	return r == -EINVAL ? -EBADMSG : r;
}

int stitch_copy(struct stitch *s, struct clew_model **ret_model)
{
	struct copy c = {
		.s = s,
		.es.item = sizeof(struct clew_es),
		.marks.item = sizeof(struct clew_mark),
		.waits.item = sizeof(struct clew_model_wait),
		.dependencies.item = sizeof(struct clew_dependency),
		.ranges.item = sizeof(struct clew_range),
		.origin_of.item = sizeof(uint32_t),
		.destination_of.item = sizeof(uint32_t),
		.shift = {.is_renamed = is_renamed, .context = &c},
	};
	struct clew_model *like = NULL;
	int r;

	capture_shift_begin(&c.shift);
	/* Where names stay, what has one name is one thing. */
	if (s->options->prefix != CLEW_PREFIX_NEVER)
		c.shift.devices = &c.devices;
	pairs_init(&c.pairs);
	r = stitch_names_begin(&c.names, s);
	if (r == 0)
		r = stitch_clash_begin(&c.clash, s);
	if (r == 0)
		r = clew_maker_new(&c.maker);
	if (r == 0) {
		clew_maker_set_unit(c.maker, s->traces[0]->unit);
		r = copy_traces(&c);
	}
	if (r == 0)
		r = clew_maker_finish(c.maker, &like);
	if (r == 0)
		r = assemble(&c, like, ret_model);
	forget_trace(&c);
	for (uint32_t i = 0; i < s->count; i++)
		free(c.numbers[i]);
	clew_model_free(like);
	clew_maker_free(c.maker);
	stitch_names_done(&c.names);
	stitch_clash_done(&c.clash);
	capture_shift_done(&c.shift);
	pairs_done(&c.pairs);
	vector_done(&c.es);
	vector_done(&c.marks);
	vector_done(&c.waits);
	vector_done(&c.dependencies);
	vector_done(&c.ranges);
	vector_done(&c.origin_of);
	vector_done(&c.destination_of);
	return r;
}
