/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers: what a rule says, which waits it means, how often it may fire. */
#include "live/trigger.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS     1000000ull
#define SECOND 1000000000ull

static struct clew_trigger parsed(const char *text)
{
	struct clew_trigger trigger;
	struct clew_message message;

	assert_int_equal(clew_trigger_parse(text, &trigger, &message), 0);
	return trigger;
}

static void test_rules(void **state)
{
	static const struct {
		const char *text, *said;
	} bad[] = {
		{"", "is no rule"},
		{"wait", "is no rule"},
		{"wait fsync", "is no rule"},
		{"wait fsync < 1ms", "is no rule"},
		{"lock fsync > 1ms", "is no rule"},
		{"wait fsnyc > 1ms", "did you mean \"fsync\"?"},
		{"wait running > 1ms", "no kind of wait"},
		{"wait fsync > 50", "is no duration"},
		{"wait fsync > 50ms 3", "is no duration"},
		{"wait fsync > ", "is no duration"},
	};
	struct clew_trigger trigger;
	struct clew_message message;

	(void)state;
	trigger = parsed(" wait fsync>1.5ms");
	assert_int_equal(trigger.kinds, 1ull << CLEW_WAIT_FSYNC);
	assert_int_equal(trigger.threshold, 1500000);
	trigger = parsed("lock wait > 2s");
	assert_int_equal(trigger.kinds, 1ull << CLEW_WAIT_FUTEX | 1ull << CLEW_WAIT_LOCK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(clew_trigger_parse(bad[i].text, &trigger, &message), -EINVAL);
		assert_non_null(strstr(message.text, bad[i].said));
	}
}

static void test_waits(void **state)
{
	const struct clew_trigger trigger = parsed("wait fsync > 5ms");
	struct clew_sleep sleep = {.kind = CLEW_WAIT_FSYNC, .start = SECOND};

	(void)state;
	sleep.end = SECOND + 5 * MS;
	assert_false(clew_trigger_matches(&trigger, &sleep));
	sleep.end++;
	assert_true(clew_trigger_matches(&trigger, &sleep));
	sleep.kind = CLEW_WAIT_READ;
	assert_false(clew_trigger_matches(&trigger, &sleep));
	sleep.kind = CLEW_WAIT_FSYNC;
	sleep.end = CLEW_TIME_OPEN;
	assert_false(clew_trigger_matches(&trigger, &sleep));
}

/* One match a second for two days. */
static void test_rate(void **state)
{
	struct clew_trigger trigger = parsed("wait fsync > 5ms");
	uint64_t *fired = calloc(2 * 86400, sizeof(*fired));
	size_t count = 0;

	(void)state;
	assert_non_null(fired);
	for (uint64_t second = 100; second < 100 + 2 * 86400; second++)
		if (clew_trigger_fire(&trigger, second * SECOND))
			fired[count++] = second * SECOND;
	assert_int_equal(count, 2 * CLEW_TRIGGER_DAY);
	for (size_t i = 0; i < count; i++) {
		if (i < CLEW_TRIGGER_BURST)
			assert_int_equal(fired[i], (100 + i) * SECOND);
		if (i >= CLEW_TRIGGER_BURST)
			assert_true(fired[i] - fired[i - CLEW_TRIGGER_BURST] >= CLEW_TRIGGER_SPAN);
		if (i >= CLEW_TRIGGER_DAY)
			assert_true(fired[i] - fired[i - CLEW_TRIGGER_DAY] >= 86400 * SECOND);
	}
	free(fired);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
