/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notation: what is written reads back to the same trace, for random traces made by
 * random operations, with names and attributes of any bytes.
 */
#include <clew/model_make.h>
#include <clew/notation.h>
#include <clew/tokens.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TRACES 12000u

/* ---- are two models the same? ---- */

static const char *same_string(const struct clew_model *a, uint32_t x, const struct clew_model *b,
			       uint32_t y, const char *what)
{
	return strcmp(clew_model_string(a, x), clew_model_string(b, y)) ? what : NULL;
}

static const char *same_attributes(const struct clew_model *a, uint32_t x,
				   const struct clew_model *b, uint32_t y)
{
	uint32_t i, j, count;

	if (x == CLEW_NONE || y == CLEW_NONE)
		return x == y ? NULL : "attributes of one";
	i = a->attribute_lists[x];
	j = b->attribute_lists[y];
	count = a->attribute_lists[x + 1] - i;
	if (count != b->attribute_lists[y + 1] - j)
		return "count of attributes";
	for (; count-- > 0; i++, j++)
		if (same_string(a, a->attributes[i].key, b, b->attributes[j].key, "key") ||
		    same_string(a, a->attributes[i].value, b, b->attributes[j].value, "value"))
			return "an attribute";
	return NULL;
}

static const char *same_es(const struct clew_model *a, const struct clew_model *b, uint32_t i)
{
	const struct clew_es *x = &a->es[i], *y = &b->es[i];

	if (x->start != y->start || x->end != y->end || x->span != y->span || x->in != y->in ||
	    x->out != y->out || x->mark != y->mark)
		return "an elementary span";
	if (x->wait == CLEW_NONE || y->wait == CLEW_NONE)
		return x->wait == y->wait ? NULL : "a wait of one";
	if (a->waits[x->wait].kind != b->waits[y->wait].kind)
		return "the kind of a wait";
	return same_attributes(a, a->waits[x->wait].attributes, b, b->waits[y->wait].attributes);
}

static bool same_numbers(const uint32_t *a, struct clew_range x, const uint32_t *b,
			 struct clew_range y)
{
	for (uint32_t i = 0; i < x.count; i++)
		if (a[x.first + i] != b[y.first + i])
			return false;
	return true;
}

static const char *same_dependency(const struct clew_model *a, const struct clew_model *b,
				   uint32_t i)
{
	const struct clew_dependency *x = &a->dependencies[i], *y = &b->dependencies[i];

	if (x->type != y->type || x->mode != y->mode || x->origins.count != y->origins.count ||
	    x->destinations.count != y->destinations.count)
		return "a dependency";
	if (!same_numbers(a->origins, x->origins, b->origins, y->origins) ||
	    !same_numbers(a->destinations, x->destinations, b->destinations, y->destinations))
		return "endpoints of a dependency";
	return same_attributes(a, x->attributes, b, y->attributes);
}

static const char *same_span(const struct clew_model *a, const struct clew_model *b, uint32_t i)
{
	const struct clew_span *x = &a->spans[i], *y = &b->spans[i];

	if (x->start != y->start || x->end != y->end || x->parent != y->parent ||
	    x->first_child != y->first_child || x->next_sibling != y->next_sibling ||
	    memcmp(&x->elementary, &y->elementary, sizeof(x->elementary)))
		return "a span";
	for (uint32_t h = 0; h < a->hierarchy_count; h++)
		if (clew_model_category_of(a, i, h) != clew_model_category_of(b, i, h))
			return "where a span is";
	return same_string(a, x->name, b, y->name, "the name of a span")
		       ?: same_attributes(a, x->attributes, b, y->attributes);
}

static const char *same_categories(const struct clew_model *a, const struct clew_model *b)
{
	for (uint32_t i = 0; i < a->hierarchy_count; i++)
		if (same_string(a, a->hierarchies[i], b, b->hierarchies[i], "hierarchy"))
			return "a hierarchy";
	for (uint32_t i = 0; i < a->category_count; i++) {
		const struct clew_category *x = &a->categories[i], *y = &b->categories[i];
		uint32_t count, other_count;
		const uint32_t *spans = clew_model_category_spans(a, i, &count);
		const uint32_t *other = clew_model_category_spans(b, i, &other_count);

		if (x->hierarchy != y->hierarchy || x->parent != y->parent ||
		    x->first_child != y->first_child || x->next_sibling != y->next_sibling ||
		    same_string(a, x->name, b, y->name, "name"))
			return "a category";
		if (count != other_count || (count && memcmp(spans, other, count * sizeof(*spans))))
			return "what is in a category";
	}
	return NULL;
}

/* The first difference, or NULL. */
static const char *difference(const struct clew_model *a, const struct clew_model *b)
{
	const char *what = NULL;

	if (a->unit != b->unit || a->es_count != b->es_count || a->span_count != b->span_count ||
	    a->dependency_count != b->dependency_count || a->mark_count != b->mark_count ||
	    a->category_count != b->category_count || a->hierarchy_count != b->hierarchy_count ||
	    a->type_count != b->type_count || a->first_root != b->first_root)
		return "counts";
	for (uint32_t i = 0; i < a->type_count && !what; i++)
		what = same_string(a, a->types[i], b, b->types[i], "a type");
	for (uint32_t i = 0; i < a->span_count && !what; i++)
		what = same_span(a, b, i);
	for (uint32_t i = 0; i < a->es_count && !what; i++)
		what = same_es(a, b, i);
	for (uint32_t i = 0; i < a->mark_count && !what; i++)
		what = a->marks[i].at != b->marks[i].at
			       ? "the moment of a mark"
			       : same_string(a, a->marks[i].label, b, b->marks[i].label, "a label");
	for (uint32_t i = 0; i < a->dependency_count && !what; i++)
		what = same_dependency(a, b, i);
	return what ?: same_categories(a, b);
}

/* ---- random traces ---- */

static uint64_t state_of_random;

static uint32_t random_below(uint32_t count)
{
	state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state_of_random >> 33) % count);
}

/* Mostly plain, sometimes of any bytes. */
static const char *random_name(char *name)
{
	static const char odd[] = " \t\n\r\v#/@{},()[]\\=:.-~>\"'\xc3\xa9\x80\x01";
	uint32_t length;

	if (random_below(4)) {
		name[0] = (char)('a' + random_below(4));
		name[1] = '\0';
		return name;
	}
	length = 1 + random_below(5);
	for (uint32_t i = 0; i < length; i++)
		name[i] = random_below(3) ? odd[random_below(sizeof(odd) - 1)]
					  : (char)('0' + random_below(10));
	name[length] = '\0';
	return name;
}

static uint32_t random_attributes(struct clew_maker *maker)
{
	char keys[3][8], values[3][8];
	const char *pairs[6];
	uint32_t count, list;

	if (random_below(3))
		return CLEW_NONE;
	count = 1 + random_below(3);
	for (uint32_t i = 0; i < count; i++) {
		keys[i][0] = (char)('0' + i);
		random_name(keys[i] + 1);
		pairs[2 * i] = keys[i];
		pairs[2 * i + 1] = random_below(5) ? random_name(values[i]) : "";
	}
	assert_int_equal(clew_maker_attributes(maker, pairs, count, &list), 0);
	return list;
}

struct shape {
	uint32_t length; /* of a root span: with few moments much falls on one */
	uint32_t operations;
	bool names; /* of any bytes, with attributes and categories */
	bool exact; /* also what only a producer of arrays does */
};

static unsigned random_place(const struct shape *shape)
{
	static const unsigned places[] = {
		0, 0, 0, CLEW_PLACE_EARLY, CLEW_PLACE_LATE, CLEW_PLACE_SPLIT_GAP};

	if (shape->exact && !random_below(6))
		return CLEW_PLACE_NUMBER(random_below(3));
	return places[random_below(sizeof(places) / sizeof(places[0]))];
}

static clew_time random_moment(const struct shape *shape)
{
	return (clew_time)random_below(shape->length + 1) - shape->length / 4;
}

static void random_operation(struct clew_maker *maker, const struct shape *shape, uint32_t *spans,
			     uint32_t *dependencies)
{
	clew_time at = random_moment(shape), other = random_moment(shape),
		  start = at < other ? at : other, end = at < other ? other : at;
	uint32_t span = random_below(*spans), made,
		 wait_kind = random_below(2) ? CLEW_NONE : random_below(CLEW_WAIT_KIND_COUNT);
	char name[16];

	switch (random_below(shape->exact ? 12 : 9)) {
	case 0:
		if (clew_maker_root(maker, random_name(name), start, end, &made) == 0) {
			++*spans;
			if (shape->names)
				clew_maker_set_span_attributes(maker, made,
							       random_attributes(maker));
		}
		break;
	case 1:
	case 2:
		if (clew_maker_child(maker, span, random_name(name), start, end, &made) == 0) {
			++*spans;
			*dependencies += 2;
		}
		break;
	case 3:
		clew_maker_suspend(maker, span, start, end,
				   random_below(3) ? 0
						   : CLEW_PLACE_SPLIT_ENDS | CLEW_PLACE_SPLIT_MARKS,
				   wait_kind,
				   wait_kind != CLEW_NONE && shape->names ? random_attributes(maker)
									  : CLEW_NONE);
		break;
	case 4:
		clew_maker_mark(maker, span, random_name(name), at,
				random_below(3) ? 0 : CLEW_PLACE_SPLIT_GAP);
		break;
	case 9:
		if (clew_maker_child_alone(maker, span, random_name(name), start, end, &made) == 0)
			++*spans;
		break;
	case 10:
		clew_maker_split(maker, span, at);
		break;
	case 11:
		/* An endpoint of an older dependency. */
		if (*dependencies)
			clew_maker_destination(maker, random_below(*dependencies), span, at, at,
					       random_place(shape));
		break;
	default: {
		uint32_t type, origins = random_below(4), destinations = random_below(3) + !origins;
		enum clew_mode mode =
			origins > 1 || !random_below(5) ? 1 + random_below(2) : CLEW_MODE_SINGLE;

		clew_maker_type(maker, random_name(name), &type);
		assert_int_equal(
			clew_maker_dependency(maker, type, mode,
					      shape->names ? random_attributes(maker) : CLEW_NONE,
					      &made),
			0);
		++*dependencies;
		while (origins-- > 0)
			clew_maker_origin(maker, made, random_below(*spans), random_moment(shape),
					  random_place(shape));
		while (destinations-- > 0) {
			clew_time to = random_moment(shape);

			clew_maker_destination(maker, made, random_below(*spans),
					       random_below(4) ? to
							       : to - (clew_time)random_below(5),
					       to, random_place(shape));
		}
	}
	}
}

static void random_places(struct clew_maker *maker, const struct shape *shape, uint32_t spans)
{
	uint32_t hierarchies[2], category = CLEW_NONE;
	char name[16];

	if (clew_maker_hierarchy(maker, random_name(name), &hierarchies[0]) < 0 ||
	    clew_maker_hierarchy(maker, random_name(name), &hierarchies[1]) < 0)
		return;
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t parent = random_below(2) ? CLEW_NONE : category;

		if (clew_maker_category(maker, hierarchies[random_below(2)], parent,
					random_name(name), &category) < 0)
			continue;
		clew_maker_place(maker, shape->exact ? random_below(spans) : i, category);
	}
}

static struct clew_model *random_model(uint32_t seed)
{
	static const uint32_t units[] = {1, 1000, 1000000, 1000000000};
	struct shape shape;
	struct clew_maker *maker;
	struct clew_model *model;
	uint32_t spans = 1, dependencies = 0, first, type;

	state_of_random = seed * UINT64_C(0x9e3779b97f4a7c15);
	random_below(2);
	shape = (struct shape){
		.length = random_below(2) ? 3 + random_below(6) : 100,
		.operations = 1 + random_below(20),
		.names = random_below(2),
		.exact = !random_below(3),
	};
	assert_int_equal(clew_maker_new(&maker), 0);
	clew_maker_set_unit(maker, units[random_below(4)]);
	if (!random_below(4))
		clew_maker_type(maker, "early type", &type);
	assert_int_equal(clew_maker_root(maker, "a", -(clew_time)(shape.length / 4),
					 shape.length - shape.length / 4, &first),
			 0);
	for (uint32_t i = 0; i < shape.operations; i++) {
		random_operation(maker, &shape, &spans, &dependencies);
		if (!random_below(40))
			clew_maker_simplify(maker);
	}
	if (shape.names)
		random_places(maker, &shape, spans);
	if (random_below(2))
		clew_maker_simplify(maker);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

static char *write_text(const struct clew_model *model, size_t *ret_length)
{
	char message[300], *text = NULL;
	FILE *out = open_memstream(&text, ret_length);

	assert_non_null(out);
	if (clew_notation_write(model, out, message, sizeof(message)) < 0)
		fail_msg("cannot be written: %s", message);
	fclose(out);
	return text;
}

static void random_traces_round_trip(void **state)
{
	uint32_t exact = 0, plain = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= TRACES; seed++) {
		struct clew_model *model = random_model(seed), *again;
		size_t length, length_again;
		char *text = write_text(model, &length), *text_again, message[300];
		const char *what;

		if (clew_notation_read(text, length, NULL, &again, message, sizeof(message)) < 0)
			fail_msg("seed %u: %s\n%s", seed, message, text);
		what = difference(model, again);
		text_again = write_text(again, &length_again);
		if (what)
			fail_msg("seed %u: differs in %s:\n%s---\n%s", seed, what, text,
				 text_again);
		if (length != length_again || memcmp(text, text_again, length) != 0)
			fail_msg("seed %u: written otherwise the second time:\n%s---\n%s", seed,
				 text, text_again);
		if (strstr(text, "\nsplit "))
			exact++;
		else
			plain++;
		free(text);
		free(text_again);
		clew_model_free(model);
		clew_model_free(again);
	}
	/* Both ways of writing were in it. */
	assert_in_range(plain, TRACES / 4, TRACES);
	assert_in_range(exact, 100, TRACES / 2);
	print_message("# %u plain, %u exact\n", plain, exact);
}

/* A span whose ESs overlap, or with a link of one side alone: no operations make that. */
static void what_cannot_be_said(void **state)
{
	struct clew_es es[2] = {{.start = 0,
				 .end = 60,
				 .span = 0,
				 .in = CLEW_NONE,
				 .out = CLEW_NONE,
				 .wait = CLEW_NONE},
				{.start = 40,
				 .end = 100,
				 .span = 0,
				 .in = CLEW_NONE,
				 .out = CLEW_NONE,
				 .wait = CLEW_NONE}};
	struct clew_model *like, *model, arrays;
	char message[300], *text = NULL;
	struct clew_maker *maker;
	uint32_t span, dependency;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	assert_non_null(out);
	assert_int_equal(clew_maker_new(&maker), 0);
	assert_int_equal(clew_maker_root(maker, "a", 0, 100, &span), 0);
	assert_int_equal(clew_maker_dependency(maker, CLEW_DEPENDENCY_CALL, CLEW_MODE_SINGLE,
					       CLEW_NONE, &dependency),
			 0);
	assert_int_equal(clew_maker_finish(maker, &like), 0);
	clew_maker_free(maker);
	for (int broken = 0; broken < 3; broken++) {
		struct clew_span only = like->spans[0];

		es[1].start = broken == 0 ? 40 : 60;
		es[1].in = broken == 1 ? 0 : CLEW_NONE;
		only.elementary = (struct clew_range){0, 2};
		only.end = broken == 2 ? 110 : 100;
		arrays = *like;
		arrays.es = es;
		arrays.es_count = 2;
		arrays.spans = &only;
		assert_int_equal(clew_model_from_arrays(like, &arrays, &model), 0);
		assert_int_equal(clew_notation_write(model, out, message, sizeof(message)),
				 -EINVAL);
		assert_true(strlen(message) > 10);
		clew_model_free(model);
	}
	fclose(out);
	assert_int_equal(length, 0);
	free(text);
	clew_model_free(like);
}

static void errors_of_loading(void **state)
{
	const struct clew_load_options named = {.size = sizeof(named), .name = "some name"};
	struct clew_model *model;
	char message[300];

	(void)state;
	assert_int_equal(clew_notation_read("span a [0,1]\n span\n", 19, &named, &model, message,
					    sizeof(message)),
			 -EINVAL);
	assert_string_equal(message, "some name:2:6: the name of a span is missing here");
	/* A message that has no room is cut. */
	assert_int_equal(clew_notation_read("span", 4, &named, &model, message, 8), -EINVAL);
	assert_string_equal(message, "some na");
	assert_int_equal(clew_model_load("/no/such/file", NULL, &model, message, sizeof(message)),
			 -ENOENT);
	assert_string_equal(message, "");
	assert_int_equal(clew_notation_read("", 0, NULL, &model, message, sizeof(message)), 0);
	assert_int_equal(model->span_count, 0);
	clew_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_said),
		cmocka_unit_test(errors_of_loading),
		cmocka_unit_test(random_traces_round_trip),
	};

	return cmocka_run_group_tests_name("notation", tests, NULL, NULL);
}
