/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Durations and moments as people write them.
 */
#include "format/position.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static void expect_duration(const char *text, uint64_t bare_unit, uint64_t expected)
{
	uint64_t ns = 0;

	assert_int_equal(clew_parse_duration(text, bare_unit, &ns), 0);
	assert_int_equal(ns, expected);
}

static void expect_error(const char *text, uint64_t bare_unit, int expected)
{
	uint64_t ns = 17;

	assert_int_equal(clew_parse_duration(text, bare_unit, &ns), expected);
	assert_int_equal(ns, 17);
}

static void test_units(void **state)
{
	(void)state;
	expect_duration("10ns", 0, 10);
	expect_duration("5us", 0, 5000);
	expect_duration("5\xc2\xb5s", 0, 5000);
	expect_duration("5\xce\xbcs", 0, 5000);
	expect_duration("300ms", 0, 300000000);
	expect_duration("1.25s", 0, 1250000000);
	expect_duration("2m", 0, 120 * SECOND);
	expect_duration("1.5h", 0, 5400 * SECOND);
	expect_duration("0s", 0, 0);
}

static void test_bare_numbers(void **state)
{
	(void)state;
	expect_duration("7", 1, 7);
	expect_duration("7", SECOND, 7 * SECOND);
	expect_duration("0.5", SECOND, SECOND / 2);
	expect_error("7", 0, -EINVAL);
}

static void test_exact_fractions(void **state)
{
	(void)state;
	expect_duration("0.000000001s", 0, 1);
	expect_duration("0.0000000019s", 0, 1);
	expect_duration("1.999999999s", 0, 1999999999);
	expect_duration("0.1234567891234567891234s", 0, 123456789);
	expect_duration("0.3m", 0, 18 * SECOND);
	expect_duration("2.9ns", 0, 2);
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {"",	   "s",	  "-1s",    "+1s", "1,5s", "1.s",
					    ".5s", "1 s", "1ss",    "1S",  "0x10", "1e9ns",
					    "1s ", " 1s", "1.2.3s", "ms"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_error(texts[i], 1, -EINVAL);
}

static void test_too_long(void **state)
{
	(void)state;
	expect_duration("9223372036854775807ns", 0, INT64_MAX);
	expect_error("9223372036854775808ns", 0, -ERANGE);
	expect_error("99999999999999999999999ns", 0, -ERANGE);
	expect_error("9223372037s", 0, -ERANGE);
	expect_error("9999999999h", 0, -ERANGE);
}

static void expect_moment(const char *text, const struct clew_time_base *base, uint64_t expected)
{
	uint64_t ns = 0;

	assert_int_equal(clew_parse_moment(text, base, &ns), 0);
	assert_int_equal(ns, expected);
}

static void expect_no_moment(const char *text, const struct clew_time_base *base, int error)
{
	uint64_t ns = 17;

	assert_int_equal(clew_parse_moment(text, base, &ns), error);
	assert_int_equal(ns, 17);
}

static void test_moments(void **state)
{
	const struct clew_time_base base = {.start = 1000, .end = 9000},
				    late = {.start = INT64_MAX, .end = INT64_MAX};

	(void)state;
	expect_moment("123456789", &base, 123456789);
	expect_moment("1.5us", &base, 2500);
	expect_moment("-1.5us", &base, 7500);
	expect_moment("-9us", &base, 0);
	expect_no_moment("-10us", &base, -ERANGE);
	expect_no_moment("1.5", &base, -EINVAL);
	expect_no_moment("-5", &base, -EINVAL);
	expect_no_moment("--5us", &base, -EINVAL);
	expect_no_moment("soon", &base, -EINVAL);
	expect_no_moment("", &base, -EINVAL);
	expect_no_moment("9223372036s", &late, -ERANGE);
}

static void test_wall_clock(void **state)
{
	/* It begins at 23:59:58 of the 25th, local time, and takes 10 s. */
	const int64_t midnight = INT64_C(20782) * 86400 * (int64_t)SECOND;
	struct clew_time_base none;
	struct clew_time_base base = {
		.start = 100 * SECOND,
		.end = 110 * SECOND,
		.wall = midnight + INT64_C(86398) * (int64_t)SECOND -
			INT64_C(100) * (int64_t)SECOND,
		.has_wall = true,
	};

	(void)state;
	expect_moment("23:59:58", &base, 100 * SECOND);
	expect_moment("23:59:59.5", &base, 101 * SECOND + SECOND / 2);
	expect_moment("23:59:59,512", &base, 101 * SECOND + 512 * (SECOND / 1000));
	expect_moment("00:00:01", &base, 103 * SECOND);
	expect_moment("00:00", &base, 102 * SECOND);
	/* Before its start by less than a second: the same day, not the next one. */
	expect_moment("23:59:57.5", &base, 99 * SECOND + SECOND / 2);
	expect_moment("2026-11-25 23:59:59", &base, 101 * SECOND);
	expect_moment("2026-11-26T00:00:03.25", &base, 105 * SECOND + SECOND / 4);
	base.zone = INT64_C(3600) * (int64_t)SECOND;
	expect_moment("22:59:59Z", &base, 101 * SECOND);
	expect_moment("2026-11-25T23:00:03.25Z", &base, 105 * SECOND + SECOND / 4);
	expect_moment("23:59:59", &base, 101 * SECOND);
	expect_no_moment("22:59:59Zx", &base, -EINVAL);
	expect_no_moment("Z", &base, -EINVAL);
	expect_no_moment("1970-01-01 00:00:00", &base, -ERANGE);
	expect_no_moment("2026-02-30 00:00:00", &base, -EINVAL);
	expect_no_moment("24:00:00", &base, -EINVAL);
	expect_no_moment("1:00:00", &base, -EINVAL);
	expect_no_moment("10:32:07.", &base, -EINVAL);
	expect_no_moment("10:32:07.5x", &base, -EINVAL);
	expect_no_moment("10:", &base, -EINVAL);
	none = base;
	none.has_wall = false;
	expect_no_moment("10:32", &none, -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),		cmocka_unit_test(test_bare_numbers),
		cmocka_unit_test(test_exact_fractions), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_too_long),	cmocka_unit_test(test_moments),
		cmocka_unit_test(test_wall_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
