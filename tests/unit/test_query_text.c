/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Patterns as text: where an error is shown, durations, regular expressions.
 */
#include "query/regex.h"
#include "query_cases.h"

static void expect_error(const char *pattern, size_t offset)
{
	struct clew_query *query = NULL;
	struct clew_query_error error = {};
	char *copy = malloc(strlen(pattern) + 1);
	int r;

	/* Without a NUL behind it, so that a sanitizer sees a byte too many being read. */
	assert_non_null(copy);
	memcpy(copy, pattern, strlen(pattern));
	copy = realloc(copy, strlen(pattern) ? strlen(pattern) : 1);
	assert_non_null(copy);
	r = clew_query_compile(copy, strlen(pattern), &query, &error);
	free(copy);
	if (r == 0)
		fail_msg("%s was taken", pattern);
	assert_int_equal(r, -EINVAL);
	if (error.offset != offset)
		fail_msg("%s: error at %zu instead of %zu: %s", pattern, error.offset, offset,
			 error.message);
	if (!strstr(error.message, ": ") || strchr(error.message, '\n'))
		fail_msg("%s: does not say what to do: %s", pattern, error.message);
}

static void expect_good(const char *pattern, bool position)
{
	struct clew_query *query = NULL;
	struct clew_query_error error = {};

	if (clew_query_compile(pattern, strlen(pattern), &query, &error) != 0)
		fail_msg("%s: %zu: %s", pattern, error.offset, error.message);
	assert_int_equal(clew_query_is_position(query), position);
	clew_query_free(query);
}

static void test_error_offsets(void **state)
{
	(void)state;
	expect_error("", 0);
	expect_error("  ", 2);
	expect_error("a/'b/c", 2);
	expect_error("a/(b/c", 4);
	expect_error("a/b > c/d > **", 10);
	expect_error("a/b, c/d,", 9);
	expect_error("a/b/", 4);
	expect_error("a//b", 2);
	expect_error("/a", 0);
	expect_error("a > ", 4);
	expect_error("> a", 0);
	expect_error("a >= b", 2);
	expect_error("a b", 2);
	expect_error("*a", 1);
	expect_error("a)", 1);
	expect_error("(a/b", 4);
	expect_error("(a/b) @ 5%", 6);
	expect_error("a/''", 2);
	expect_error("a/()", 3);
	expect_error("a/('')", 3);
	expect_error("a\\", 1);
	expect_error("a ->", 4);
	expect_error("-> a", 0);
	expect_error("a -> -> b", 5);
	expect_error("a && b", 2);
	expect_error("a atx", 2);
	expect_error("a whereas total_duration > duration(1s)", 2);
}

static void test_position_errors(void **state)
{
	(void)state;
	expect_error("a @", 3);
	expect_error("a @ 50", 6);
	expect_error("a @ -5%", 4);
	expect_error("a @ x%", 4);
	expect_error("a @ 5x%", 5);
	expect_error("a @ .%", 5);
	expect_error("a @ 1.2.3%", 7);
	expect_error("a @ NaN%", 4);
	expect_error("a @ 50% sometimes", 8);
	expect_error("a @ 50% latest earliest", 15);
	expect_error("a @ 50% where total_duration > duration(1s)", 8);
	expect_error("a @ (x", 6);
	expect_error("a @ (x y)", 7);
	expect_error("a @ ()", 5);
	expect_error("a @ duration(1.25)", 17);
	expect_error("a @ duration(fast)", 13);
	expect_error("a @ duration(1s", 15);
	expect_error("a @ duration(300000000h)", 13);
	expect_error("a @ 'duration'", 5);
}

static void test_condition_errors(void **state)
{
	(void)state;
	expect_error("a where", 7);
	expect_error("a where duration > duration(1s)", 8);
	expect_error("a where total_duration", 22);
	expect_error("a where total_duration = duration(1s)", 23);
	expect_error("a where total_duration > 1s", 25);
	expect_error("a where total_duration > duration 1s", 34);
	expect_error("a where total_duration > duration(1 s)", 35);
	expect_error("a where total_duration > duration('1 s')", 36);
	expect_error("a where (total_duration > duration(1s)", 38);
	expect_error("a where total_duration > duration(1s) and", 41);
	expect_error("a where total_duration > duration(1s) xor total_duration > duration(1s)", 38);
}

static void test_regex_errors(void **state)
{
	(void)state;
	expect_error("a/(b[)", 5);
	expect_error("a/(b[c)", 6);
	expect_error("(x\\\\1)", 3);
	expect_error("a/('x(?=y)')", 5);
	expect_error("a/('x(?>y)')", 5);
	expect_error("a/('(*UTF)x')", 4);
	expect_error("a/(x++)", 5);
	expect_error("a/('(?P=name)')", 4);
	expect_error("a/(x\\\\K)", 5);
	expect_error("a @ ('(')", 7);
}

static void test_depth(void **state)
{
	enum { DEPTH = 5000 };
	char pattern[DEPTH * 8 + 64], *end;
	struct clew_query *query;
	struct clew_query_error error;

	(void)state;
	memset(pattern, '(', DEPTH);
	strcpy(pattern + DEPTH, "a/b");
	assert_int_equal(clew_query_compile(pattern, strlen(pattern), &query, &error), -EINVAL);
	assert_int_equal(error.offset, 100);
	end = stpcpy(pattern, "a where ");
	memset(end, '(', DEPTH);
	end[DEPTH] = '\0';
	assert_int_equal(clew_query_compile(pattern, strlen(pattern), &query, &error), -EINVAL);
	assert_int_equal(error.offset, 8 + 101);
	/* A long pattern that is not deep is fine. */
	end = pattern;
	for (int i = 0; i < DEPTH; i++)
		end = stpcpy(end, "a/**/b/");
	expect_error(pattern, strlen(pattern));
	end[-1] = '\0';
	expect_good(pattern, false);
	end = stpcpy(pattern, "a where total_duration > duration(1s)");
	for (int i = 0; i < 500; i++)
		end = stpcpy(end, " and total_duration > duration(1s)");
	expect_good(pattern, false);
	assert_int_equal(clew_query_compile("a\0b", 3, &query, &error), -EINVAL);
	assert_int_equal(error.offset, 1);
}

static void test_good(void **state)
{
	(void)state;
	expect_good("a/b > c/d", false);
	expect_good("1/2 > 3/4.5", false);
	expect_good("\t a\n/ b\v> c ,\fd\r", false);
	expect_good("**/(foo.**)/**", false);
	expect_good("(a/b @ 5%)", true);
	expect_good("a AT 5 % LATEST", true);
	expect_good("a at(x)earliest", true);
	expect_good("a at('')", true);
	expect_good("a @.5%", true);
	expect_good("a @ 5.%", true);
	expect_good("a@duration( 1.25s )", true);
	expect_good("a @ duration (0)", true);
	expect_good("a where(total_duration>duration(5ns))OR(total_duration>duration(5ns))", false);
	expect_good("a where total_duration > duration(5ns) || total_duration > duration(5ns) && "
		    "total_duration > duration(1h2m3.5s)",
		    false);
}

static void expect_duration(const char *text, clew_time expected)
{
	clew_time duration = -77;
	size_t offset;

	assert_int_equal(clew_duration_parse(text, strlen(text), &duration, &offset), 0);
	assert_int_equal(duration, expected);
}

static void refuse_duration(const char *text, int error, size_t expected)
{
	clew_time duration = -77;
	size_t offset = 77;

	assert_int_equal(clew_duration_parse(text, strlen(text), &duration, &offset), error);
	assert_int_equal(offset, expected);
	assert_int_equal(duration, -77);
}

static void test_durations(void **state)
{
	(void)state;
	expect_duration("0", 0);
	expect_duration("-0", 0);
	expect_duration("10ns", 10);
	expect_duration("-6ns", -6);
	expect_duration("+1us", 1000);
	expect_duration("1\xc2\xb5s", 1000);
	expect_duration("1\xce\xbcs", 1000);
	expect_duration("1h2m3.5s", 3723500000000);
	expect_duration("1.25s", 1250000000);
	expect_duration(".5s", 500000000);
	expect_duration("1.s", 1000000000);
	expect_duration("0.9999999999999999999999ns", 0);
	expect_duration("1.999999999999999999999us", 1999);
	expect_duration("1m1ms", 60001000000);
	expect_duration("9223372036854775807ns", INT64_MAX);
	expect_duration("-9223372036854775807ns", -INT64_MAX);
	refuse_duration("9223372036854775808ns", -ERANGE, 0);
	refuse_duration("99999999999999999999999999999999999999999999h", -ERANGE, 0);
	refuse_duration("2562047h2562047h", -ERANGE, 8);
	refuse_duration("10", -EINVAL, 2);
	refuse_duration("", -EINVAL, 0);
	refuse_duration("-", -EINVAL, 1);
	refuse_duration(".s", -EINVAL, 0);
	refuse_duration("1 s", -EINVAL, 1);
	refuse_duration("1s ", -EINVAL, 2);
	refuse_duration("1d", -EINVAL, 1);
	refuse_duration("1s-1s", -EINVAL, 2);
	refuse_duration("1e3s", -EINVAL, 1);
}

static void expect_match(const char *expression, const char *text, int expected)
{
	struct regex_scratch *scratch;
	struct regex *regex;
	char message[160];
	size_t offset;

	if (regex_compile(expression, strlen(expression), &regex, &offset, message,
			  sizeof(message)) != 0)
		fail_msg("%s: %zu: %s", expression, offset, message);
	assert_int_equal(regex_scratch_new(&scratch), 0);
	if (regex_matches(regex, scratch, text) != expected)
		fail_msg("%s in '%s' is not %d", expression, text, expected);
	regex_scratch_free(scratch);
	regex_free(regex);
}

static void test_regex(void **state)
{
	char text[400], *end;

	(void)state;
	expect_match("b", "abc", 1);
	expect_match("^b", "abc", 0);
	expect_match("c$", "abc", 1);
	expect_match("c$", "abc\n", 0);
	expect_match("a.c", "a\nc", 0);
	expect_match("(?s)a.c", "a\nc", 1);
	expect_match("(?i)ABC", "abc", 1);
	expect_match("(?i:A)b(?:c|d)(?P<x>e)", "abde", 1);
	expect_match("^\\d{2,3}$", "12", 1);
	expect_match("^\\d{2,3}$", "1234", 0);
	expect_match("a{,2}", "a{,2}", 1);
	expect_match("x**y", "xxy", 1);
	expect_match("^foo.**$", "foobar", 1);
	expect_match("[[:alpha:]]+[]x]", "a]", 1);
	expect_match("\\Qa.b\\E", "a.b", 1);
	expect_match("\\Qa.b\\E", "axb", 0);
	expect_match("\\x41\\x{42}\\v", "AB\v", 1);
	expect_match("\\v", "\n", 0);
	expect_match("\\bfoo\\b", "a foo b", 1);
	expect_match("", "", 1);
	/* Characters, not bytes; what is no UTF-8 is one character a byte. */
	expect_match("^.$", "\xc3\xa9", 1);
	expect_match("^[\xc3\xa9\xc3\xa8]$", "\xc3\xa8", 1);
	expect_match("^\\pL$", "\xc3\xa9", 1);
	expect_match("^a.b$",
		     "a\xff"
		     "b",
		     1);
	expect_match("^a..b$",
		     "a\xc3\x28"
		     "b",
		     1);
	expect_match("^a\\x{fffd}b",
		     "a\x80"
		     "b",
		     1);
	/* A pattern that would keep a backtracking matcher busy for ages has an answer. */
	memset(text, 'a', sizeof(text));
	text[200] = '\0';
	expect_match("^(a*)*b", text, 0);
	expect_match("^(a|a)*(a|a)*(a|aa)+$", text, 1);
	expect_match("^(([a-z])+.)+[A-Z]([a-z])+$", text, 0);
	end = stpcpy(text, "^");
	for (int i = 0; i < 25; i++)
		end = stpcpy(end, "(a?)");
	for (int i = 0; i < 25; i++)
		end = stpcpy(end, "a");
	strcpy(end, "$");
	expect_match(text, "aaaaaaaaaaaaaaaaaaaaaaaaa", 1);
	expect_match(text, "aaaaaaaaaaaaaaaaaaaaaaaa", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_offsets),
		cmocka_unit_test(test_position_errors),
		cmocka_unit_test(test_condition_errors),
		cmocka_unit_test(test_regex_errors),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_regex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
