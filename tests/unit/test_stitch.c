/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stitching, case by case: the shared trace divided and stitched, what statements find,
 * which names get a number, what becomes of moments and names within attributes.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <clew/model_make.h>
#include <clew/notation.h>
#include <clew/stitch.h>
#include <errno.h>
#include <string.h>

#include "model_span.h"
#include "model_text.h"

enum { MOST = 4 };

struct stitched {
	struct clew_model *model;
	struct clew_stitch_clock clocks[MOST];
	struct clew_stitch_count counts[8];
	uint64_t backward;
	struct clew_query_error error;
};

/* The traces, in notation, ended by NULL, stitched. Returns what clew_stitch() or the compiler
 * does. */
static int stitch(const char *const *texts, const char *program_text,
		  const struct clew_stitch_options *options, struct stitched *s)
{
	struct clew_stitch_result result = {.clocks = s->clocks, .counts = s->counts};
	struct clew_stitching *program = NULL;
	struct clew_model *models[MOST];
	uint32_t count = 0;
	char message[200];
	int r;

	memset(s, 0, sizeof(*s));
	r = clew_stitching_compile(program_text, strlen(program_text), &program, &s->error);
	if (r < 0)
		return r;
	for (; texts[count]; count++) {
		r = clew_notation_read(texts[count], strlen(texts[count]), NULL, &models[count],
				       message, sizeof(message));
		if (r < 0)
			print_error("%s\n", message);
		assert_int_equal(r, 0);
	}
	r = clew_stitch((const struct clew_model *const *)models, count, program, options,
			&s->model, &result, &s->error);
	s->backward = result.backward;
	for (uint32_t i = 0; i < count; i++)
		clew_model_free(models[i]);
	clew_stitching_free(program);
	return r;
}

static void assert_span(const struct clew_model *model, const char *path, const char *expected)
{
	uint32_t span = span_of(model, path);
	char *text;

	if (span == CLEW_NONE)
		fail_msg("there is no span %s", path);
	text = text_span(model, span);
	if (strcmp(text, expected))
		print_error("%s: %s\n", path, text);
	assert_string_equal(text, expected);
	free(text);
}

/* The shared trace: one part has the first tree, the other the rest, its clock 1000 behind. */
static const char part_a[] =
	"hierarchy structural causal\n"
	"span s0.0.0 [0,100] in structural:p0/t0.0/r0.0.0 causal:p0/t0.0/r0.0.0\n"
	"span s0.0.0/0 [10,90]\n"
	"span s0.0.0/0/3 [40,70]\n"
	"mark s0.0.0 start@0\n"
	"mark s0.0.0 end@100\n"
	"dep spawn s0.0.0/0@20 -> - call=1\n"
	"dep spawn s0.0.0/0@30 -> - call=2\n"
	"dep signal - -> s0.0.0/0/3@(50~60) call=4\n";
static const char part_b[] = "hierarchy causal structural\n"
			     "span s0.1.0 [-970,-930] in structural:p0/t0.1/r0.1.0\n"
			     "span s1.0.0 [-970,-950] in structural:p1/t1.0/r1.0.0\n"
			     "dep spawn - -> s0.1.0@-970 call=1\n"
			     "dep spawn - -> s1.0.0@-970 call=2\n"
			     "dep send s1.0.0@-965 -> s0.1.0@-960\n"
			     "dep signal s0.1.0@-950 -> - call=4\n";

static void assert_trace1(const struct clew_model *model)
{
	assert_span(model, "s0.0.0", "[0,10]{start@0}>call | <return[90,100]{end@100}");
	assert_span(model, "s0.0.0/0",
		    "<call[10,20]>spawn | [20,30]>spawn | [30,40]>call | <return[70,90]>return");
	assert_span(model, "s0.0.0/0/3", "<call[40,50] | <signal[60,70]>return");
	assert_span(model, "s0.1.0", "<spawn[30,40] | <send[40,50]>signal | [50,70]");
	assert_span(model, "s1.0.0", "<spawn[30,35]>send | [35,50]");
}

static void test_trace1(void **state)
{
	static const char *const texts[] = {part_a, part_b, NULL};
	static const bool forced[] = {false, true};
	static const clew_time offsets[] = {0, 1000};
	const struct clew_stitch_options options = {
		.prefix = CLEW_PREFIX_NEVER, .forced = forced, .offsets = offsets};
	struct clew_problem *problems;
	struct stitched s;
	size_t count;

	(void)state;
	assert_int_equal(stitch(texts, "join dependencies(spawn, signal) by key(call);", NULL, &s),
			 0);
	assert_int_equal(s.clocks[1].source, CLEW_CLOCK_BETWEEN);
	assert_int_equal(s.clocks[1].low, 1000);
	assert_int_equal(s.clocks[1].high, 1010);
	assert_int_equal(s.clocks[1].offset, 1005);
	assert_int_equal(s.clocks[1].error, 5);
	assert_int_equal(s.clocks[1].edges_in, 2);
	assert_int_equal(s.clocks[1].edges_out, 1);
	assert_int_equal(s.counts[0].dependencies, 3);
	assert_int_equal(s.backward, 0);
	clew_model_free(s.model);

	assert_int_equal(stitch(texts, "join dependencies(all) by key(call);", &options, &s), 0);
	assert_trace1(s.model);
	assert_int_equal(s.model->dependency_count, 8);
	assert_int_equal(s.model->hierarchy_count, 2);
	assert_int_equal(clew_model_check(s.model, false, &problems, &count), 0);
	assert_int_equal(count, 0);
	free(problems);
	/* p0 of both is one, with what both have below. */
	count = 0;
	for (uint32_t i = clew_model_root_category(s.model, 0); i != CLEW_NONE;
	     i = s.model->categories[i].next_sibling)
		count++;
	assert_int_equal(count, 2);
	clew_model_free(s.model);
}

static const char client[] = "span client [0,100]\nmark client send:1@10\nmark client "
			     "send:2@50\nmark client recv:3@60\n";
static const char server[] =
	"span server [0,100]\nmark server recv:1@5\nmark server send:3@30\nmark server recv:2@40\n";

static void test_marks(void **state)
{
	static const char *const texts[] = {client, server, NULL};
	struct stitched s;

	(void)state;
	assert_int_equal(
		stitch(texts,
		       "match dependency(send) from marks(^send:(.*)$) to marks(^recv:(.*)$);",
		       NULL, &s),
		0);
	assert_int_equal(s.counts[0].dependencies, 3);
	assert_int_equal(s.counts[0].alone, 0);
	/* 1 and 2: at least 5 and 10; 3: at most 30. */
	assert_int_equal(s.clocks[1].low, 10);
	assert_int_equal(s.clocks[1].high, 30);
	assert_int_equal(s.clocks[1].offset, 20);
	assert_int_equal(s.clocks[1].error, 10);
	assert_span(s.model, "client",
		    "[0,10]>send | [10,50]{send:1@10}>send | [50,60]{send:2@50} | "
		    "<send[60,100]{recv:3@60}");
	assert_span(s.model, "server",
		    "[20,25] | <send[25,50]{recv:1@25}>send | [50,60]{send:3@50} | "
		    "<send[60,120]{recv:2@60}");
	assert_string_equal(
		clew_model_attribute(s.model, s.model->dependencies[0].attributes, "key"), "1");
	assert_string_equal(
		clew_model_attribute(s.model, s.model->dependencies[0].attributes, "evidence"),
		"exact");
	clew_model_free(s.model);
}

struct keys_case {
	const char *a, *b, *c;
	const char *program;
	uint64_t dependencies, alone, ambiguous;
};

static void test_keys(void **state)
{
	static const char *const one_expression =
		"match dependency(send) from marks(^m[0-9]) to marks(^m[0-9]);";
	static const char *const directed =
		"match dependency(send) from marks(s(.*)) to marks(r(.*));";
	static const struct keys_case cases[] = {
		/* The same label on both sides: from the first trace. */
		{"span a [0,9]\nmark a m1@1\nmark a m2@2\n",
		 "span b [0,9]\nmark b m2@1\nmark b m3@2\n", NULL, one_expression, 1, 2, 0},
		/* One origin, several destinations: one dependency. */
		{"span a [0,9]\nmark a s1@1\n", "span b [0,9]\nmark b r1@1\nmark b r1@2\n",
		 "span c [0,9]\nmark c r1@1\n", directed, 1, 0, 0},
		/* A key that comes again: in order. */
		{"span a [0,9]\nmark a s1@1\nmark a s1@2\n",
		 "span b [0,9]\nmark b r1@1\nmark b r1@2\n", NULL, directed, 2, 0, 0},
		/* One of them is lost, and which one cannot be known. */
		{"span a [0,9]\nmark a s1@1\nmark a s1@2\n", "span b [0,9]\nmark b r1@1\n", NULL,
		 directed, 0, 0, 3},
		/* Both ways, each counting for itself. */
		{"span a [0,9]\nmark a s1@1\nmark a r1@8\n",
		 "span b [0,9]\nmark b r1@2\nmark b s1@3\n", NULL, directed, 2, 0, 0},
		/* Between three that does not say who means whom. */
		{"span a [0,9]\nmark a s1@1\n", "span b [0,9]\nmark b s1@2\n",
		 "span c [0,9]\nmark c r1@3\n", directed, 0, 0, 3},
		/* Within a trace nothing is matched. */
		{"span a [0,9]\nmark a s1@1\nmark a r1@8\n", "span b [0,9]\n", NULL, directed, 0, 2,
		 0},
		/* Only in the traces that are named. */
		{"span a [0,9]\nmark a s1@1\n", "span b [0,9]\nmark b r1@2\n",
		 "span c [0,9]\nmark c r1@3\n",
		 "match dependency(send) from marks(s(.*)) of 1 to marks(r(.*)) of 3;", 1, 0, 0},
		/* A named group. */
		{"span a [0,9]\nmark a s-x-1@1\n", "span b [0,9]\nmark b r-y-1@2\n", NULL,
		 "match dependency(send) from marks(^s-(.)-(?<key>.)$) to "
		 "marks(^r-(.)-(?<key>.)$);",
		 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *texts[] = {cases[i].a, cases[i].b, cases[i].c, NULL};
		struct stitched s;

		assert_int_equal(stitch(texts, cases[i].program, NULL, &s), 0);
		if (s.counts[0].dependencies != cases[i].dependencies ||
		    s.counts[0].alone != cases[i].alone ||
		    s.counts[0].ambiguous != cases[i].ambiguous ||
		    s.model->dependency_count != cases[i].dependencies)
			fail_msg("case %zu: %llu dependencies, %llu alone, %llu ambiguous", i,
				 (unsigned long long)s.counts[0].dependencies,
				 (unsigned long long)s.counts[0].alone,
				 (unsigned long long)s.counts[0].ambiguous);
		clew_model_free(s.model);
	}
}

static void test_added(void **state)
{
	static const char *const texts[] = {"span a [0,100]\nspan b [0,100]\n", "span c [0,100]\n",
					    NULL};
	struct stitched s;

	(void)state;
	assert_int_equal(stitch(texts,
				"add or dependency(go) from positions(a @ 30%), position(b @ 20%) "
				"to positions(c @ 50%);",
				NULL, &s),
			 0);
	assert_span(s.model, "a", "[0,30]>go | [30,100]");
	assert_span(s.model, "b", "[0,20]>go | [20,100]");
	/* Any of them will do: b's, which is first, is what the offset is by. */
	assert_int_equal(s.clocks[1].source, CLEW_CLOCK_LEAST);
	assert_int_equal(s.clocks[1].offset, -30);
	assert_span(s.model, "c", "[-30,20] | <go[20,70]");
	assert_int_equal(s.model->dependencies[0].mode, CLEW_MODE_OR);
	assert_int_equal(s.model->es[s.model->origins[0]].end, 20);
	clew_model_free(s.model);

	assert_int_equal(stitch(texts,
				"add and dependency(go) from positions((^[ab]$) @ 100%) to "
				"position(c @ 0%) of 2;",
				NULL, &s),
			 0);
	assert_int_equal(s.clocks[1].offset, 100);
	assert_int_equal(s.model->dependencies[0].origins.count, 2);
	assert_string_equal(clew_model_string(s.model, s.model->types[2]), "go");
	clew_model_free(s.model);
}

static void test_clocks(void **state)
{
	static const char *const there[] = {"span a [0,100]\n", "span b [0,100]\n",
					    "span c [0,100]\n", NULL};
	static const char *const two[] = {"span a [0,100]\n", "span b [0,100]\n", NULL};
	struct stitched s;

	(void)state;
	/* Chained: b by a, c by b. */
	assert_int_equal(stitch(there,
				"add dependency(x) from position(a @ 50%) to position(b @ 10%); "
				"add dependency(x) from position(b @ 20%) to "
				"position(a @ 70%); add dependency(x) from position(b @ 50%) to "
				"position(c @ 0%); add dependency(x) from "
				"position(c @ 100%) to position(b @ 60%);",
				NULL, &s),
			 0);
	assert_int_equal(s.clocks[1].offset, 45);
	assert_int_equal(s.clocks[1].error, 5);
	assert_int_equal(s.clocks[2].source, CLEW_CLOCK_CONFLICT);
	clew_model_free(s.model);

	assert_int_equal(stitch(there,
				"add dependency(x) from position(a @ 50%) to position(b @ 10%); "
				"add dependency(x) from position(b @ 20%) to "
				"position(a @ 70%); add dependency(x) from position(b @ 50%) to "
				"position(c @ 0%); add dependency(x) from "
				"position(c @ 10%) to position(b @ 80%);",
				NULL, &s),
			 0);
	assert_int_equal(s.clocks[2].source, CLEW_CLOCK_BETWEEN);
	assert_int_equal(s.clocks[2].low, 90);
	assert_int_equal(s.clocks[2].high, 120);
	assert_int_equal(s.clocks[2].offset, 105);
	clew_model_free(s.model);

	/* At least 50, at most 20: the middle is wrong by 15 both ways. */
	assert_int_equal(stitch(two,
				"add dependency(x) from position(a @ 50%) to position(b @ 0%); add "
				"dependency(x) from position(b @ 10%) to "
				"position(a @ 30%);",
				NULL, &s),
			 0);
	assert_int_equal(s.clocks[1].source, CLEW_CLOCK_CONFLICT);
	assert_int_equal(s.clocks[1].low, 50);
	assert_int_equal(s.clocks[1].high, 20);
	assert_int_equal(s.clocks[1].offset, 35);
	assert_int_equal(s.clocks[1].error, 15);
	assert_int_equal(s.backward, 2);
	clew_model_free(s.model);

	assert_int_equal(stitch(two,
				"add dependency(x) from position(b @ 30%) to position(a @ 40%);",
				NULL, &s),
			 0);
	assert_int_equal(s.clocks[1].source, CLEW_CLOCK_MOST);
	assert_int_equal(s.clocks[1].offset, 10);
	clew_model_free(s.model);
	assert_int_equal(stitch(two, "", NULL, &s), 0);
	assert_int_equal(s.clocks[1].source, CLEW_CLOCK_ASSUMED);
	assert_int_equal(s.clocks[1].offset, 0);
	clew_model_free(s.model);
}

/* The second clock runs 100 ppm slower: 1000 exchanges over a second, each 1 us one way. */
static void test_drift(void **state)
{
	struct text a = {0}, b = {0};
	const char *texts[] = {NULL, NULL, NULL};
	struct stitched s;

	(void)state;
	text_add(&a, "span a [0,2000000000]\n");
	text_add(&b, "span b [0,2000000000]\n");
	for (long long i = 1; i <= 1000; i++) {
		long long at = i * 1000000;

		text_add(&a, "mark a s%lld@%lld\nmark a q%lld@%lld\n", i, at, i, at + 2000);
		text_add(&b, "mark b r%lld@%lld\nmark b p%lld@%lld\n", i,
			 (at + 1000) - (at + 1000) / 10000, i, (at + 1000) - (at + 1000) / 10000);
	}
	texts[0] = a.data;
	texts[1] = b.data;
	assert_int_equal(stitch(texts,
				"match dependency(x) from marks(s(.*)) to marks(r(.*)); match "
				"dependency(x) from marks(p(.*)) to marks(q(.*));",
				NULL, &s),
			 0);
	assert_int_equal(s.counts[0].dependencies, 1000);
	assert_int_equal(s.clocks[1].source, CLEW_CLOCK_CONFLICT);
	assert_true(s.clocks[1].has_drift);
	assert_true(s.clocks[1].drift < -97 && s.clocks[1].drift > -103);
	clew_model_free(s.model);
	free(a.data);
	free(b.data);
}

static const char *const same_names[] = {
	"hierarchy h\nspan x [0,10] in h:host/cpu\nspan only [0,10] in h:one\n",
	"hierarchy h\nspan x [0,10] in h:host/cpu\nspan x/child [2,4]\n", NULL};

static void test_names(void **state)
{
	struct clew_stitch_options options = {.prefix = CLEW_PREFIX_CONFLICT};
	struct stitched s;
	char *path;

	(void)state;
	assert_int_equal(stitch(same_names, "", &options, &s), 0);
	assert_int_not_equal(span_of(s.model, "1:x"), CLEW_NONE);
	assert_int_not_equal(span_of(s.model, "2:x/child"), CLEW_NONE);
	assert_int_not_equal(span_of(s.model, "only"), CLEW_NONE);
	path = clew_model_category_path(
		s.model, clew_model_category_of(s.model, span_of(s.model, "2:x"), 0));
	assert_string_equal(path, "2:host/cpu");
	free(path);
	path = clew_model_category_path(
		s.model, clew_model_category_of(s.model, span_of(s.model, "only"), 0));
	assert_string_equal(path, "one");
	free(path);
	clew_model_free(s.model);

	options.prefix = CLEW_PREFIX_ALWAYS;
	assert_int_equal(stitch(same_names, "", &options, &s), 0);
	assert_int_not_equal(span_of(s.model, "1:only"), CLEW_NONE);
	assert_int_equal(span_of(s.model, "only"), CLEW_NONE);
	clew_model_free(s.model);

	options.prefix = CLEW_PREFIX_NEVER;
	assert_int_equal(stitch(same_names, "", &options, &s), 0);
	assert_int_not_equal(span_of(s.model, "x"), CLEW_NONE);
	assert_int_not_equal(span_of(s.model, "x/child"), CLEW_NONE);
	assert_int_equal(s.model->category_count, 3);
	clew_model_free(s.model);
}

/* Moments and names in attributes go with the trace; what is none of them stays. */
static void test_attributes(void **state)
{
	static const char *const texts[] = {
		"span x-1 [0,100]\n",
		"span x-1 [0,100] born=5 parent=x-1 note=7\nspan y-2 [0,100]\n"
		"wait x-1 10..40 futex holder=\"x-1 10 30 exact,y-2 30 40 exact barged\" "
		"object=futex:0x10 since=8\n"
		"dep wake y-2@40 -> x-1@40 from=39 evidence=exact\n"
		"mark y-2 wait\\ sleep\\ until=50\\ ended_by=x-1@50\n",
		NULL,
	};
	static const bool forced[] = {false, true};
	static const clew_time offsets[] = {0, 1000};
	const struct clew_stitch_options options = {.forced = forced, .offsets = offsets};
	const struct clew_model *model;
	struct stitched s;
	uint32_t span, list;

	(void)state;
	assert_int_equal(stitch(texts, "", &options, &s), 0);
	model = s.model;
	span = span_of(model, "2:x-1");
	list = model->spans[span].attributes;
	assert_string_equal(clew_model_attribute(model, list, "born"), "1005");
	assert_string_equal(clew_model_attribute(model, list, "parent"), "2:x-1");
	assert_string_equal(clew_model_attribute(model, list, "note"), "7");
	list = model->waits[model->es[model->spans[span].elementary.first + 1].wait].attributes;
	assert_string_equal(clew_model_attribute(model, list, "holder"),
			    "2:x-1 1010 1030 exact,y-2 1030 1040 exact barged");
	assert_string_equal(clew_model_attribute(model, list, "object"), "futex:0x10");
	assert_string_equal(clew_model_attribute(model, list, "since"), "1008");
	list = model->dependencies[0].attributes;
	assert_string_equal(clew_model_attribute(model, list, "from"), "1039");
	assert_string_equal(clew_model_attribute(model, list, "evidence"), "exact");
	assert_int_equal(model->mark_count, 1);
	assert_string_equal(clew_model_string(model, model->marks[0].label),
			    "wait sleep until=1050 ended_by=2:x-1");
	clew_model_free(s.model);
}

struct error_case {
	const char *program;
	size_t offset;
	const char *words;
};

static void test_errors(void **state)
{
	static const struct error_case cases[] = {
		{"ad dependency(x)", 0, "add, match or join"},
		{"add dependency(x) from position(a @ 0%) to position(b @ 0%)", 59, "semicolon"},
		{"add dependency(x,y) from position(a @ 0%) to position(b @ 0%);", 15, "one type"},
		{"add dependency(x) from position(a) to position(b @ 0%);", 31, "moment"},
		{"add dependency(x) from position(a//b @ 0%) to position(b @ 0%);", 34, ""},
		{"add dependency(x) from position(none @ 0%) to position(b @ 0%);", 32, "nowhere"},
		{"add dependency(x) from position(a @ 0%) to position(b @ 0%) of 3;", 63,
		 "there are 2"},
		{"add dependency(x) from position(a @ 0%) to position(b @ 0%) of 0;", 63,
		 "from 1 on"},
		{"add dependency(x) from position(a @ 0%), position(b @ 0%) to position(b @ 0%);",
		 32, "and"},
		{"match dependency(x) from marks(a(b) to marks(c);", 30, "closed"},
		{"match dependency(x) from marks(a[b) to marks(c);", 0, ""},
		{"join dependencies() by key(k);", 18, "type"},
		{"join dependencies(all) by key();", 29, "name"},
		{"join dependencies(all) key(k);", 23, "by"},
	};
	static const char *const texts[] = {"span a [0,9]\n", "span b [0,9]\n", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stitched s;

		assert_int_equal(stitch(texts, cases[i].program, NULL, &s), -EINVAL);
		if ((cases[i].offset && s.error.offset != cases[i].offset) ||
		    !strstr(s.error.message, cases[i].words))
			fail_msg("'%s': byte %zu: %s", cases[i].program, s.error.offset,
				 s.error.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace1), cmocka_unit_test(test_marks),
		cmocka_unit_test(test_keys),   cmocka_unit_test(test_added),
		cmocka_unit_test(test_clocks), cmocka_unit_test(test_drift),
		cmocka_unit_test(test_names),  cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
