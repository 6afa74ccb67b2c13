/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of functions as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "symbol/code/signature.h"

/* Parses a text that has values, and compares them as they are written again. */
static void assert_values(const char *text, const char *glob, const char *expected)
{
	char written[CLEW_WANTED_TEXT];
	struct clew_message message = {};
	struct clew_wanted wanted;
	size_t length;

	if (clew_wanted_parse(text, &wanted, &length, &message) != 1)
		fail_msg("%s: %s", text, message.text);
	assert_int_equal(length, strlen(glob));
	assert_memory_equal(text, glob, length);
	clew_wanted_write(&wanted, written);
	assert_string_equal(written, expected);
}

static void assert_glob(const char *text)
{
	struct clew_message message;
	struct clew_wanted wanted;
	size_t length;

	assert_int_equal(clew_wanted_parse(text, &wanted, &length, &message), 0);
	assert_int_equal(length, strlen(text));
}

static void assert_wrong(const char *text, const char *words)
{
	struct clew_message message;
	struct clew_wanted wanted;
	size_t length;

	assert_int_equal(clew_wanted_parse(text, &wanted, &length, &message), -EINVAL);
	if (!strstr(message.text, words))
		fail_msg("%s: %s", text, message.text);
}

static void test_values(void **state)
{
	(void)state;
	assert_values("open*(path:str, flags:int) -> int", "open*", "(path:str, flags:i32) -> i32");
	assert_values("f ( a : u8 ,b:ptr )->size_t", "f", "(a:u8, b:ptr) -> u64");
	assert_values("f() -> bool", "f", "() -> u8");
	assert_values("ns::f(a:long)", "ns::f", "(a:i64)");
	assert_values("(a:i16)", "", "(a:i16)");
	assert_values("std::function<void (int)>::operator()(n:char)",
		      "std::function<void (int)>::operator()", "(n:i8)");
	assert_values("f(a:u64,b:u64,c:u64,d:u64,e:u64,f:str)", "f",
		      "(a:u64, b:u64, c:u64, d:u64, e:u64, f:str)");
}

static void test_names(void **state)
{
	struct clew_message message;
	struct clew_wanted wanted;
	size_t length;

	(void)state;
	assert_int_equal(clew_wanted_parse("f(path, _, n:int) -> auto", &wanted, &length, &message),
			 1);
	assert_int_equal(wanted.count, 3);
	assert_string_equal(wanted.values[0].name, "path");
	assert_false(wanted.values[0].typed);
	assert_string_equal(wanted.values[1].name, "_");
	assert_true(wanted.values[2].typed);
	assert_true(wanted.returns);
	assert_false(wanted.result.typed);
	assert_int_equal(clew_wanted_parse("f(...)", &wanted, &length, &message), 1);
	assert_true(wanted.all);
}

/* Names of C++ end with types, not with values. */
static void test_globs(void **state)
{
	(void)state;
	assert_glob("malloc");
	assert_glob("*");
	assert_glob("f()");
	assert_glob("f(int)");
	assert_glob("f(char const*, int)");
	assert_glob("f(std::string)");
	assert_glob("f(a::b)");
	assert_glob("printf(char const*, ...)");
	assert_glob("f(int) const");
	assert_glob("f)(");
	assert_glob("f)");
	assert_glob("ns::operator->");
}

static void test_errors(void **state)
{
	(void)state;
	assert_wrong("f(a:text)", "no type of a value is called 'text'");
	assert_wrong("f(a) -> float", "no type of a value is called 'float'");
	assert_wrong("f(char const*) -> int", "neither NAME nor NAME:TYPE");
	assert_wrong("f(a,) -> int", "neither NAME nor NAME:TYPE");
	assert_wrong("f(a:int,b:int,c:int,d:int,e:int,f:int,g:int)", "at most 6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
