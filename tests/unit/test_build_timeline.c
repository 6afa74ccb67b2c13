/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timelines from records: what a task did in every ns, from the start's findings to
 * the stop's, through birth, exec and death.
 */
#include "synthetic.h"

#define OPEN CLEW_TIME_OPEN

static void sleep_and_run_queue(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;
	struct clew_run run;

	(void)state;
	threads(&s, 2);
	sleeps(&s, 2000, 0, 1, wait_on(SYS_read, CLEW_OBJECT_PIPE, 5));
	SWITCH(&s, .at = 2500, .cpu = 0, .prev = IDLE, .next = 2);
	SWITCH(&s, .at = 4000, .cpu = 0, .prev = 2, .next = 1, .flags = CLEW_SWITCH_PREEMPT,
	       .woken = {.at = 3000, .by = 2});
	SWITCH(&s, .at = 5000, .cpu = 0, .prev = 1, .next = 2);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_piece(t, 1, 1000, 2000, CLEW_PIECE_RUNNING);
	assert_piece(t, 1, 2000, 3000, CLEW_PIECE_SLEEP);
	assert_piece(t, 1, 3000, 4000, CLEW_PIECE_RUNQUEUE);
	assert_int_equal(piece_of(t, 1, 3500).cpu, 0);
	assert_piece(t, 1, 4000, 5000, CLEW_PIECE_RUNNING);
	assert_piece(t, 1, 5000, 6000, CLEW_PIECE_RUNQUEUE);
	assert_int_equal(piece_of(t, 1, 5500).cpu, UINT16_MAX);
	assert_piece(t, 2, 1000, 2500, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 2, 4000, 5000, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 2, 5000, 6000, CLEW_PIECE_RUNNING);
	sleep = sleep_of(t, 1, 0);
	assert_int_equal(sleep->kind, CLEW_WAIT_PIPE);
	assert_int_equal(sleep->end, 3000);
	assert_int_equal(sleep->raw_end, 3000);
	assert_int_equal(sleep->switch_in, 4000);
	assert_int_equal(sleep->ended_by, 2);
	assert_int_equal(sleep->context, CLEW_WAKE_TASK);
	assert_int_equal(sleep->edge_type, CLEW_EDGE_PIPE);
	assert_int_equal(sleep->open, CLEW_OPEN_NONE);
	assert_true(clew_trace_running(t, 0, 2200, &run));
	assert_int_equal(run.task, IDLE);
	assert_true(clew_trace_running(t, 0, 1000, &run));
	assert_int_equal(run.task, 1);
	assert_true(run.open_start);
	assert_int_equal(run.ended, CLEW_RUN_SLEPT);
	assert_true(clew_trace_running(t, 0, 5999, &run));
	assert_int_equal(run.ended, CLEW_RUN_OPEN);
	assert_false(clew_trace_running(t, 0, 6000, &run));
	assert_false(clew_trace_running(t, 7, 5000, &run));
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The stamp may come before the switch-out of the wait it ended, or belong to an earlier one. */
static void wake_stamps(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_sleep *sleep;

	(void)state;
	threads(&s, 2);
	sleeps(&s, 2000, 0, 1, wait_in(SYS_pause));
	comes(&s, 2500, 0, 1, (struct woken){.at = 1900, .by = 2}); /* early: a race */
	sleeps(&s, 3000, 0, 1, wait_in(SYS_pause));
	comes(&s, 3500, 0, 1,
	      (struct woken){.at = 2400, .by = 2}); /* stale: before it last came on */
	sleeps(&s, 4000, 0, 1, wait_in(SYS_pause));
	SWITCH(&s, .at = 4500, .cpu = 0, .prev = IDLE, .next = 1,
	       .flags = CLEW_SWITCH_NEXT_SLEPT); /* missed */
	sleeps(&s, 5000, 0, 1, wait_in(SYS_pause));
	comes(&s, 5500, 0, 1, (struct woken){.at = 5200, .by = 2, .context = CLEW_WAKE_IRQ});
	sleeps(&s, 6000, 0, 1, wait_in(SYS_pause));
	comes(&s, 6500, 0, 1, (struct woken){.at = 6200, .by = 1}); /* nobody wakes himself */
	t = synthetic_trace(&s, 7000, 0);
	assert_sane(t);
	sleep = sleep_of(t, 1, 0);
	assert_int_equal(sleep->start, 2000);
	assert_int_equal(sleep->end, 2000);
	assert_int_equal(sleep->raw_end, 1900);
	assert_int_equal(sleep->ended_by, 2);
	assert_piece(t, 1, 2000, 2500, CLEW_PIECE_RUNQUEUE);
	for (unsigned n = 1; n <= 4; n += n == 2 ? 2 : 1) {
		sleep = sleep_of(t, 1, n);
		assert_int_equal(sleep->end, sleep->switch_in);
		assert_int_equal(sleep->raw_end, 0);
		assert_int_equal(sleep->ended_by, 0);
		assert_int_equal(sleep->context, CLEW_WAKE_UNKNOWN);
		assert_int_equal(sleep->edge_type, -1);
		assert_true(sleep->blind); /* a missed wake is a loss: `end` is only when it was on
					      a CPU again */
	}
	sleep = sleep_of(t, 1, 3);
	assert_int_equal(sleep->end, 5200);
	assert_int_equal(sleep->ended_by, 0);
	assert_int_equal(sleep->context, CLEW_WAKE_IRQ);
	assert_null(edge_to(t, 1, 1));
	clew_trace_free(t);
	synthetic_done(&s);
}

static void found_at_the_start(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 11);
	SWITCH(&s, .at = 1100, .cpu = 3, .prev = 8, .next = IDLE,
	       .wait = &(struct clew_wait){.call = SYS_pause, .descriptor = -1});
	SWITCH(&s, .at = 1150, .cpu = 4, .prev = 11, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	found_asleep(&s, 1200, 1, wait_in(SYS_pause)); /* woken later */
	found_asleep(&s, 1201, 2, wait_in(SYS_pause)); /* was only about to sleep */
	found_ready(&s, 1202, 3);		       /* ran on CPU 1 */
	found_ready(&s, 1203, 4);		       /* was ready */
	found_ready(&s, 1204, 5);		       /* woken before it was looked at */
	found_asleep(&s, 1205, 6, wait_in(SYS_wait4)); /* sleeps on */
	found_asleep(&s, 1206, 8, wait_in(SYS_wait4)); /* its switch was seen before */
	found_dead(&s, 1207, 10);		       /* its parent does not wait for it */
	found_dead(&s, 1208, 11);		       /* after its last switch */
	sleeps(&s, 1300, 0, 2, wait_in(SYS_wait4));
	SWITCH(&s, .at = 1400, .cpu = 1, .prev = 3, .next = 4, .flags = CLEW_SWITCH_PREEMPT);
	comes(&s, 1600, 0, 1, (struct woken){.at = 1500, .by = 4});
	SWITCH(&s, .at = 1700, .cpu = 1, .prev = 4, .next = 5, .woken = {.at = 1150, .by = 4});
	/* 7 was asleep, but came on before it was looked at; 9 never shows up. */
	SWITCH(&s, .at = 1800, .cpu = 2, .prev = IDLE, .next = 7, .woken = {.at = 1750, .by = 4});
	t = synthetic_trace(&s, 3000, 0);
	assert_sane(t);
	assert_piece(t, 1, 1000, 1500, CLEW_PIECE_SLEEP);
	assert_int_equal(sleep_of(t, 1, 0)->open, CLEW_OPEN_START);
	assert_int_equal(sleep_of(t, 1, 0)->ended_by, 4);
	assert_piece(t, 2, 1000, 1300, CLEW_PIECE_RUNNING);
	assert_int_equal(sleep_of(t, 2, 0)->start, 1300);
	assert_int_equal(sleep_of(t, 2, 0)->open, CLEW_OPEN_END);
	assert_int_equal(sleep_of(t, 2, 0)->call_id, 1);
	assert_null(sleep_of(t, 2, 1));
	assert_piece(t, 3, 1000, 1400, CLEW_PIECE_RUNNING);
	assert_piece(t, 4, 1000, 1400, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 5, 1000, 1150, CLEW_PIECE_SLEEP);
	assert_piece(t, 5, 1150, 1700, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 6, 1000, 3000, CLEW_PIECE_SLEEP);
	assert_int_equal(sleep_of(t, 6, 0)->open, CLEW_OPEN_BOTH);
	assert_int_equal(sleep_of(t, 6, 0)->end, OPEN);
	assert_piece(t, 7, 1000, 1750, CLEW_PIECE_SLEEP);
	assert_int_equal(sleep_of(t, 7, 0)->kind, CLEW_WAIT_UNKNOWN);
	assert_piece(t, 8, 1000, 1100, CLEW_PIECE_RUNNING);
	assert_int_equal(sleep_of(t, 8, 0)->kind, CLEW_WAIT_SIGNAL);
	assert_null(sleep_of(t, 8, 1));
	assert_piece(t, 9, 1000, 3000, CLEW_PIECE_UNKNOWN);
	assert_null(sleep_of(t, 10, 0));
	assert_int_equal(clew_trace_task(t, 10)->death, 1000);
	assert_int_equal(trace_task_find(t, 10)->end, 1000);
	assert_piece(t, 11, 1000, 1150, CLEW_PIECE_RUNNING);
	assert_int_equal(clew_trace_task(t, 11)->death, 1150);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void open_at_the_end(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 2000, 0, 1, wait_in(SYS_pause));
	sleeps(&s, 2100, 1, 2, wait_in(SYS_pause));
	sleeps(&s, 2200, 2, 3, wait_in(SYS_pause));
	stop_asleep(&s, 3100, 1, wait_in(SYS_pause), (struct woken){.at = 2900, .by = 9});
	stop_asleep(&s, 3101, 2, wait_in(SYS_pause), (struct woken){0});
	stop_asleep(&s, 3102, 3, wait_in(SYS_pause),
		    (struct woken){.at = 3050, .by = 9});		 /* after the end */
	stop_asleep(&s, 3103, 4, wait_in(SYS_wait4), (struct woken){0}); /* never switched */
	t = synthetic_trace(&s, 3000, 0);
	assert_sane(t);
	assert_int_equal(clew_trace_end(t), 3000);
	assert_piece(t, 1, 2000, 2900, CLEW_PIECE_SLEEP);
	assert_piece(t, 1, 2900, 3000, CLEW_PIECE_RUNQUEUE);
	assert_int_equal(sleep_of(t, 1, 0)->switch_in, OPEN);
	assert_int_equal(sleep_of(t, 1, 0)->open, CLEW_OPEN_NONE);
	assert_int_equal(sleep_of(t, 1, 0)->ended_by, 9);
	assert_non_null(edge_to(t, 1, 0));
	assert_piece(t, 2, 2100, 3000, CLEW_PIECE_SLEEP);
	assert_int_equal(sleep_of(t, 2, 0)->open, CLEW_OPEN_END);
	assert_int_equal(sleep_of(t, 3, 0)->open, CLEW_OPEN_END);
	assert_int_equal(sleep_of(t, 4, 0)->open, CLEW_OPEN_BOTH);
	assert_int_equal(sleep_of(t, 4, 0)->kind, CLEW_WAIT_CHILD);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void fork_exec_exit(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_edge *edge;

	(void)state;
	identify(&s, (struct identity){.task = 1, .comm = "sh"});
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = 9, .next = 1);
	identify(&s, (struct identity){
			     .task = 5, .comm = "sh", .at = 2000, .start_time = 1999, .parent = 1});
	life(&s, CLEW_KIND_FORK, 2000, 1, 5);
	SWITCH(&s, .at = 2300, .cpu = 1, .prev = IDLE, .next = 5, .flags = CLEW_SWITCH_NEXT_NEW,
	       .woken = {.at = 2100, .by = 1});
	life(&s, CLEW_KIND_EXEC, 2450, 5, 5);
	identify(&s, (struct identity){.task = 5,
				       .comm = "ls",
				       .at = 2450,
				       .start_time = 1999,
				       .command_line = "ls\0-l"});
	sleeps(&s, 2500, 0, 1, wait_on(SYS_wait4, CLEW_OBJECT_CHILD, (uint64_t)-1));
	life(&s, CLEW_KIND_EXIT, 2600, 5, 0);
	SWITCH(&s, .at = 2800, .cpu = 1, .prev = 5, .next = IDLE, .flags = CLEW_SWITCH_DEAD,
	       .state = 0x80);
	comes(&s, 2900, 0, 1,
	      (struct woken){.at = 2700, .by = 5, .flags = CLEW_WAKE_EXITING | CLEW_WAKE_SIGNAL});
	t = synthetic_trace(&s, 4000, 0);
	assert_sane(t);
	assert_int_equal(clew_trace_task(t, 5)->birth, 2100);
	assert_int_equal(clew_trace_task(t, 5)->death, 2800);
	assert_int_equal(clew_trace_task(t, 5)->parent, 1);
	assert_string_equal(clew_trace_task(t, 5)->comm, "ls");
	assert_string_equal(clew_trace_task(t, 5)->command_line, "ls");
	assert_string_equal(clew_trace_comm_at(t, 5, 2449), "sh");
	assert_string_equal(clew_trace_comm_at(t, 5, 2450), "ls");
	assert_string_equal(clew_trace_comm_at(t, 77, 2400), "");
	assert_piece(t, 5, 2100, 2300, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 5, 2300, 2800, CLEW_PIECE_RUNNING);
	edge = clew_trace_fork_of(t, 5);
	assert_int_equal(edge->from, 1);
	assert_int_equal(edge->from_at, 2000);
	assert_null(clew_trace_fork_of(t, 1));
	edge = edge_to(t, 5, 1);
	assert_int_equal(edge->type, CLEW_EDGE_EXEC);
	assert_int_equal(edge->from, 5);
	assert_string_equal(edge->from_comm, "sh");
	assert_string_equal(edge->to_comm, "ls");
	edge = edge_to(t, 1, 0);
	assert_int_equal(edge->type, CLEW_EDGE_EXIT);
	assert_int_equal(edge->from, 5);
	assert_string_equal(edge->from_comm, "ls");
	assert_int_equal(sleep_of(t, 1, 0)->kind, CLEW_WAIT_CHILD);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The thread goes on as another task on the same CPU, and is ended there as that. */
static void exec_by_another_thread(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 2);
	rename_task(&s, 1700, 2, "two");
	rename_task(&s, 1900, 2, "three");
	life(&s, CLEW_KIND_EXEC, 2000, 2, 3);
	identify(&s,
		 (struct identity){.task = 3, .process = 3, .tid = 101, .comm = "new", .at = 2000});
	sleeps(&s, 2500, 0, 3, wait_in(SYS_pause));
	comes(&s, 3000, 0, 3, (struct woken){.at = 2900, .by = 2});
	t = synthetic_trace(&s, 4000, 0);
	assert_sane(t);
	assert_int_equal(clew_trace_task(t, 2)->death, 2000);
	assert_int_equal(clew_trace_task(t, 3)->birth, 2000);
	assert_int_equal(clew_trace_task(t, 3)->instance, 2);
	assert_piece(t, 2, 1500, 2000, CLEW_PIECE_RUNNING);
	assert_piece(t, 3, 2000, 2500, CLEW_PIECE_RUNNING);
	assert_piece(t, 3, 2500, 2900, CLEW_PIECE_SLEEP);
	assert_int_equal(edge_to(t, 3, 0)->type, CLEW_EDGE_EXEC);
	assert_int_equal(edge_to(t, 3, 0)->from, 2);
	assert_string_equal(edge_to(t, 3, 0)->from_comm, "three");
	assert_string_equal(edge_to(t, 3, 0)->to_comm, "new");
	clew_trace_free(t);
	synthetic_done(&s);
}

static void one_call_several_waits(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_wait wait = wait_on(SYS_read, CLEW_OBJECT_FILE, 7), again = wait;

	(void)state;
	again.flags = CLEW_WAIT_FLAG_SAME_CALL;
	threads(&s, 1);
	sleeps(&s, 2000, 0, 1, again); /* the first of all begins a call whatever it says */
	comes(&s, 2500, 0, 1, (struct woken){.at = 2400, .context = CLEW_WAKE_IRQ});
	sleeps(&s, 2600, 0, 1, again);
	comes(&s, 2800, 0, 1, (struct woken){.at = 2700, .context = CLEW_WAKE_IRQ});
	sleeps(&s, 2900, 0, 1, wait);
	t = synthetic_trace(&s, 4000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 1, 0)->call_id, sleep_of(t, 1, 1)->call_id);
	assert_int_equal(sleep_of(t, 1, 2)->call_id, sleep_of(t, 1, 1)->call_id + 1);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Many short-lived tasks: what is held is for those alive and the lately dead. */
static void memory_follows_the_living(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct clew_builder *builder;
	size_t tasks, most = 0, memory = 0;

	(void)state;
	assert_int_equal(clew_builder_new(&options, &taker_of_all, 1, &builder), 0);
	for (uint32_t task = 2; task < 20000; task++) {
		uint64_t at = START + task * 10000000ull;
		struct synthetic s = {0};

		identify(&s, (struct identity){.task = task,
					       .tid = 100 + task % 300,
					       .at = at,
					       .start_time = at});
		life(&s, CLEW_KIND_FORK, at, 1, task);
		SWITCH(&s, .at = at + 10, .cpu = 0, .prev = IDLE, .next = task,
		       .flags = CLEW_SWITCH_NEXT_NEW, .woken = {.at = at + 5, .by = 1});
		life(&s, CLEW_KIND_EXIT, at + 20, task, 0);
		SWITCH(&s, .at = at + 30, .cpu = 0, .prev = task, .next = IDLE,
		       .flags = CLEW_SWITCH_DEAD);
		for (size_t i = 0; i < s.size;
		     i += record_size((const struct clew_header *)(s.bytes + i)))
			assert_int_equal(
				clew_builder_feed(builder,
						  (const struct clew_header *)(s.bytes + i)),
				0);
		synthetic_done(&s);
		if (task == 1000)
			memory = clew_builder_memory(builder, &tasks);
		clew_builder_memory(builder, &tasks);
		most = tasks > most ? tasks : most;
	}
	assert_in_range(most, 1, 110);
	/* But for eight bytes a thousand serials. */
	assert_in_range(clew_builder_memory(builder, NULL), 1, memory + memory / 4);
	assert_int_equal(clew_builder_finish(builder, UINT64_MAX / 2), 0);
	clew_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleep_and_run_queue),
		cmocka_unit_test(wake_stamps),
		cmocka_unit_test(found_at_the_start),
		cmocka_unit_test(open_at_the_end),
		cmocka_unit_test(fork_exec_exit),
		cmocka_unit_test(exec_by_another_thread),
		cmocka_unit_test(one_call_several_waits),
		cmocka_unit_test(memory_follows_the_living),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
