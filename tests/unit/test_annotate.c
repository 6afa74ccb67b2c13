/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Marks where dependencies are: on the shared trace, and on random ones against a maker
 * that puts them there one by one.
 */
#include <clew/annotate.h>
#include <clew/model_make.h>
#include <clew/notation.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model_text.h"
#include "random_model.h"

enum { ROUNDS = 12000, MOST_RULES = 4 };

static struct clew_annotation *compile(const char *text)
{
	struct clew_annotation *rules;
	struct clew_query_error error;
	int r = clew_annotation_compile(text, strlen(text), &rules, &error);

	if (r < 0)
		print_error("%s: byte %zu: %s\n", text, error.offset, error.message);
	assert_int_equal(r, 0);
	return rules;
}

static const char trace1[] = "span s0.0.0 [0,100]\n"
			     "span s0.0.0/0 [10,90]\n"
			     "span s0.0.0/0/3 [40,70]\n"
			     "span s0.1.0 [30,70]\n"
			     "span s1.0.0 [30,50]\n"
			     "mark s0.0.0 start@0\n"
			     "mark s0.0.0 end@100\n"
			     "dep spawn s0.0.0/0@20 -> s0.1.0@30\n"
			     "dep spawn s0.0.0/0@30 -> s1.0.0@30\n"
			     "dep send s1.0.0@35 -> s0.1.0@40\n"
			     "dep signal s0.1.0@50 -> s0.0.0/0/3@(50~60)\n"
			     "simplify\n";

static struct clew_model *read_trace(const char *text)
{
	struct clew_model *model;
	char message[200];

	assert_int_equal(
		clew_notation_read(text, strlen(text), NULL, &model, message, sizeof(message)), 0);
	return model;
}

static void test_trace1(void **state)
{
	static const char rules_text[] =
		"mark outgoing dependencies(spawn) of spans(**) as label(go);\n"
		"# and the other way\n"
		"mark incoming dependencies(all) of spans(s0.1.0, s0.0.0/0/3) as label(in-);";
	struct clew_annotation *rules = compile(rules_text);
	struct clew_model *model = read_trace(trace1), *annotated;
	struct clew_query_error error;
	uint64_t marks[2];
	static const char *const expected[] = {
		"[0,10]{start@0}>call | <return[90,100]{end@100}",
		"<call[10,20]{go0@20}>spawn | [20,30]{go1@30}>spawn | [30,40]>call | "
		"<return[70,90]>return",
		"<call[40,50]{in-0@40} | <signal[60,70]{in-1@60}>return",
		"<spawn[30,40]{in-0@30 in-1@40} | <send[40,50]>signal | [50,70]",
		"<spawn[30,35]>send | [35,50]",
	};

	(void)state;
	assert_int_equal(clew_annotate(model, rules, NULL, &annotated, marks, &error), 0);
	assert_int_equal(marks[0], 2);
	assert_int_equal(marks[1], 4);
	for (uint32_t i = 0; i < annotated->span_count; i++) {
		char *text = text_span(annotated, i);

		assert_string_equal(text, expected[i]);
		free(text);
	}
	clew_model_free(annotated);
	clew_model_free(model);
	clew_annotation_free(rules);
}

struct error_case {
	const char *rules;
	size_t offset;
	const char *words;
};

static void test_errors(void **state)
{
	static const struct error_case cases[] = {
		{"label incoming", 0, "mark"},
		{"mark both dependencies(all) of spans(**) as label(x);", 5, "incoming"},
		{"mark incoming dependencies() of spans(**) as label(x);", 27, "type"},
		{"mark incoming dependencies(nothing) of spans(**) as label(x);", 27,
		 "no dependency of that type"},
		{"mark incoming dependencies(send, nothing) of spans(**) as label(x);", 33,
		 "no dependency of that type"},
		{"mark incoming dependencies(all) of spans(a @ 0%) as label(x);", 40, "spans"},
		{"mark incoming dependencies(all) of spans(a > b) as label(x);", 41, "hierarchy"},
		{"mark incoming dependencies(all) of spans(**) as label();", 53, "name"},
		{"mark incoming dependencies(all) of spans(**) as label(x)", 56, "semicolon"},
	};
	struct clew_model *model = read_trace(trace1);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clew_query_error error = {};
		struct clew_annotation *rules = NULL;
		struct clew_model *annotated;
		int r = clew_annotation_compile(cases[i].rules, strlen(cases[i].rules), &rules,
						&error);

		if (r == 0)
			r = clew_annotate(model, rules, NULL, &annotated, NULL, &error);
		assert_int_equal(r, -EINVAL);
		if (error.offset != cases[i].offset || !strstr(error.message, cases[i].words))
			fail_msg("'%s': byte %zu: %s", cases[i].rules, error.offset, error.message);
		clew_annotation_free(rules);
	}
	clew_model_free(model);
}

/* ---- random traces ---- */

static struct clew_model *names(void)
{
	struct clew_maker *maker = random_names();
	struct clew_model *model;
	uint32_t number;

	assert_int_equal(clew_maker_type(maker, "wake", &number), 0);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

/* With marks at the ends of some ESs already. */
static struct clew_model *random_trace(struct random_model *m, const struct clew_model *like)
{
	static const struct random_shape shape = {
		.spans = 5, .es = 7, .gaps = true, .backwards = true, .several = true};
	struct clew_model arrays, *bare, *model;
	struct clew_maker *maker;

	random_model(m, &shape);
	for (uint32_t i = 0; i < m->model.span_count; i++)
		m->spans[i].name = like->spans[i].name;
	for (uint32_t i = 0; i < m->model.dependency_count; i++)
		m->dependencies[i].type = (2 + pick(m, 2)) & 0xffffff;
	arrays = m->model;
	arrays.types = NULL;
	assert_int_equal(clew_model_from_arrays(like, &arrays, &bare), 0);
	assert_int_equal(clew_maker_from_model(bare, &maker), 0);
	for (unsigned i = pick(m, 6); i > 0; i--) {
		const struct clew_es *es = &bare->es[pick(m, bare->es_count)];

		assert_int_equal(clew_maker_mark(maker, es->span, "old",
						 pick(m, 2) ? es->start : es->end, 0),
				 0);
	}
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	clew_model_free(bare);
	return model;
}

/* A rule as the text has it. */
struct drawn {
	bool incoming;
	unsigned types; /* 0: send, 1: wake, 2: all */
	unsigned span;	/* 0: all */
};

static struct clew_model *mark_one_by_one(const struct clew_model *model, const struct drawn *rules,
					  unsigned count)
{
	struct clew_maker *maker;
	struct clew_model *marked;

	assert_int_equal(clew_maker_from_model(model, &maker), 0);
	for (uint32_t span = 0; span < model->span_count; span++)
		for (unsigned rule = 0; rule < count; rule++) {
			struct clew_range range = model->spans[span].elementary;
			unsigned number = 0;

			if (rules[rule].span && rules[rule].span - 1 != span)
				continue;
			for (uint32_t i = range.first; i < range.first + range.count; i++) {
				const struct clew_es *es = &model->es[i];
				uint32_t dependency = rules[rule].incoming ? es->in : es->out;
				char label[32];

				if (dependency == CLEW_NONE ||
				    (rules[rule].types < 2 &&
				     model->dependencies[dependency].type != 2 + rules[rule].types))
					continue;
				snprintf(label, sizeof(label), "r%u-%u", rule, number++);
				assert_int_equal(
					clew_maker_mark(maker, span, label,
							rules[rule].incoming ? es->start : es->end,
							0),
					0);
			}
		}
	assert_int_equal(clew_maker_finish(maker, &marked), 0);
	clew_maker_free(maker);
	return marked;
}

static void assert_same(const struct clew_model *a, const struct clew_model *b)
{
	assert_int_equal(a->es_count, b->es_count);
	assert_int_equal(a->mark_count, b->mark_count);
	assert_memory_equal(a->es, b->es, a->es_count * sizeof(*a->es));
	for (uint32_t i = 0; i < a->mark_count; i++) {
		assert_int_equal(a->marks[i].at, b->marks[i].at);
		assert_string_equal(clew_model_string(a, a->marks[i].label),
				    clew_model_string(b, b->marks[i].label));
	}
	assert_int_equal(a->dependency_count, b->dependency_count);
	for (uint32_t i = 0; i < a->dependency_count; i++)
		assert_memory_equal(&a->dependencies[i], &b->dependencies[i],
				    sizeof(a->dependencies[i]));
}

static void test_random(void **state)
{
	static const char *const types[] = {"send", "wake", "all"};
	struct random_model m = {.seed = 0x2545f4914f6cdd1d};
	struct clew_model *like = names();
	uint64_t made = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_model *model = random_trace(&m, like), *expected, *got;
		unsigned count = 1 + pick(&m, MOST_RULES);
		struct drawn drawn[MOST_RULES];
		struct clew_annotation *rules;
		struct clew_query_error error;
		uint64_t marks[MOST_RULES], sum = 0;
		char text[MOST_RULES * 96];
		size_t length = 0;

		for (unsigned i = 0; i < count; i++) {
			char span[16] = "**";

			drawn[i] = (struct drawn){pick(&m, 2), pick(&m, 3),
						  pick(&m, 2) ? 1 + pick(&m, 5) : 0};
			if (drawn[i].span)
				snprintf(span, sizeof(span), "s%u", drawn[i].span - 1);
			length += (size_t)snprintf(
				text + length, sizeof(text) - length,
				"mark %s dependencies(%s) of spans(%s) as label(r%u-);\n",
				drawn[i].incoming ? "incoming" : "outgoing", types[drawn[i].types],
				span, i);
		}
		rules = compile(text);
		assert_int_equal(clew_annotate(model, rules, NULL, &got, marks, &error), 0);
		expected = mark_one_by_one(model, drawn, count);
		assert_same(expected, got);
		for (unsigned i = 0; i < count; i++)
			sum += marks[i];
		assert_int_equal(sum, got->mark_count - model->mark_count);
		made += sum;
		clew_annotation_free(rules);
		clew_model_free(expected);
		clew_model_free(got);
		clew_model_free(model);
	}
	assert_true(made > ROUNDS);
	clew_model_free(like);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_trace1),
					   cmocka_unit_test(test_errors),
					   cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
