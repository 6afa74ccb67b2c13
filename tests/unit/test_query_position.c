/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Positions: which ES, and which moment, exactly.
 */
#include "query_cases.h"

static void test_percentages(void **state)
{
	struct clew_model *model = letters();

	(void)state;
	expect(model, "a/b @ 100%", "a/b[30,40]@40");
	expect(model, "a/b @ 0%", "a/b[10,20]@10");
	expect(model, "a/b @ 50%", "a/b[10,20]@20");
	expect(model, "a/b @ 50.0000000001%", "a/b[30,40]@30");
	expect(model, "**/d @ 30%", "a/c/d[60,65]@63");
	expect(model, "**/d @ 70%", "a/c/d[75,80]@77");
	expect(model, "**/d @ 69.99999999999999999999999999999999%", "a/c/d[75,80]@76");
	expect(model, "f @ 33.3%", "f[0,50]@16");
	expect(model, "f @ 1.999999%", "f[0,50]@0");
	expect(model, "f @ 2%", "f[0,50]@1");
	expect(model, "f @ 100.0%", "f[0,50]@50");
	expect(model, "f @ 100.01%", "");
	expect(model, "f @ 4294967297%", "");
	expect(model, "f @ 0.0%", "f[0,50]@0");
	expect(model, "nothing @ 50%", "");
	expect(model, "a, f @ 50%", "a[40,50]@45 f[0,50]@25");
	clew_model_free(model);
}

static void test_trace1(void **state)
{
	struct clew_model *model = trace1();

	(void)state;
	expect(model, "s0.0.0 @ 50%", "s0.0.0[0,10]@10");
	expect(model, "**/(^0|3$) @ 50%", "s0.0.0/0[30,40]@35 s0.0.0/0/3[40,50]@50");
	expect(model, "**/(^0|3$) at 50%", "s0.0.0/0[30,40]@35 s0.0.0/0/3[40,50]@50");
	expect(model, "**/(1) at 100% latest", "s0.1.0[50,70]@70");
	expect(model, "**/(1) at 100% earliest", "s1.0.0[35,50]@50");
	expect(model, "** at (start)", "s0.0.0[0,10]@0");
	expect(model, "** at ('')", "s0.0.0[0,10]@0 s0.0.0[90,100]@100");
	expect(model, "** at ('') LATEST", "s0.0.0[90,100]@100");
	expect(model, "** @ 0%",
	       "s0.0.0[0,10]@0 s0.1.0[30,40]@30 s1.0.0[30,35]@30 s0.0.0/0[10,20]@10 "
	       "s0.0.0/0/3[40,50]@40");
	/* The first of those that are as early. */
	expect(model, "s0.1.0, s1.0.0 @ 0% latest", "s0.1.0[30,40]@30");
	expect(model, "s1.0.0, s0.1.0 @ 0% earliest", "s1.0.0[30,35]@30");
	expect(model, "** where total_duration > duration(1s) @ 0% earliest", "");
	clew_model_free(model);
}

static void test_exact_over_range(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t span = root(maker, "long", -4611686018427387904, 4611686018427387903),
		 zero = root(maker, "zero", 7, 7), gap;
	struct clew_model *model;

	(void)state;
	gap = root(maker, "gap", 0, 100);
	assert_int_equal(clew_maker_suspend(maker, gap, 1, 97, 0, CLEW_NONE, CLEW_NONE), 0);
	assert_int_equal(clew_maker_mark(maker, zero, "m", 7, 0), 0);
	assert_int_equal(clew_maker_mark(maker, span, "n", -3, 0), 0);
	model = finish(maker);
	expect(model, "long @ 50%", "long[-4611686018427387904,4611686018427387903]@-1");
	expect(model, "long @ 99.999999999999999999999999999%",
	       "long[-4611686018427387904,4611686018427387903]@4611686018427387902");
	expect(model, "long @ 10%",
	       "long[-4611686018427387904,4611686018427387903]@-3689348814741910324");
	expect(model, "zero @ 50%", "zero[7,7]@7");
	expect(model, "zero @ (m)", "zero[7,7]@7");
	expect(model, "all @ (^[mn]$) earliest",
	       "long[-4611686018427387904,4611686018427387903]@-3");
	/* 30 % of 4 is 1.2: the ES that ends at 1 does not reach it. */
	expect(model, "gap @ 30%", "gap[97,100]@97");
	expect(model, "gap @ 25%", "gap[0,1]@1");
	expect(model, "gap @ 25.1%", "gap[97,100]@97");
	expect(model, "gap @ 75%", "gap[97,100]@99");
	clew_model_free(model);
}

/* Moments since the start of the trace. */
static void test_moments(void **state)
{
	struct clew_maker *maker = begin();
	uint32_t a = root(maker, "a", 1000, 2000);
	struct clew_positions positions;
	struct clew_query_error error;
	struct clew_query *query;
	struct clew_model *model;

	(void)state;
	child(maker, a, "b", 1200, 1300);
	root(maker, "late", 1500, 1600);
	model = finish(maker);
	expect(model, "a @ duration(0)", "a[1000,1200]@1000");
	expect(model, "a @ duration(1us)", "a[1300,2000]@2000");
	expect(model, "a @ duration(200ns)", "a[1000,1200]@1200");
	expect(model, "a @ duration(300ns)", "a[1300,2000]@1300");
	expect(model, "a @ duration(1.001us)", "");
	expect(model, "a @ duration(-1ns)", "");
	expect(model, "** @ duration(0.55us)", "a[1300,2000]@1550 late[1500,1600]@1550");
	expect(model, "** @ duration(0.25us)", "a/b[1200,1300]@1250");
	assert_int_equal(clew_query_compile("** @ duration(0.25us)", 21, &query, &error), 0);
	assert_int_equal(clew_query_positions(query, model, NULL, &positions), 0);
	assert_int_equal(positions.count, 1);
	assert_int_equal(positions.suspended, 1);
	assert_int_equal(positions.outside, 1);
	clew_positions_done(&positions);
	clew_query_free(query);
	clew_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentages),
		cmocka_unit_test(test_trace1),
		cmocka_unit_test(test_exact_over_range),
		cmocka_unit_test(test_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
