/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of construction on small spans: what each placement, suspend, mark and
 * simplification leaves.
 */
#include <clew/model_make.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "model_text.h"

enum { I, O, W, S, M, SIMPLIFY, END };

/* One operation on the only span: an endpoint of dependency type `number`, a wait from `from`, a
 * suspend, a mark. */
struct step {
	int what;
	int number;
	clew_time at, from;
	unsigned place;
	const char *label;
};

#define IN(t, n)                                                                                   \
	{                                                                                          \
		.what = I, .number = n, .at = t, .from = t                                         \
	}
#define OUT(t, n)                                                                                  \
	{                                                                                          \
		.what = O, .number = n, .at = t                                                    \
	}
#define IN_AT(t, n, p)                                                                             \
	{                                                                                          \
		.what = I, .number = n, .at = t, .from = t, .place = p                             \
	}
#define OUT_AT(t, n, p)                                                                            \
	{                                                                                          \
		.what = O, .number = n, .at = t, .place = p                                        \
	}
#define WAIT(f, t, n)                                                                              \
	{                                                                                          \
		.what = I, .number = n, .at = t, .from = f                                         \
	}
#define SUS(f, t)                                                                                  \
	{                                                                                          \
		.what = S, .from = f, .at = t, .number = -1                                        \
	}
#define SUS_AT(f, t, p)                                                                            \
	{                                                                                          \
		.what = S, .from = f, .at = t, .place = p, .number = -1                            \
	}
#define TYPED(f, t, k)                                                                             \
	{                                                                                          \
		.what = S, .from = f, .at = t, .number = k                                         \
	}
#define MARK(l, t)                                                                                 \
	{                                                                                          \
		.what = M, .label = l, .at = t                                                     \
	}
#define MARK_AT(l, t, p)                                                                           \
	{                                                                                          \
		.what = M, .label = l, .at = t, .place = p                                         \
	}
#define SIMPLE                                                                                     \
	{                                                                                          \
		.what = SIMPLIFY                                                                   \
	}

static int do_step(struct clew_maker *maker, uint32_t span, const struct step *step)
{
	char name[16];
	uint32_t type, dependency;

	switch (step->what) {
	case S:
		return clew_maker_suspend(maker, span, step->from, step->at, step->place,
					  (uint32_t)step->number, CLEW_NONE);
	case M:
		return clew_maker_mark(maker, span, step->label, step->at, step->place);
	case SIMPLIFY:
		return clew_maker_simplify(maker);
	default:
		snprintf(name, sizeof(name), "%d", step->number);
		assert_int_equal(clew_maker_type(maker, name, &type), 0);
		assert_int_equal(clew_maker_dependency(maker, type, CLEW_MODE_SINGLE, CLEW_NONE,
						       &dependency),
				 0);
		if (step->what == O)
			return clew_maker_origin(maker, dependency, span, step->at, step->place);
		return clew_maker_destination(maker, dependency, span, step->from, step->at,
					      step->place);
	}
}

/* Every step but the last is good; the last is good too unless `expected` is NULL, and then it
 * changes nothing. */
static void run_steps(const struct step *steps, size_t count, const char *expected,
		      const char *unchanged)
{
	struct clew_maker *maker;
	struct clew_model *model;
	uint32_t span;
	char *text;

	assert_int_equal(clew_maker_new(&maker), 0);
	assert_int_equal(clew_maker_root(maker, "s", 0, 100, &span), 0);
	for (size_t i = 0; i < count; i++) {
		int r = do_step(maker, span, &steps[i]);

		if (i + 1 == count && !expected) {
			assert_int_equal(r, -EINVAL);
			assert_true(*clew_maker_error(maker));
		} else if (r != 0) {
			fail_msg("step %zu: %s", i, clew_maker_error(maker));
		}
	}
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	text = text_span(model, span);
	assert_string_equal(text, expected ? expected : unchanged);
	free(text);
	clew_model_free(model);
}

#define GIVES(expected, ...)                                                                       \
	do {                                                                                       \
		const struct step steps[] = {__VA_ARGS__};                                         \
		run_steps(steps, sizeof(steps) / sizeof(steps[0]), expected, NULL);                \
	} while (0)

/* The last one cannot be; what the others made stays. */
#define CANNOT(unchanged, ...)                                                                     \
	do {                                                                                       \
		const struct step steps[] = {__VA_ARGS__};                                         \
		run_steps(steps, sizeof(steps) / sizeof(steps[0]), NULL, unchanged);               \
	} while (0)

static void test_endpoints(void **state)
{
	(void)state;
	GIVES("[0,100]", SUS(50, 50));
	GIVES("[0,10] | <0[10,40] | <1[60,80]>2 | [80,100]", IN(10, 0), WAIT(40, 60, 1),
	      OUT(80, 2));
	GIVES("[0,30] | <1[30,30]>0 | [30,50]>3 | <2[50,100]", OUT(30, 0), IN(30, 1), IN(50, 2),
	      OUT(50, 3));
	GIVES("[0,30]>0 | [30,30]>1 | [30,30]>2 | [30,60] | <5[60,60] | <4[60,60] | <3[60,100]",
	      OUT(30, 0), OUT(30, 1), OUT(30, 2), IN(60, 3), IN(60, 4), IN(60, 5));
	GIVES("[0,30] | <5[30,30] | <4[30,30] | <3[30,30]>2 | [30,30]>1 | [30,30]>0 | [30,100]",
	      OUT(30, 2), OUT(30, 1), OUT(30, 0), IN(30, 3), IN(30, 4), IN(30, 5));
	GIVES("[0,20]>2 | <1[20,80] | <4[80,80]>3 | [80,100]", IN(20, 1), OUT(20, 2), OUT(80, 3),
	      IN(80, 4));
	/* At the ends of the span. */
	GIVES("<0[0,100]>1", IN(0, 0), OUT(100, 1));
	GIVES("[0,0]>0 | [0,100]", OUT(0, 0));
	GIVES("[0,100] | <0[100,100]", IN(100, 0));
	/* The first instant after a gap: nothing ends there, so the later one sits later. */
	GIVES("[0,40] | <0[60,60] | <1[60,100]", SUS(40, 60), IN(60, 0), IN(60, 1));
}

static void test_early_and_late(void **state)
{
	(void)state;
	GIVES("[0,30]>1 | [30,30]>0 | [30,100]", OUT(30, 0), OUT_AT(30, 1, CLEW_PLACE_EARLY));
	GIVES("[0,30]>0 | [30,30]>1 | [30,100]", OUT(30, 0), OUT_AT(30, 1, CLEW_PLACE_LATE));
	GIVES("[0,60] | <0[60,60] | <1[60,100]", IN(60, 0), IN_AT(60, 1, CLEW_PLACE_LATE));
	GIVES("[0,60] | <1[60,60] | <0[60,100]", IN(60, 0), IN_AT(60, 1, CLEW_PLACE_EARLY));
	GIVES("[0,30]>0 | [30,30] | <1[30,100]", OUT(30, 0), IN_AT(30, 1, CLEW_PLACE_LATE));
	CANNOT("[0,100]", OUT_AT(30, 0, CLEW_PLACE_EARLY | CLEW_PLACE_LATE));
	CANNOT("[0,100]", IN_AT(30, 0, CLEW_PLACE_EARLY | CLEW_PLACE_LATE));
}

static void test_suspends(void **state)
{
	(void)state;
	GIVES("[0,20] | [80,100]", SUS(20, 80));
	CANNOT("[0,50] | <0[50,100]", IN(50, 0), SUS(20, 80));
	CANNOT("[0,50]>0 | [50,100]", OUT(50, 0), SUS(20, 80));
	GIVES("[0,20] | [50,50] | <0[50,50] | [80,100]", IN(50, 0),
	      SUS_AT(20, 80, CLEW_PLACE_SPLIT_ENDS));
	GIVES("[0,20] | <0[50,50] | [80,100]", IN(50, 0), SUS_AT(20, 80, CLEW_PLACE_SPLIT_ENDS),
	      SIMPLE);
	GIVES("[0,20] | [50,50]>0 | [50,50] | [80,100]", OUT(50, 0),
	      SUS_AT(20, 80, CLEW_PLACE_SPLIT_ENDS));
	GIVES("[0,35] | [40,40] | [50,50] | [60,60] | [70,70] | [80,80] | [90,90] | [100,100]",
	      SUS(80, 90), SUS(60, 70), SUS(40, 50), SUS_AT(35, 100, CLEW_PLACE_SPLIT_ENDS));
	GIVES("[0,0] | [20,20] | [40,40] | [60,60] | [80,80] | [100,100]", SUS(0, 20), SUS(20, 40),
	      SUS(40, 60), SUS(60, 80), SUS(80, 100));
	GIVES("[0,0] | [100,100]", SUS(0, 20), SUS(20, 40), SUS(40, 60), SUS(60, 80), SUS(80, 100),
	      SIMPLE);
	CANNOT("[0,100]", SUS(50, 150));
	CANNOT("[0,100]", SUS(-1, 50));
	CANNOT("[0,100]", SUS(60, 40));
	CANNOT("[0,100]", SUS_AT(-1, 50, CLEW_PLACE_SPLIT_ENDS));
	CANNOT("[0,20] | [80,100]", SUS(20, 80), SUS(40, 50));
	CANNOT("[0,20] | [80,100]", SUS(20, 80), SUS_AT(10, 50, CLEW_PLACE_SPLIT_ENDS));
	CANNOT("[0,100]", WAIT(60, 40, 0));
	CANNOT("[0,50]>0 | [50,100]", OUT(50, 0), WAIT(40, 60, 1));
}

static void test_gaps(void **state)
{
	(void)state;
	CANNOT("[0,20] | [80,100]", SUS(20, 80), IN(50, 0));
	CANNOT("[0,20] | [80,100]", SUS(20, 80), OUT(50, 0));
	GIVES("[0,20] | <0[50,50] | [80,100]", SUS(20, 80), IN_AT(50, 0, CLEW_PLACE_SPLIT_GAP));
	GIVES("[0,20] | [50,50]>0 | [80,100]", SUS(20, 80), OUT_AT(50, 0, CLEW_PLACE_SPLIT_GAP));
	GIVES("[0,20] | (futex)<0[50,50] | (futex)[80,100]", TYPED(20, 80, CLEW_WAIT_FUTEX),
	      IN_AT(50, 0, CLEW_PLACE_SPLIT_GAP));
	CANNOT("[0,100]", IN_AT(101, 0, CLEW_PLACE_SPLIT_GAP));
	CANNOT("[0,100]", OUT_AT(-1, 0, CLEW_PLACE_SPLIT_GAP));
	CANNOT("[0,100]", IN(150, 0));
	CANNOT("[0,100]", OUT(150, 0));
}

#define MARKS                                                                                      \
	MARK("a", 0), MARK("b", 10), MARK("c", 20), MARK("d", 30), MARK("e", 70), MARK("f", 80),   \
		MARK("g", 90), MARK("h", 100)
#define BOTH_SIDES "[0,30]{a@0 b@10 c@20 d@30} | [70,100]{e@70 f@80 g@90 h@100}"

static void test_marks(void **state)
{
	(void)state;
	GIVES(BOTH_SIDES, SUS(30, 70), MARKS);
	GIVES(BOTH_SIDES, MARKS, SUS(30, 70));
	GIVES(BOTH_SIDES, MARKS, SUS(30, 70), SIMPLE);
	CANNOT("[0,30] | [70,100]", SUS(30, 70), MARK("a", 50));
	CANNOT("[0,100]{a@50}", MARK("a", 50), SUS(30, 70));
	GIVES("[0,30] | [50,50]{a@50} | [70,100]", SUS(30, 70),
	      MARK_AT("a", 50, CLEW_PLACE_SPLIT_GAP));
	GIVES("[0,30] | [50,50]{a@50} | [70,100]", MARK("a", 50),
	      SUS_AT(30, 70, CLEW_PLACE_SPLIT_MARKS));
	GIVES("[0,30] | [40,40]{a@40} | [50,50]{c@50} | [50,50]{b@50} | [70,100]", MARK("a", 40),
	      MARK("b", 50), MARK("c", 50), SUS_AT(30, 70, CLEW_PLACE_SPLIT_MARKS));
	/* Newest first at one moment; on a boundary into the earlier ES, and on fission into the
	 * later one. */
	GIVES("[0,100]{c@50 b@50 a@50}", MARK("a", 50), MARK("b", 50), MARK("c", 50));
	GIVES("[0,50]{a@50} | <0[50,100]", IN(50, 0), MARK("a", 50));
	GIVES("[0,50] | <0[50,100]{a@50}", MARK("a", 50), IN(50, 0));
	GIVES("[0,50]{b@50} | <1[50,50]{a@50} | <0[50,100]", IN(50, 0), MARK("a", 50), IN(50, 1),
	      MARK("b", 50));
	GIVES("[0,50]{b@50}>0 | [50,50]>1 | [50,50]>2 | [50,100]{a@50}", MARK("a", 50), OUT(50, 0),
	      OUT(50, 1), MARK("b", 50), OUT(50, 2));
	/* A suspend may begin and end at a mark, across a boundary too. */
	GIVES("[0,30]{a@30} | [70,100]{b@70}", MARK("b", 70), MARK("a", 30), SUS(30, 70));
	GIVES("[0,30] | [50,50]{a@50} | <0[50,50] | [70,100]", IN(50, 0), MARK("a", 50),
	      SUS_AT(30, 70, CLEW_PLACE_SPLIT_ENDS));
	CANNOT("[0,50]{a@40} | <0[50,100]", IN(50, 0), MARK("a", 40),
	       SUS_AT(30, 70, CLEW_PLACE_SPLIT_ENDS));
	CANNOT("[0,100]", MARK("a", 101));
	CANNOT("[0,100]", MARK_AT("a", -1, CLEW_PLACE_SPLIT_GAP));
}

static void test_simplify(void **state)
{
	(void)state;
	/* Marks of what goes are the neighbour's; where there is none, the ES stays. */
	GIVES("[0,30] | [50,50]{a@50} | [70,100]", SUS(30, 70),
	      MARK_AT("a", 50, CLEW_PLACE_SPLIT_GAP), SIMPLE);
	GIVES("[0,30] | [50,50]{c@50 b@50} | [70,100]", MARK("b", 50), MARK("c", 50),
	      SUS_AT(30, 70, CLEW_PLACE_SPLIT_MARKS), SIMPLE);
	GIVES("[0,30]{a@30}>0 | <1[50,100]", OUT(30, 0), SUS(30, 50), IN(50, 1), MARK("a", 30),
	      SIMPLE);
	GIVES("[0,20] | <0[50,50]{a@50} | [80,100]", IN(50, 0), MARK("a", 50),
	      SUS_AT(20, 80, CLEW_PLACE_SPLIT_ENDS), SIMPLE);
	/* A typed wait is not lost, an untyped one of two merges. */
	GIVES("[0,20] | (futex)[40,40] | (sleep)[60,100]", TYPED(20, 40, CLEW_WAIT_FUTEX),
	      TYPED(40, 60, CLEW_WAIT_SLEEP), SIMPLE);
	GIVES("[0,20] | (futex)[40,100]", TYPED(20, 40, CLEW_WAIT_FUTEX), SIMPLE);
	GIVES("[0,20] | (futex)<0[40,40] | (futex)[60,100]", IN(40, 0),
	      {.what = S,
	       .from = 20,
	       .at = 60,
	       .number = CLEW_WAIT_FUTEX,
	       .place = CLEW_PLACE_SPLIT_ENDS},
	      SIMPLE, SIMPLE);
	/* Adding goes on after it. */
	GIVES("[0,30] | <1[30,50] | <0[50,100]", SUS(20, 20), IN(50, 0), SIMPLE, IN(30, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoints), cmocka_unit_test(test_early_and_late),
		cmocka_unit_test(test_suspends),  cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_marks),	  cmocka_unit_test(test_simplify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
