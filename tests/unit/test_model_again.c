/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A maker of a finished model: what has a name is found there as it was, what is added
 * comes where it would have come, and a model that no maker could have made is refused.
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

static struct clew_model *finish(struct clew_maker *maker)
{
	struct clew_model *model;

	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

static char *notation(const struct clew_model *model)
{
	char *text = NULL, message[200] = "";
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	if (clew_notation_write(model, out, message, sizeof(message)) != 0)
		fail_msg("%s", message);
	fclose(out);
	return text;
}

/* The first half of a trace. */
static void make_first(struct clew_maker *maker)
{
	static const char *const pairs[] = {"object", "file:x", "call", "fsync"};
	uint32_t hierarchy, category, child, span, attributes, dependency, type;

	clew_maker_set_unit(maker, 1000);
	assert_int_equal(clew_maker_hierarchy(maker, "processes", &hierarchy), 0);
	assert_int_equal(clew_maker_hierarchy(maker, "cpus", &hierarchy), 0);
	assert_int_equal(clew_maker_category(maker, 0, CLEW_NONE, "init", &category), 0);
	assert_int_equal(clew_maker_category(maker, 0, category, "server", &child), 0);
	assert_int_equal(clew_maker_root(maker, "a", 0, 100, &span), 0);
	assert_int_equal(clew_maker_place(maker, span, child), 0);
	assert_int_equal(clew_maker_child(maker, span, "read", 10, 90, &span), 0);
	assert_int_equal(clew_maker_attributes(maker, pairs, 2, &attributes), 0);
	assert_int_equal(clew_maker_suspend(maker, span, 20, 30, 0, CLEW_WAIT_FSYNC, attributes),
			 0);
	assert_int_equal(clew_maker_suspend(maker, span, 40, 50, 0, CLEW_WAIT_SLEEP, CLEW_NONE), 0);
	assert_int_equal(clew_maker_set_span_attributes(maker, span, attributes), 0);
	assert_int_equal(clew_maker_root(maker, "b", 0, 100, &span), 0);
	assert_int_equal(clew_maker_root(maker, "b", 0, 100, &span), 0);
	assert_int_equal(clew_maker_place(maker, span, category), 0);
	assert_int_equal(clew_maker_type(maker, "send", &type), 0);
	assert_int_equal(clew_maker_dependency(maker, type, CLEW_MODE_AND, attributes, &dependency),
			 0);
	assert_int_equal(clew_maker_origin(maker, dependency, 0, 5, 0), 0);
	assert_int_equal(clew_maker_mark(maker, 0, "first", 5, 0), 0);
}

/* Queries that find something of the first half, and of the second. */
static void make_second(struct clew_maker *maker)
{
	static const char *const pairs[] = {"object", "file:x", "call", "fsync"},
				 *const others[] = {"key", "17"};
	uint32_t number, init;
	bool is_ambiguous;

	assert_int_equal(clew_maker_hierarchy(maker, "cpus", &number), -EEXIST);
	assert_int_equal(clew_maker_hierarchy(maker, "devices", &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(clew_maker_category(maker, 0, CLEW_NONE, "init", &init), 0);
	assert_int_equal(init, 0);
	assert_int_equal(clew_maker_category(maker, 0, init, "server", &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(clew_maker_category(maker, 0, init, "client", &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(clew_maker_place(maker, 0, init), -EEXIST);
	assert_int_equal(clew_maker_place(maker, 2, number), 0);
	assert_int_equal(clew_maker_attributes(maker, others, 1, &number), 0);
	assert_int_equal(number, 1);
	assert_int_equal(clew_maker_attributes(maker, pairs, 2, &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(
		clew_maker_find_span(maker, (const char *const[]){"a", "read"}, 2, &is_ambiguous),
		1);
	assert_false(is_ambiguous);
	assert_int_equal(clew_maker_find_span(maker, (const char *const[]){"b"}, 1, &is_ambiguous),
			 2);
	assert_true(is_ambiguous);
	assert_int_equal(clew_maker_suspend(maker, 1, 60, 70, 0, CLEW_WAIT_SLEEP, CLEW_NONE), 0);
	assert_int_equal(clew_maker_type(maker, "send", &number), 0);
	assert_int_equal(number, 2);
	assert_int_equal(clew_maker_origin(maker, 2, 2, 8, 0), 0);
	assert_int_equal(clew_maker_origin(maker, 2, 3, 3, 0), 0);
	assert_int_equal(clew_maker_destination(maker, 2, 3, 8, 9, 0), 0);
	assert_int_equal(clew_maker_mark(maker, 0, "second", 5, 0), 0);
	assert_int_equal(clew_maker_child(maker, 3, "below", 20, 30, &number), 0);
	assert_int_equal(clew_maker_root(maker, "c", 0, 1, &number), 0);
}

static void test_going_on(void **state)
{
	struct clew_maker *once, *again;
	struct clew_model *model, *other;
	char *expected, *text;

	(void)state;
	assert_int_equal(clew_maker_new(&once), 0);
	make_first(once);
	make_second(once);
	model = finish(once);
	expected = notation(model);
	clew_model_free(model);
	assert_int_equal(clew_maker_new(&again), 0);
	make_first(again);
	model = finish(again);
	assert_int_equal(clew_maker_from_model(model, &again), 0);
	make_second(again);
	other = finish(again);
	/* The first model is as it was. */
	assert_int_equal(model->span_count, 4);
	clew_model_free(model);
	text = notation(other);
	assert_string_equal(text, expected);
	/* Waits of a kind without attributes are one, as before. */
	assert_int_equal(other->wait_count, 2);
	free(text);
	free(expected);
	clew_model_free(other);
}

static void assert_refused(const struct clew_model *like, const struct clew_model *arrays)
{
	struct clew_maker *maker;
	struct clew_model *model;

	assert_int_equal(clew_model_from_arrays(like, arrays, &model), 0);
	assert_int_equal(clew_maker_from_model(model, &maker), -EINVAL);
	clew_model_free(model);
}

static void test_refused(void **state)
{
	struct clew_maker *maker;
	struct clew_model *model, bad;
	struct clew_es *es;
	struct clew_dependency *dependencies;
	struct clew_mark marks[1];

	(void)state;
	assert_int_equal(clew_maker_new(&maker), 0);
	make_first(maker);
	model = finish(maker);
	es = calloc(model->es_count, sizeof(*es));
	dependencies = calloc(model->dependency_count, sizeof(*dependencies));
	assert_true(es && dependencies);
	memcpy(dependencies, model->dependencies, model->dependency_count * sizeof(*dependencies));
	bad = *model;
	bad.waits = NULL;
	bad.types = NULL;
	bad.attribute_lists = NULL;
	bad.categories = NULL;
	bad.es = es;
	bad.dependencies = dependencies;
	for (int fault = 0; fault < 8; fault++) {
		memcpy(es, model->es, model->es_count * sizeof(*es));
		memcpy(dependencies, model->dependencies,
		       model->dependency_count * sizeof(*dependencies));
		bad.marks = model->marks;
		switch (fault) {
		case 0: /* it leaves its span */
			es[0].start--;
			break;
		case 1:
			es[model->es_count - 1].end++;
			break;
		case 2: /* it overlaps the next one */
			es[0].end = es[1].end;
			break;
		case 3: /* it is another span's */
			es[1].span = 2;
			break;
		case 4: /* a link that its dependency does not know */
			es[model->es_count - 1].out = 0;
			break;
		case 5: /* and the other way round */
			es[0].out = CLEW_NONE;
			break;
		case 6: /* two origins of one alone */
			dependencies[0].origins = (struct clew_range){0, 2};
			break;
		case 7: /* a mark beyond its ES */
			marks[0] = model->marks[0];
			marks[0].at = 7;
			bad.marks = marks;
			break;
		}
		assert_refused(model, &bad);
	}
	free(es);
	free(dependencies);
	clew_model_free(model);
}

static void test_empty(void **state)
{
	struct clew_maker *maker;
	struct clew_model *model;
	uint32_t type;

	(void)state;
	assert_int_equal(clew_maker_new(&maker), 0);
	model = finish(maker);
	assert_int_equal(clew_maker_from_model(model, &maker), 0);
	clew_model_free(model);
	assert_int_equal(clew_maker_type(maker, "return", &type), 0);
	assert_int_equal(type, CLEW_DEPENDENCY_RETURN);
	clew_model_free(finish(maker));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_going_on),
					   cmocka_unit_test(test_refused),
					   cmocka_unit_test(test_empty)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
