/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Triggers: what a rule says, what it is about, how often it may fire. */
#include "live/judge.h"

#include <clew/tokens.h>
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
		{"request > 1ms", "no disk", 8},
		{"request write > 1ms", "no disk", 14},
		{"request wirte vda > 1ms", "'wirte' is nothing that a disk is asked for", 8},
		{"request write vda fast > 1ms", "'vda' is nothing", 14},
		{"p99(request) > 1ms", "no disk", 11},
		{"request vda", "is no rule", 11},
		{"sum(request vda) > 5% of /a", "requests have no sum", 4},
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
	trigger = parsed("request vd* > 20ms");
	assert_int_equal(trigger.what, CLEW_TRIGGER_REQUEST);
	assert_int_equal(trigger.operations, 0);
	assert_string_equal(trigger.name, "vd*");
	trigger = parsed("p99( request flush 254:0 ) > 20ms over 30s");
	assert_int_equal(trigger.operations, 1u << CLEW_REQUEST_FLUSH);
	assert_string_equal(trigger.name, "254:0");
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

static void test_disks(void **state)
{
	static const struct {
		const char *rule, *disk;
		bool meant;
	} cases[] = {
		{"request vda > 1ms", "vda", true},
		{"request vda > 1ms", NULL, false},
		{"request 254:1 > 1ms", NULL, true},
		{"request 254:1 > 1ms", "vda", true},
		{"request 254:* > 1ms", "vda", true},
		{"request 254 > 1ms", "vda", false},
		{"request * > 1ms", NULL, true},
		{"request vd > 1ms", "vda", false},
		{"request dm-0 > 1ms", "dm-0 (my-root)", true},
		{"request my-* > 1ms", "dm-0 (my-root)", true},
		{"request root > 1ms", "dm-0 (my-root)", false},
		{"request write vda > 1ms", "vda", true},
		{"request flush vda > 1ms", "vda", false},
	};
	const struct clew_block_request request = {
		.device = 254u << 20 | 1, .operation = 1 | 1u << 11, .bytes = 4096};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clew_trigger trigger = parsed(cases[i].rule);

		assert_int_equal(clew_trigger_means_request(&trigger, &request, cases[i].disk),
				 cases[i].meant);
	}
}

struct met {
	struct clew_slow slows[8];
	size_t count;
};

static void note_met(void *context, size_t rule, const struct clew_slow *slow,
		     const struct known_task *task)
{
	struct met *met = context;

	assert_int_equal(rule, 0);
	assert_int_equal(task ? task->serial : 0, slow->task);
	assert_true(met->count < 8);
	met->slows[met->count++] = *slow;
}

static void serve(struct clew_judge *judge, struct clew_block_request request)
{
	request.device = 254u << 20;
	assert_int_equal(clew_judge_take(judge, (struct clew_finding){.tag = CLEW_FINDING_SERVED,
								      .request = &request}),
			 0);
}

/* A request is that of the task that made it necessary, and meets a rule once. */
static void test_requests(void **state)
{
	struct met met = {};
	const struct clew_judge_options options = {
		.task_size = sizeof(struct known_task), .met = note_met, .context = &met};
	const struct clew_trigger trigger = parsed("request 254:0 > 5ms"), *rule = &trigger;
	const uint64_t queued = SECOND, end = SECOND + 6 * MS;
	struct clew_judge *judge;

	(void)state;
	assert_int_equal(clew_judge_new(&options, &judge), 0);
	assert_int_equal(clew_judge_set(judge, &rule, NULL, 1), 0);
	for (uint32_t task = 1; task <= 3; task++) {
		struct clew_task_record record = {.header.kind = CLEW_KIND_TASK,
						  .task = task,
						  .task_flags = task == 3 ? CLEW_TASK_SELF : 0};

		assert_int_equal(
			clew_judge_take(judge, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
								     .identity = &record.header}),
			0);
	}
	serve(judge, (struct clew_block_request){
			     .queued = queued, .completed = SECOND + 5 * MS, .submitter = 1});
	serve(judge, (struct clew_block_request){.completed = end, .submitter = 1, .number = 1});
	serve(judge, (struct clew_block_request){
			     .queued = queued, .completed = end, .submitter = 3, .number = 2});
	for (unsigned turn = 0; turn < 2; turn++)
		serve(judge, (struct clew_block_request){.queued = queued,
							 .completed = end + turn * MS,
							 .submitter = 1,
							 .reason_task = 2,
							 .operation = 1 | 1u << 17,
							 .again = turn > 0,
							 .number = 3});
	/* Another one that was queued at the same time, held back by a limit. */
	serve(judge, (struct clew_block_request){.queued = queued,
						 .released = end - MS,
						 .completed = end + 3 * MS,
						 .submitter = 1,
						 .sector = 8,
						 .bytes = 512,
						 .operation = 1,
						 .number = 4});
	serve(judge, (struct clew_block_request){
			     .queued = queued, .completed = end + 4 * MS, .number = 5});
	assert_int_equal(clew_judge_finish(judge, 2 * SECOND), 0);
	assert_int_equal(met.count, 3);
	assert_true(met.slows[0].task == 2 && met.slows[0].at == end);
	assert_true(met.slows[1].task == 1 && met.slows[1].start == queued &&
		    met.slows[1].end == end + 3 * MS);
	assert_true(met.slows[1].kind == CLEW_SLOW_REQUEST && met.slows[1].request.sector == 8 &&
		    met.slows[1].request.bytes == 512 && met.slows[1].request.device == 254u << 20);
	assert_true(met.slows[2].task == CLEW_NO_TASK);
	clew_judge_free(judge);
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
		cmocka_unit_test(test_rules), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_disks), cmocka_unit_test(test_requests),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
