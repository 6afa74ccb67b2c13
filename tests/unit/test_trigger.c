/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers: what a rule says, what it is about, how often it may fire. */
#include "live/trigger.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define MS     1000000ull
#define SECOND 1000000000ull

static struct clew_trigger parsed(const char *text)
{
	struct clew_trigger trigger;
	struct clew_message message;
	size_t at;

	assert_int_equal(clew_trigger_parse(text, &trigger, &at, &message), 0);
	assert_int_equal(at, strlen(text));
	return trigger;
}

static void test_rules(void **state)
{
	static const struct {
		const char *text, *said;
		size_t at;
	} bad[] = {
		{"", "is no rule", 0},
		{"wait", "is no rule", 4},
		{"wait fsync", "is no rule", 10},
		{"wait fsync < 1ms", "is no rule", 11},
		{"lock fsync > 1ms", "is no rule", 0},
		{"  wait fsnyc > 1ms", "no kind \"fsnyc\": did you mean \"fsync\"?", 7},
		{"wait running > 1ms", "no kind", 5},
		{"call fsnyc > 1ms", "no system call", 5},
		{"runqueue 1ms", "is no rule", 9},
		{"wait fsync > 50", "is no duration", 13},
		{"wait fsync > 50ms 3", "goes on with", 18},
		{"wait fsync > 50ms where", "goes on with", 18},
		{"wait fsync > 50ms where user x", "goes on with", 18},
		{"wait fsync > 50ms limit 0", "from 1 to 240", 24},
		{"wait fsync > 50ms limit 241", "from 1 to 240", 24},
		{"wait fsync > ", "is no duration", 13},
		{"announced > 1s", "is no rule", 10},
		{"p99(wait fsync > 1ms", "is no rule", 15},
		{"p0(wait fsync) > 1ms", "is no rule", 0},
		{"p100(wait fsync) > 1ms", "is no rule", 0},
		{"p99(sum(fsync)) > 1ms", "is no rule", 4},
		{"p99(wait fsnyc) > 1ms", "\"fsync\"?", 9},
		{"p99(wait fsync) > 1ms over 1.5s", "whole ones", 27},
		{"p99(wait fsync) > 1ms over 61s", "whole ones", 27},
		{"wait fsync > 1ms over 10s", "goes on with", 17},
		{"sum(fsnyc) > 5% of /a", "\"fsync\"?", 4},
		{"sum(fsync) > 5ms of /a", "no share", 13},
		{"sum(fsync) > 0% of /a", "no share", 13},
		{"sum(fsync) > -1% of /a", "no share", 13},
		{"sum(fsync) > 5%", "no cgroup", 15},
		{"sum(fsync) > 5% of", "no cgroup", 16},
	};
	size_t at;
	struct clew_trigger trigger;
	struct clew_message message;

	(void)state;
	trigger = parsed(" wait fsync>1.5ms");
	assert_int_equal(trigger.kinds, 1ull << CLEW_WAIT_FSYNC);
	assert_int_equal(trigger.threshold, 1500000);
	trigger = parsed("lock wait > 2s");
	assert_int_equal(trigger.kinds,
			 1ull << CLEW_WAIT_FUTEX | 1ull << CLEW_WAIT_LOCK | 1ull << CLEW_WAIT_FILE);
	trigger = parsed("call openat > 1ms where comm db* where cgroup /a/* limit 100");
	assert_int_equal(trigger.call, SYS_openat);
	assert_int_equal(trigger.limit, 100);
	assert_true(clew_trigger_wants(&trigger, "db1", "/a/b"));
	assert_false(clew_trigger_wants(&trigger, "db1", "/b/b"));
	assert_false(clew_trigger_wants(&trigger, "d", "/a/b"));
	assert_false(clew_trigger_wants(&trigger, "db", NULL));
	trigger = parsed("p95( call fsync ) > 2ms over 3s limit 2");
	assert_int_equal(trigger.how, CLEW_TRIGGER_PERCENTILE);
	assert_int_equal(trigger.what, CLEW_TRIGGER_CALL);
	assert_int_equal(trigger.share, 95);
	assert_int_equal(trigger.over, 3);
	assert_int_equal(trigger.limit, 2);
	trigger = parsed("sum(runqueue) > 150% of /system.slice/* over 4s");
	assert_int_equal(trigger.how, CLEW_TRIGGER_SUM);
	assert_int_equal(trigger.what, CLEW_TRIGGER_RUNQUEUE);
	assert_int_equal(trigger.threshold, 6 * SECOND);
	assert_string_equal(trigger.cgroup, "/system.slice/*");
	trigger = parsed("p50(operation) > 2ms");
	assert_int_equal(trigger.what, CLEW_TRIGGER_OPERATION);
	trigger = parsed("announced sql.* > 1ms");
	assert_true(clew_trigger_means_call(&trigger, "sql.query"));
	assert_false(clew_trigger_means_call(&trigger, "http.get"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(clew_trigger_parse(bad[i].text, &trigger, &at, &message), -EINVAL);
		assert_int_equal(at, bad[i].at);
		assert_non_null(strstr(message.text, bad[i].said));
	}
}

/* Each rule takes findings of its own kind alone. */
static void test_waits(void **state)
{
	const struct clew_trigger trigger = parsed("wait fsync > 5ms"),
				  lock = parsed("lock wait > 5ms"), cpu = parsed("runqueue > 5ms");
	struct clew_sleep sleep = {.kind = CLEW_WAIT_FSYNC, .start = SECOND, .task = 3};
	const struct clew_ready ready = {.start = SECOND, .end = SECOND + 6 * MS, .task = 3};
	struct clew_slow slow;

	(void)state;
	sleep.end = SECOND + 5 * MS;
	sleep.switch_in = sleep.end + 6 * MS;
	assert_true(clew_trigger_means(&cpu, &sleep, &slow));
	assert_true(slow.start == sleep.end && slow.end == sleep.switch_in);
	assert_true(clew_trigger_means(&trigger, &sleep, &slow));
	assert_true(slow.start == SECOND && slow.end == sleep.end && slow.task == 3);
	assert_false(clew_trigger_means(&lock, &sleep, &slow));
	sleep.kind = CLEW_WAIT_LOCK;
	assert_true(clew_trigger_means(&lock, &sleep, &slow));
	sleep.kind = CLEW_WAIT_FUTEX;
	assert_false(clew_trigger_means(&lock, &sleep, &slow));
	sleep.holder_count = 1;
	assert_true(clew_trigger_means(&lock, &sleep, &slow));
	sleep.kind = CLEW_WAIT_READ;
	assert_false(clew_trigger_means(&trigger, &sleep, &slow));
	sleep.end = sleep.switch_in = CLEW_TIME_OPEN;
	assert_false(clew_trigger_means(&cpu, &sleep, &slow));
	assert_true(clew_trigger_means_ready(&cpu, &ready, &slow));
	assert_false(clew_trigger_means_ready(&trigger, &ready, &slow));
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
