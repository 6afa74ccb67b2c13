/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runnable tasks that are kept off the CPU: their group's quota, or their own runtime, is
 * used up.
 */
#include "synthetic.h"

static const struct clew_sleep *check_origin(const struct clew_trace *t, uint32_t task, unsigned n,
					     int type, uint32_t from, uint64_t from_at)
{
	const struct clew_sleep *sleep = sleep_of(t, task, n);

	assert_non_null(sleep);
	if (sleep->edge_type != type)
		print_message("type %d, not %d\n", sleep->edge_type, type);
	assert_int_equal(sleep->edge_type, type);
	assert_int_equal(sleep->from, from);
	assert_int_equal(sleep->from_at, from_at);
	return sleep;
}

/* A runnable task is kept off the CPU from `at` on. */
static void kept_off(struct synthetic *s, uint64_t at, uint32_t task, struct clew_wait wait)
{
	struct clew_switch *record;

	sleeps(s, at, 0, task, wait);
	record = (struct clew_switch *)(s->bytes + s->size - sizeof(struct clew_switch) -
					sizeof(struct clew_wait));
	record->header.flags = CLEW_SWITCH_PREEMPT | CLEW_SWITCH_THROTTLED | CLEW_SWITCH_WAIT;
	record->prev_state = 0;
}

/* A task's group's quota is used up at `at`. */
static void used_up(struct synthetic *s, uint64_t at, uint32_t task)
{
	kept_off(s, at, task,
		 (struct clew_wait){.call = CLEW_NO_CALL,
				    .descriptor = -1,
				    .object_kind = CLEW_OBJECT_CGROUP,
				    .object = 507,
				    .reason = CLEW_REASON_QUOTA});
}

/* A task has used up its own runtime, or gives it up, until a timer. */
static void out_of_runtime(struct synthetic *s, uint64_t at, uint32_t task, uint16_t call,
			   uint64_t until)
{
	kept_off(s, at, task,
		 (struct clew_wait){.call = call,
				    .descriptor = -1,
				    .object_kind = CLEW_OBJECT_TIMER,
				    .object = 77,
				    .argument = until,
				    .reason = CLEW_REASON_RUNTIME});
}

/* Off the CPU until its timer was due, then in the run queue; who let it run before that is not
 * known. */
static void without_runtime(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	out_of_runtime(&s, 2000, 1, CLEW_NO_CALL, 3000);
	SWITCH(&s, .at = 3200, .cpu = 0, .prev = IDLE, .next = 1);
	out_of_runtime(&s, 4000, 1, SYS_sched_yield, 4500);
	SWITCH(&s, .at = 4600, .cpu = 0, .prev = IDLE, .next = 1);
	out_of_runtime(&s, 4700, 1, CLEW_NO_CALL, 6000);
	SWITCH(&s, .at = 4800, .cpu = 0, .prev = IDLE, .next = 1);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_piece(t, 1, 2000, 3000, CLEW_PIECE_SLEEP);
	assert_piece(t, 1, 3000, 3200, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 1, 4000, 4500, CLEW_PIECE_SLEEP);
	assert_piece(t, 1, 4500, 4600, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 1, 4700, 4800, CLEW_PIECE_SLEEP);
	sleep = check_origin(t, 1, 0, -1, 0, 0);
	assert_int_equal(sleep->kind, CLEW_WAIT_THROTTLE);
	assert_int_equal(sleep->object.kind, CLEW_OBJECT_TIMER);
	assert_int_equal(sleep->links[0].begin, 3000);
	assert_int_equal(check_origin(t, 1, 1, -1, 0, 0)->kind, CLEW_WAIT_SLEEP);
	sleep = check_origin(t, 1, 2, -1, 0, 0);
	assert_int_equal(sleep->kind, CLEW_WAIT_THROTTLE);
	assert_int_equal(sleep->context, CLEW_WAKE_UNKNOWN);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Off the CPU for the quota until the first refill that was enough for all, else the last one; then
 * in the run queue. */
static void without_quota(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	used_up(&s, 2000, 1);
	REFILL(&s, 2500, 0, 507);
	REFILL(&s, 3000, 0, 507);
	REFILL(&s, 3050, CLEW_REFILL_ENOUGH, 508);
	SWITCH(&s, .at = 3200, .cpu = 0, .prev = IDLE, .next = 1);
	used_up(&s, 4000, 1);
	REFILL(&s, 4100, 0, 507);
	REFILL(&s, 4200, CLEW_REFILL_ENOUGH, 507);
	REFILL(&s, 4300, CLEW_REFILL_ENOUGH, 507);
	REFILL(&s, 4400, 0, 507);
	SWITCH(&s, .at = 4500, .cpu = 0, .prev = IDLE, .next = 1);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	sleep = check_origin(t, 1, 0, -1, 0, 0);
	assert_int_equal(sleep->kind, CLEW_WAIT_THROTTLE);
	assert_int_equal(sleep->context, CLEW_WAKE_TIMER);
	assert_int_equal(sleep->object.number, 507);
	assert_piece(t, 1, 2000, 3000, CLEW_PIECE_SLEEP);
	assert_piece(t, 1, 3000, 3200, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 1, 4000, 4200, CLEW_PIECE_SLEEP);
	assert_piece(t, 1, 4200, 4500, CLEW_PIECE_RUNQUEUE);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* One runs and is stopped again and again without a refill that the capture has, while another
 * waits all along: nothing grows. */
static void quota_without_refills(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct clew_builder *builder;
	struct synthetic s = {0};
	size_t first = 0;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 2);
	used_up(&s, 1200, 2);
	for (uint64_t at = 2000; at < 2000 + 20000 * 100; at += 100) {
		SWITCH(&s, .at = at, .cpu = 0, .prev = IDLE, .next = 1);
		used_up(&s, at + 50, 1);
	}
	assert_int_equal(clew_builder_new(&options, &taker_of_all, 1, &builder), 0);
	for (size_t at = 0; at < s.size;
	     at += record_size((const struct clew_header *)(s.bytes + at))) {
		assert_int_equal(
			clew_builder_feed(builder, (const struct clew_header *)(s.bytes + at)), 0);
		if (at < s.size / 4)
			first = clew_builder_memory(builder, NULL);
	}
	assert_int_equal(clew_builder_memory(builder, NULL), first);
	clew_builder_free(builder);
	synthetic_done(&s);
}

#define GROUPS	 1000000u
#define EACH	 10000000ull /* ns: a group comes, is refilled once and is gone */
#define LAST_END (START + 1000 + GROUPS * EACH)

/* A task waits for the quota of its group while a million others come and go: they are forgotten,
 * and its own is not. */
static void quotas_of_many(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct clew_finding_taker taker;
	struct clew_builder *builder;
	struct clew_trace *t;
	struct synthetic s = {0};
	size_t most = 0;

	(void)state;
	assert_int_equal(clew_trace_new(NULL, START, &t), 0);
	taker = clew_trace_taker(t);
	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	threads(&s, 1);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	used_up(&s, 2000, 1);
	synthetic_flush(builder, &s);
	for (uint64_t i = 0; i < GROUPS; i++) {
		REFILL(&s, START + 1000 + i * EACH, CLEW_REFILL_ENOUGH, 1000 + i);
		synthetic_flush(builder, &s);
		if (i % 1000 == 0 && clew_builder_memory(builder, NULL) > most)
			most = clew_builder_memory(builder, NULL);
	}
	REFILL(&s, LAST_END, CLEW_REFILL_ENOUGH, 507);
	SWITCH(&s, .at = LAST_END + 500, .cpu = 0, .prev = IDLE, .next = 1);
	synthetic_flush(builder, &s);
	assert_int_equal(clew_builder_finish(builder, LAST_END + 1000), 0);
	assert_int_equal(clew_trace_finish(t, LAST_END + 1000), 0);
	/* Quotas of a minute stay, and as many again until the builder looks for unused ones. */
	assert_in_range(most, 1, 4 << 20);
	assert_piece(t, 1, 2000, LAST_END, CLEW_PIECE_SLEEP);
	assert_piece(t, 1, LAST_END, LAST_END + 500, CLEW_PIECE_RUNQUEUE);
	clew_builder_free(builder);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_runtime),
		cmocka_unit_test(without_quota),
		cmocka_unit_test(quota_without_refills),
		cmocka_unit_test(quotas_of_many),
	};

	return cmocka_run_group_tests_name("build_quota", tests, NULL, NULL);
}
