/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attributes under another clock: in each kind of row the moments, names, CPUs and
 * requests change, and nothing else does.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "convert/shift.h"
#include <string.h>

static bool is_renamed(void *context, const char *name)
{
	(void)context;
	return !strcmp(name, "a-7") || !strcmp(name, "odd, one");
}

static struct capture_shift shift_by(clew_time offset)
{
	struct capture_shift shift = {.offset = offset,
				      .cpus = 4,
				      .requests = 10,
				      .prefix = "2:",
				      .is_renamed = is_renamed};

	capture_shift_begin(&shift);
	return shift;
}

static void assert_shifted(clew_time offset, const char *key, const char *value, const char *want)
{
	struct capture_shift shift = shift_by(offset);

	assert_string_equal(capture_shift_value(&shift, key, value), want);
	capture_shift_done(&shift);
}

static void test_values(void **state)
{
	(void)state;
	assert_shifted(100, "born", "5", "105");
	assert_shifted(100, "born", "0", "0");
	assert_shifted(-100, "born", "5", "0");
	assert_shifted(100, "ended_by", "odd, one", "2:odd, one");
	assert_shifted(100, "reason_by", "a-7", "2:a-7");
	assert_shifted(100, "submitter", "b-9", "b-9");
	assert_shifted(100, "cpu", "3", "7");
	assert_shifted(100, "until", "open", "open");
	assert_shifted(100, "runqueue", "5", "5");
	assert_shifted(100, "below", "0 3", "10 13");
	assert_shifted(100, "command", "5 5", "5 5");
	assert_shifted(100, "a key of one's own", "5", "5");
}

static void test_rows(void **state)
{
	(void)state;
	assert_shifted(100, "names", "1 one\\,\\ two,20 a-7", "101 one\\,\\ two,120 a-7");
	assert_shifted(100, "holder", "a-7", "2:a-7");
	assert_shifted(100, "holder", "odd\\,\\ one 5 6 exact barged,b-9 6 7 exact",
		       "2:odd\\,\\ one 105 106 exact barged,b-9 106 107 exact");
	assert_shifted(100, "links", "3 1 2 3 4 5 exact - a-7,+3 0 2 3 4 5 exact b-9 -",
		       "3 101 102 103 4 5 exact - 2:a-7,+3 0 102 103 4 5 exact b-9 -");
	assert_shifted(100, "spins", "1 2 3 4 a-7", "101 102 3 4 2:a-7");
	assert_shifted(100, "touches", "8:1 10 2 30 40 50 60,8:2 1 2 3 4 5 6",
		       "8:1 10 2 130 140 50 60,8:2 1 2 103 104 5 6");
	assert_shifted(100, "announced", "1 20 30 0 .kv .a\\,b .,2 21 30 1",
		       "1 120 30 0 .kv .a\\,b .,2 121 30 1");
	assert_shifted(100, "pages", "8:1 1 2 3 4 5 1 1 exact a-7 b-9,8:1 1 2 3 4 0 0 1 exact",
		       "8:1 1 2 3 4 105 1 1 exact 2:a-7 b-9,8:1 1 2 3 4 0 0 1 exact");
	assert_shifted(100, "since", "1 0 3 4", "101 0 103 104");
	assert_shifted(100, "file", "8:1 10 20", "8:1 10 20");
}

static void test_capture(void **state)
{
	struct capture_shift shift = shift_by(100);

	(void)state;
	assert_shifted(100, "capture", "1 9", "101 109");
	shift.has_extent = true;
	shift.end = 700;
	assert_string_equal(capture_shift_value(&shift, "capture", "1 9"), "0 700");
	capture_shift_done(&shift);
	assert_shifted(100, "capture.file", "1 2 3 4 5 6", "1 2 3 104 105 6");
	assert_shifted(100, "capture.ledger", "1 2 3 4 5 6 7 8 9,65535 2 3 4 5 6 7 8 9",
		       "5 2 3 4 5 6 7 8 9,65535 2 3 4 5 6 7 8 9");
	assert_shifted(100, "capture.kernel", "6", "6");
	assert_shifted(100, "lost", "1 2 3 4", "5 102 103 4");
	assert_shifted(100, "file.8:1.55", "1 2 3 0 /a\\ b", "1 2 3 0 /a\\ b");
	assert_shifted(100, "file.8:1.55.1", "1 2 3 4 /a", "1 2 3 104 /a");
	assert_shifted(100, "socket.5", "1 2 3 4 5 00 00,,", "1 2 3 4 5 00 00,,");
}

/* A value that does not have the form of its key stays as it is, all of it. */
static void test_other_forms(void **state)
{
	(void)state;
	assert_shifted(100, "born", "yesterday", "yesterday");
	assert_shifted(100, "spins", "1 2 3 4 a-7,1 2 3", "1 2 3 4 a-7,1 2 3");
	assert_shifted(100, "names", "1 one two", "1 one two");
	assert_shifted(100, "lost", "", "");
}

static void test_labels(void **state)
{
	struct capture_shift shift = shift_by(100);

	(void)state;
	assert_string_equal(capture_shift_label(&shift, "a-7", true), "2:a-7");
	assert_string_equal(capture_shift_label(&shift, "a-7", false), "a-7");
	assert_string_equal(
		capture_shift_label(&shift, "wait futex raw_at=5 holder=a-7 blind=yes", false),
		"wait futex raw_at=105 holder=2:a-7 blind=yes");
	assert_string_equal(capture_shift_label(&shift, "wait for raw_at=5", false),
			    "wait for raw_at=5");
	capture_shift_done(&shift);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	cmocka_unit_test(test_rows),
		cmocka_unit_test(test_capture), cmocka_unit_test(test_other_forms),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
