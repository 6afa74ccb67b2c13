/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random small traces, crowded into few instants: the maker against an oracle that
 * follows the rules of construction word by word, with plain arrays and linear
 * searches, and shares nothing with it; the bulk way against the maker, bit by bit.
 */
#include <clew/model_make.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"
#include "model_oracle.h"
#include "model_text.h"

#define TRACES	  15000
#define MAX_STEPS 36

/* ---- both as text ---- */

static void write_es(struct text *text, long start, long end, int in, int out, int wait)
{
	if (wait >= 0)
		text_add(text, "(%d)", wait);
	if (in >= 0)
		text_add(text, "<%d", in);
	text_add(text, "[%ld,%ld]", start, end);
	if (out >= 0)
		text_add(text, ">%d", out);
}

static void write_id(const struct oracle *oracle, struct text *text, int id)
{
	for (int i = 0; i < oracle->span_count; i++)
		for (int j = 0; j < oracle->spans[i].count; j++)
			if (oracle->spans[i].es[j].id == id)
				text_add(text, " %d/%d", i, j);
}

static char *write_oracle(const struct oracle *oracle)
{
	struct text text = {0};

	for (int i = 0; i < oracle->span_count; i++) {
		text_add(&text, "\n%d:", i);
		for (int j = 0; j < oracle->spans[i].count; j++) {
			const struct oracle_es *es = &oracle->spans[i].es[j];

			write_es(&text, es->start, es->end, es->in, es->out, es->wait);
			for (int k = 0; k < es->mark_count; k++)
				text_add(&text, " %d@%ld", es->marks[k].label, es->marks[k].at);
			text_add(&text, " | ");
		}
	}
	for (int i = 0; i < oracle->dependency_count; i++) {
		const struct oracle_dependency *d = &oracle->dependencies[i];

		text_add(&text, "\n#%d", i);
		for (int j = 0; j < d->origin_count; j++)
			write_id(oracle, &text, d->origins[j]);
		text_add(&text, " ->");
		for (int j = 0; j < d->destination_count; j++)
			write_id(oracle, &text, d->destinations[j]);
	}
	return text.data;
}

static void write_ref(const struct clew_model *model, struct text *text, uint32_t es)
{
	text_add(text, " %u/%u", model->es[es].span,
		 es - model->spans[model->es[es].span].elementary.first);
}

static char *write_model(const struct clew_model *model)
{
	struct text text = {0};

	for (uint32_t i = 0; i < model->span_count; i++) {
		text_add(&text, "\n%u:", i);
		for (uint32_t j = 0; j < model->spans[i].elementary.count; j++) {
			uint32_t number = model->spans[i].elementary.first + j;
			const struct clew_es *es = &model->es[number];
			struct clew_range marks = clew_model_marks(model, number);

			write_es(&text, es->start, es->end, (int)es->in, (int)es->out,
				 es->wait == CLEW_NONE ? -1 : (int)model->waits[es->wait].kind);
			for (uint32_t k = 0; k < marks.count; k++)
				text_add(&text, " %s@%lld",
					 clew_model_string(model,
							   model->marks[marks.first + k].label),
					 (long long)model->marks[marks.first + k].at);
			text_add(&text, " | ");
		}
	}
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *d = &model->dependencies[i];

		text_add(&text, "\n#%u", i);
		for (uint32_t j = 0; j < d->origins.count; j++)
			write_ref(model, &text, model->origins[d->origins.first + j]);
		text_add(&text, " ->");
		for (uint32_t j = 0; j < d->destinations.count; j++)
			write_ref(model, &text, model->destinations[d->destinations.first + j]);
	}
	return text.data;
}

/* ---- what every model must be ---- */

static void check_model(const struct clew_model *model)
{
	struct clew_problem *problems;
	size_t count;

	assert_int_equal(clew_model_check(model, true, &problems, &count), 0);
	for (size_t i = 0; i < count; i++) {
		/* A random trace may have edges into the past and ends that are missing, but
		 * nothing else. */
		if (strcmp(problems[i].kind, "negative-edge") != 0 &&
		    strcmp(problems[i].kind, "no-origin") != 0 &&
		    strcmp(problems[i].kind, "no-destination") != 0 &&
		    strcmp(problems[i].kind, "cycle") != 0 &&
		    strcmp(problems[i].kind, "unreachable") != 0)
			fail_msg("%s: %s", problems[i].kind, problems[i].message);
	}
	free(problems);
}

static bool is_same(const void *one, const void *other, size_t count, size_t size)
{
	return count == 0 || memcmp(one, other, count * size) == 0;
}

static void assert_same_model(const struct clew_model *a, const struct clew_model *b)
{
	assert_int_equal(a->es_count, b->es_count);
	assert_int_equal(a->span_count, b->span_count);
	assert_int_equal(a->dependency_count, b->dependency_count);
	assert_int_equal(a->origin_count, b->origin_count);
	assert_int_equal(a->destination_count, b->destination_count);
	assert_int_equal(a->mark_count, b->mark_count);
	assert_int_equal(a->wait_count, b->wait_count);
	assert_int_equal(a->type_count, b->type_count);
	assert_int_equal(a->attribute_list_count, b->attribute_list_count);
	assert_int_equal(a->first_root, b->first_root);
	assert_true(is_same(a->es, b->es, a->es_count, sizeof(*a->es)));
	assert_true(is_same(a->spans, b->spans, a->span_count, sizeof(*a->spans)));
	assert_true(is_same(a->dependencies, b->dependencies, a->dependency_count,
			    sizeof(*a->dependencies)));
	assert_true(is_same(a->origins, b->origins, a->origin_count, sizeof(*a->origins)));
	assert_true(is_same(a->destinations, b->destinations, a->destination_count,
			    sizeof(*a->destinations)));
	assert_true(is_same(a->waits, b->waits, a->wait_count, sizeof(*a->waits)));
	assert_true(is_same(a->types, b->types, a->type_count, sizeof(*a->types)));
	for (uint32_t i = 0; i < a->mark_count; i++) {
		assert_int_equal(a->marks[i].at, b->marks[i].at);
		assert_string_equal(clew_model_string(a, a->marks[i].label),
				    clew_model_string(b, b->marks[i].label));
	}
}

/* ---- the maker against the oracle ---- */

struct step {
	int what;
	int span, dependency, mode, wait, label;
	long from, to;
	unsigned place;
};

enum { ROOT, CHILD, SUSPEND, DEPENDENCY, ORIGIN, DESTINATION, MARK, SIMPLIFY, STEP_KINDS };

static struct step draw_step(int span_count, int dependency_count, long range)
{
	static const unsigned places[] = {0,
					  0,
					  0,
					  CLEW_PLACE_EARLY,
					  CLEW_PLACE_LATE,
					  CLEW_PLACE_SPLIT_GAP,
					  CLEW_PLACE_SPLIT_ENDS,
					  CLEW_PLACE_SPLIT_MARKS,
					  CLEW_PLACE_SPLIT_ENDS | CLEW_PLACE_SPLIT_MARKS,
					  CLEW_PLACE_SPLIT_GAP | CLEW_PLACE_LATE,
					  FLAGS_EITHER};
	static const int kinds[] = {SUSPEND,	 SUSPEND, SUSPEND,     ORIGIN,	    ORIGIN,
				    ORIGIN,	 ORIGIN,  DESTINATION, DESTINATION, DESTINATION,
				    DESTINATION, MARK,	  MARK,	       MARK,	    MARK,
				    CHILD,	 ROOT,	  DEPENDENCY,  DEPENDENCY,  DEPENDENCY,
				    SIMPLIFY};
	struct step step = {.what = kinds[draw(sizeof(kinds) / sizeof(kinds[0]))],
			    .mode = (int)draw(3),
			    .wait = (int)draw(4) - 1,
			    .label = (int)draw(5),
			    .from = (long)draw((unsigned)range + 2) - range / 2,
			    .to = (long)draw((unsigned)range + 2) - range / 2,
			    .place = places[draw(sizeof(places) / sizeof(places[0]))]};

	step.span = span_count ? (int)draw((unsigned)span_count) : 0;
	step.dependency = dependency_count ? (int)draw((unsigned)dependency_count) : 0;
	if (step.from > step.to && draw(8)) {
		long swap = step.from;

		step.from = step.to;
		step.to = swap;
	}
	if (step.what == DESTINATION && draw(3))
		step.from = step.to;
	if (span_count == 0)
		step.what = ROOT;
	else if ((step.what == ORIGIN || step.what == DESTINATION) && dependency_count == 0)
		step.what = DEPENDENCY;
	else if ((step.what == ROOT || step.what == CHILD) && span_count == MAX_SPANS)
		step.what = MARK;
	else if (step.what == DEPENDENCY && dependency_count >= MAX_DEPS - 2 * MAX_SPANS)
		step.what = SUSPEND;
	return step;
}

static int step_maker(struct clew_maker *maker, const struct step *step)
{
	char label[8];
	uint32_t ignored;

	snprintf(label, sizeof(label), "%d", step->label);
	switch (step->what) {
	case ROOT:
		return clew_maker_root(maker, "r", step->from, step->to, &ignored);
	case CHILD:
		return clew_maker_child(maker, (uint32_t)step->span, "c", step->from, step->to,
					&ignored);
	case SUSPEND:
		return clew_maker_suspend(maker, (uint32_t)step->span, step->from, step->to,
					  step->place, (uint32_t)step->wait, CLEW_NONE);
	case DEPENDENCY:
		return clew_maker_dependency(maker, 0, (enum clew_mode)step->mode, CLEW_NONE,
					     &ignored);
	case ORIGIN:
		return clew_maker_origin(maker, (uint32_t)step->dependency, (uint32_t)step->span,
					 step->to, step->place);
	case DESTINATION:
		return clew_maker_destination(maker, (uint32_t)step->dependency,
					      (uint32_t)step->span, step->from, step->to,
					      step->place);
	case MARK:
		return clew_maker_mark(maker, (uint32_t)step->span, label, step->to, step->place);
	default:
		return clew_maker_simplify(maker);
	}
}

static int step_oracle(struct oracle *oracle, const struct step *step)
{
	switch (step->what) {
	case ROOT:
		return oracle_span(oracle, step->from, step->to);
	case CHILD:
		return oracle_child(oracle, step->span, step->from, step->to);
	case SUSPEND:
		return oracle_suspend(oracle, step->span, step->from, step->to, step->place,
				      step->wait);
	case DEPENDENCY:
		return oracle_new_dependency(oracle, step->mode);
	case ORIGIN:
		return oracle_out(oracle, step->dependency, step->span, step->to, step->place);
	case DESTINATION:
		if (step->from != step->to &&
		    oracle_suspend(oracle, step->span, step->from, step->to, step->place, -1) < 0)
			return -1;
		return oracle_in(oracle, step->dependency, step->span, step->to, step->place);
	case MARK:
		return oracle_mark(oracle, step->span, step->label, step->to, step->place);
	default:
		oracle_simplify(oracle);
		return 0;
	}
}

/* A maker that goes on from the model that this one makes. */
static struct clew_maker *go_on(struct clew_maker *maker)
{
	struct clew_model *model;

	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	assert_int_equal(clew_maker_from_model(model, &maker), 0);
	clew_model_free(model);
	return maker;
}

/* Before step `cut` all that is made becomes a model, and a maker again. */
static struct clew_model *make_again(const struct step *steps, int count, int simplifications,
				     int cut)
{
	struct clew_maker *maker;
	struct clew_model *model;

	assert_int_equal(clew_maker_new(&maker), 0);
	for (int i = 0; i < count; i++) {
		if (i == cut)
			maker = go_on(maker);
		step_maker(maker, &steps[i]);
	}
	for (int i = 0; i < simplifications; i++)
		assert_int_equal(clew_maker_simplify(maker), 0);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

static void one_trace(struct oracle *oracle, struct oracle *before)
{
	struct step steps[MAX_STEPS];
	int count = 4 + (int)draw(MAX_STEPS - 4);
	long range = 2 + draw(14);
	struct clew_maker *maker;
	struct clew_model *model, *once, *twice;
	char *expected, *text;

	*oracle = (struct oracle){0};
	assert_int_equal(clew_maker_new(&maker), 0);
	for (int i = 0; i < count; i++) {
		int wanted, r;

		steps[i] = draw_step(oracle->span_count, oracle->dependency_count, range);
		oracle_copy(before, oracle);
		wanted = step_oracle(oracle, &steps[i]);
		if (wanted < 0)
			oracle_copy(oracle, before);
		r = step_maker(maker, &steps[i]);
		if ((r < 0) != (wanted < 0))
			fail_msg("step %d of kind %d: %d instead of %d (%s)", i, steps[i].what, r,
				 wanted, clew_maker_error(maker));
		assert_int_equal(*clew_maker_error(maker) != 0, r < 0);
	}
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	expected = write_oracle(oracle);
	text = write_model(model);
	assert_string_equal(text ? text : "", expected ? expected : "");
	check_model(model);
	once = make_again(steps, count, 0, (int)draw((unsigned)count));
	assert_same_model(once, model);
	clew_model_free(once);
	once = make_again(steps, count, 1, -1);
	twice = make_again(steps, count, 2, (int)draw((unsigned)count));
	assert_same_model(once, twice);
	assert_int_equal(once->mark_count, model->mark_count);
	check_model(once);
	free(expected);
	free(text);
	oracle_simplify(oracle);
	expected = write_oracle(oracle);
	text = write_model(once);
	assert_string_equal(text ? text : "", expected ? expected : "");
	free(expected);
	free(text);
	clew_model_free(model);
	clew_model_free(once);
	clew_model_free(twice);
}

static void test_oracle(void **state)
{
	struct oracle *oracle = calloc(2, sizeof(*oracle));

	(void)state;
	assert_non_null(oracle);
	for (int i = 0; i < TRACES; i++) {
		random_state = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1);
		one_trace(oracle, oracle + 1);
	}
	free(oracle);
}

/* ---- the bulk way against the maker ---- */

#define MAX_ROWS 40

struct tables {
	struct clew_bulk_span spans[MAX_SPANS];
	struct clew_bulk_suspend suspends[MAX_ROWS];
	struct clew_bulk_dependency dependencies[MAX_ROWS];
	struct clew_bulk_endpoint endpoints[MAX_ROWS];
	struct clew_bulk_mark marks[MAX_ROWS];
	struct clew_bulk bulk;
};

static void draw_tables(struct tables *tables)
{
	static const char *const labels[] = {"a", "b", "c"};
	static const uint8_t places[] = {
		0, 0, 0, CLEW_PLACE_EARLY, CLEW_PLACE_LATE, CLEW_PLACE_SPLIT_GAP};
	struct clew_bulk *bulk = &tables->bulk;
	long range = 3 + draw(40), begin = -(long)draw(10);

	*bulk = (struct clew_bulk){.spans = tables->spans,
				   .suspends = tables->suspends,
				   .dependencies = tables->dependencies,
				   .endpoints = tables->endpoints,
				   .marks = tables->marks};
	bulk->span_count = 1 + draw(MAX_SPANS - 1);
	bulk->suspend_count = draw(4);
	bulk->dependency_count = 1 + draw(12);
	bulk->endpoint_count = draw(25);
	bulk->mark_count = draw(6);
	bulk->simplify = draw(2);
	for (size_t i = 0; i < bulk->span_count; i++) {
		long start = begin, length = range;
		uint32_t parent = CLEW_NONE;

		if (i > 0 && draw(2)) {
			parent = draw((unsigned)i);
			start = tables->spans[parent].start + (long)draw((unsigned)range);
			length = draw(6);
			if (start + length > tables->spans[parent].end)
				parent = CLEW_NONE;
		}
		tables->spans[i] = (struct clew_bulk_span){.name = labels[draw(3)],
							   .start = start,
							   .end = start + length,
							   .parent = parent,
							   .attributes = CLEW_NONE};
	}
	for (size_t i = 0; i < bulk->suspend_count; i++) {
		const struct clew_bulk_span *span =
			&tables->spans[tables->suspends[i].span = draw((unsigned)bulk->span_count)];

		tables->suspends[i].start = span->start + (long)draw((unsigned)range);
		tables->suspends[i].end = tables->suspends[i].start + (long)draw(5);
		tables->suspends[i].kind = draw(2) ? CLEW_NONE : draw(5);
		tables->suspends[i].attributes = CLEW_NONE;
	}
	for (size_t i = 0; i < bulk->dependency_count; i++)
		tables->dependencies[i] = (struct clew_bulk_dependency){
			.type = draw(2), .mode = (uint8_t)draw(3), .attributes = CLEW_NONE};
	for (size_t i = 0; i < bulk->endpoint_count; i++) {
		uint32_t span = draw((unsigned)bulk->span_count);
		long length = tables->spans[span].end - tables->spans[span].start;

		tables->endpoints[i] = (struct clew_bulk_endpoint){
			.dependency = draw((unsigned)bulk->dependency_count),
			.span = span,
			.at = tables->spans[span].start + (long)draw((unsigned)length + 1),
			.destination = draw(3) != 0,
			.place = places[draw(6)]};
	}
	for (size_t i = 0; i < bulk->mark_count; i++) {
		uint32_t span = draw((unsigned)bulk->span_count);
		long length = tables->spans[span].end - tables->spans[span].start;

		tables->marks[i] = (struct clew_bulk_mark){.span = span,
							   .label = labels[draw(3)],
							   .at = tables->spans[span].start +
								 (long)draw((unsigned)length + 1)};
	}
}

/* In the order that the bulk way documents. -errno where a row cannot be. */
static int make_rows(struct clew_maker *maker, const struct clew_bulk *bulk)
{
	uint32_t span, first = 0, dependency;
	int r = 0;

	for (size_t i = 0; r == 0 && i < bulk->span_count; i++) {
		const struct clew_bulk_span *row = &bulk->spans[i];

		if (row->parent == CLEW_NONE)
			r = clew_maker_root(maker, row->name, row->start, row->end, &span);
		else
			r = clew_maker_child(maker, row->parent, row->name, row->start, row->end,
					     &span);
		first += row->parent == CLEW_NONE ? 0 : 2;
	}
	for (size_t i = 0; r == 0 && i < bulk->suspend_count; i++)
		r = clew_maker_suspend(maker, bulk->suspends[i].span, bulk->suspends[i].start,
				       bulk->suspends[i].end, 0, bulk->suspends[i].kind,
				       bulk->suspends[i].attributes);
	for (size_t i = 0; r == 0 && i < bulk->dependency_count; i++)
		r = clew_maker_dependency(maker, bulk->dependencies[i].type,
					  bulk->dependencies[i].mode, CLEW_NONE, &dependency);
	for (size_t i = 0; r == 0 && i < bulk->endpoint_count; i++) {
		const struct clew_bulk_endpoint *row = &bulk->endpoints[i];

		if (row->destination)
			r = clew_maker_destination(maker, first + row->dependency, row->span,
						   row->at, row->at, row->place);
		else
			r = clew_maker_origin(maker, first + row->dependency, row->span, row->at,
					      row->place);
	}
	for (size_t i = 0; r == 0 && i < bulk->mark_count; i++)
		r = clew_maker_mark(maker, bulk->marks[i].span, bulk->marks[i].label,
				    bulk->marks[i].at, 0);
	return r == 0 && bulk->simplify ? clew_maker_simplify(maker) : r;
}

static void test_bulk(void **state)
{
	struct tables *tables = calloc(1, sizeof(*tables));
	int good = 0;

	(void)state;
	assert_non_null(tables);
	for (int i = 0; good < TRACES; i++) {
		struct clew_maker *one, *other;
		int wanted, r;

		random_state = 0xd6e8feb86659fd93ull * (uint64_t)(i + 1);
		draw_tables(tables);
		assert_int_equal(clew_maker_new(&one), 0);
		assert_int_equal(clew_maker_new(&other), 0);
		wanted = make_rows(one, &tables->bulk);
		r = clew_maker_bulk(other, &tables->bulk);
		if ((r < 0) != (wanted < 0))
			fail_msg("trace %d: %d (%s) instead of %d (%s)", i, r,
				 clew_maker_error(other), wanted, clew_maker_error(one));
		if (r == 0) {
			struct clew_model *a, *b;

			assert_int_equal(clew_maker_finish(one, &a), 0);
			assert_int_equal(clew_maker_finish(other, &b), 0);
			assert_same_model(a, b);
			check_model(b);
			clew_model_free(a);
			clew_model_free(b);
			good++;
		} else {
			assert_true(*clew_maker_error(other));
		}
		clew_maker_free(one);
		clew_maker_free(other);
		assert_true(i < 50 * TRACES);
	}
	free(tables);
}

/* ---- long spans, whose ESs and marks take many runs of a sequence ---- */

#define LONG_ROWS 9000

static void order_rows(struct clew_bulk_endpoint *rows, size_t count, int order)
{
	for (size_t i = order == 1 ? count / 2 : order == 2 ? count : 0; i > 0; i--) {
		size_t other = order == 1 ? count - i : draw((unsigned)i);
		struct clew_bulk_endpoint swap = rows[i - 1];

		rows[i - 1] = rows[other];
		rows[other] = swap;
	}
}

/* Rows as they happen, backwards, and in no order. */
static void test_long_spans(void **state)
{
	static const char *const labels[] = {"a", "b", "c"};
	struct clew_bulk_endpoint *ends = calloc(LONG_ROWS, sizeof(*ends));
	struct clew_bulk_mark *marks = calloc(LONG_ROWS, sizeof(*marks));
	struct clew_bulk_dependency dependency = {.attributes = CLEW_NONE, .mode = CLEW_MODE_OR};
	struct clew_bulk_suspend suspends[200];
	struct clew_bulk_span spans[] = {{"x", 0, 4000, CLEW_NONE, CLEW_NONE},
					 {"y", 0, 4000, CLEW_NONE, CLEW_NONE}};

	(void)state;
	assert_true(ends && marks);
	random_state = 17;
	for (uint32_t i = 0; i < 200; i++)
		suspends[i] = (struct clew_bulk_suspend){.span = i % 2,
							 .kind = i % 5,
							 .attributes = CLEW_NONE,
							 .start = 20 * i + 2,
							 .end = 20 * i + 2 + draw(15)};
	for (int order = 0; order < 6; order++) {
		const struct clew_bulk bulk = {.spans = spans,
					       .suspends = suspends,
					       .dependencies = &dependency,
					       .endpoints = ends,
					       .marks = marks,
					       .span_count = 2,
					       .suspend_count = 200,
					       .dependency_count = 1,
					       .endpoint_count = LONG_ROWS,
					       .mark_count = LONG_ROWS,
					       .simplify = order >= 3};
		struct clew_maker *one, *other;
		struct clew_model *a, *b;

		for (uint32_t i = 0; i < LONG_ROWS; i++)
			ends[i] = (struct clew_bulk_endpoint){
				.span = draw(2),
				.at = i * 4000 / LONG_ROWS,
				.destination = draw(2) != 0,
				.place = CLEW_PLACE_SPLIT_GAP | (draw(3) ? 0 : 1u << draw(2))};
		order_rows(ends, LONG_ROWS, order % 3);
		for (uint32_t i = 0; i < LONG_ROWS; i++)
			marks[i] = (struct clew_bulk_mark){
				.span = ends[i].span, .label = labels[draw(3)], .at = ends[i].at};
		assert_int_equal(clew_maker_new(&one), 0);
		assert_int_equal(clew_maker_new(&other), 0);
		if (make_rows(one, &bulk) < 0 || clew_maker_bulk(other, &bulk) < 0)
			fail_msg("%s%s", clew_maker_error(one), clew_maker_error(other));
		assert_int_equal(clew_maker_finish(one, &a), 0);
		assert_int_equal(clew_maker_finish(other, &b), 0);
		assert_true(a->es_count > 4000);
		assert_int_equal(a->mark_count, LONG_ROWS);
		assert_same_model(a, b);
		check_model(a);
		clew_model_free(a);
		clew_model_free(b);
		clew_maker_free(one);
		clew_maker_free(other);
	}
	free(ends);
	free(marks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_oracle),
					   cmocka_unit_test(test_bulk),
					   cmocka_unit_test(test_long_spans)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
