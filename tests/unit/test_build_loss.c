/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests a timeline from which records are missing: what was seen stays, what
 * was not is unknown, and nothing is invented.
 */
#include "synthetic.h"

static void gap_on_the_cpu(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_run run;

	(void)state;
	threads(&s, 3);
	SWITCH(&s, .at = 2000, .cpu = 0, .prev = IDLE, .next = 1);
	gap(&s, 0, 2500, 4000);
	SWITCH(&s, .at = 4000, .cpu = 0, .prev = 2, .next = 1);
	sleeps(&s, 5000, 0, 1, wait_in(SYS_pause));
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_piece(t, 1, 1000, 2000, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 1, 2000, 2500, CLEW_PIECE_RUNNING);
	assert_piece(t, 1, 2500, 4000, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 1, 4000, 5000, CLEW_PIECE_RUNNING);
	assert_piece(t, 2, 1000, 4000, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 2, 4000, 6000, CLEW_PIECE_RUNQUEUE);
	assert_false(clew_trace_running(t, 0, 3000, &run));
	assert_true(clew_trace_running(t, 0, 2499, &run));
	assert_int_equal(run.ended, CLEW_RUN_LOST);
	assert_false(sleep_of(t, 1, 0)->blind);
	assert_int_equal(clew_trace_gaps(t, 3000, 3001, NULL), 1);
	assert_int_equal(clew_trace_gaps(t, 4001, 9000, NULL), 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Any sleep over a gap, on whatever CPU, may have been two. Its wake still is what the stamp says.
 */
static void sleep_over_a_gap(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 5);
	sleeps(&s, 2000, 1, 1, wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x10, 102));
	sleeps(&s, 3100, 2, 3, wait_in(SYS_pause)); /* in the gap, which is told only later */
	comes(&s, 3200, 2, 3, (struct woken){.at = 3150, .by = 2});
	gap(&s, 0, 3000, 4000);
	sleeps(&s, 4100, 2, 3, wait_in(SYS_pause)); /* after it */
	comes(&s, 5000, 1, 1,
	      (struct woken){.at = 4900, .by = 2, .operation = CLEW_FUTEX_WAKE_ONE});
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_true(sleep_of(t, 1, 0)->blind);
	assert_int_equal(sleep_of(t, 1, 0)->end, 4900);
	assert_int_equal(sleep_of(t, 1, 0)->ended_by, 2);
	assert_int_equal(sleep_of(t, 1, 0)->edge_type, CLEW_EDGE_WAKE);
	assert_int_equal(sleep_of(t, 1, 0)->holder_count, 0);
	assert_true(sleep_of(t, 3, 0)->blind);
	assert_false(sleep_of(t, 3, 1)->blind);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A task leaves a CPU on which no switch has put it: without a loss the kernel has hidden it. */
static void hidden_switch(void **state)
{
	(void)state;
	for (unsigned lost = 0; lost < 2; lost++) {
		struct synthetic s = {0};
		struct clew_trace *t;

		threads(&s, 5);
		sleeps(&s, 2000, 1, 1, wait_in(SYS_pause));
		if (lost)
			gap(&s, 1, 2500, 2600);
		SWITCH(&s, .at = 3000, .cpu = 1, .prev = 1, .next = 2);
		sleeps(&s, 4000, 2, 3, wait_in(SYS_pause));
		comes(&s, 4500, 2, 3, (struct woken){.at = 4400, .by = 2});
		t = synthetic_trace(&s, 6000, 0);
		assert_sane(t);
		assert_true(sleep_of(t, 1, 0)->blind);
		assert_false(sleep_of(t, 3, 0)->blind);
		assert_int_equal(sleep_of(t, 1, 0)->hidden, !lost);
		assert_int_equal(clew_trace_hidden(t), !lost);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* A gap that is told after such a sleep has ended leaves of it what one told before would have. */
static void found_blind_afterwards(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4; round++) {
		bool lost = round > 0, late = round > 1;
		uint32_t drop = round == 3 ? 1u << CLEW_EDGE_WAKE : 0;
		const struct clew_sleep *sleep;
		const struct clew_edge *list;
		struct synthetic s = {0};
		struct clew_trace *t;
		size_t edges;

		threads(&s, 4);
		identify(&s, (struct identity){.task = 5, .comm = "kworker"});
		SWITCH(&s, .at = 1600, .cpu = 4, .prev = IDLE, .next = 5);
		sleeps(&s, 2000, 1, 1, wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x10, 102));
		BIO(&s, 2020, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 800, .bytes = 4096,
		    .device = 254u << 20, .task = 3, .inode = 55);
		REQUEST(&s, 2030, CLEW_REQUEST_ISSUE, .request = 0x9000, .bio = 0xb1, .sector = 800,
			.bytes = 4096, .device = 254u << 20, .allocated = 2021, .task = 3);
		sleeps(&s, 2100, 2, 3, wait_on(SYS_pread64, CLEW_OBJECT_FILE, 55));
		sleeps(&s, 2200, 3, 4, wait_in(SYS_fsync));
		WORK(&s, 2600, .work = 0x71, .function = 0x4000, .queued = 2500, .worker = 5,
		     .queuer = 2, .context = CLEW_WAKE_TASK);
		if (lost && !late)
			gap(&s, 0, 2300, 2700);
		REQUEST(&s, 3000, CLEW_REQUEST_COMPLETE, .request = 0x9000, .bytes = 4096,
			.device = 254u << 20, .allocated = 2021);
		comes(&s, 3100, 2, 3,
		      interrupted(
			      3010, CLEW_WAKE_SOFTIRQ,
			      (struct clew_cause){.kind = CLEW_CAUSE_REQUEST, .object = 0x9000}));
		comes(&s, 3200, 1, 1,
		      (struct woken){.at = 3150,
				     .by = 2,
				     .operation = CLEW_FUTEX_WAKE_ONE,
				     .flags = CLEW_WAKE_PRIVATE});
		comes(&s, 3300, 3, 4, (struct woken){.at = 3250, .by = 5});
		sleeps(&s, 5000, 1, 1, wait_in(SYS_pause)); /* after it */
		comes(&s, 5100, 1, 1, (struct woken){.at = 5050, .by = 2});
		if (late)
			gap(&s, 0, 2300, 4000);
		t = synthetic_trace(&s, 6000, drop);
		assert_sane(t);
		list = clew_trace_edges(t, &edges);

		sleep = sleep_of(t, 1, 0);
		assert_int_equal(sleep->blind, lost);
		assert_int_equal(sleep->holder_count, !lost);
		assert_int_equal(sleep->edge_type, drop	  ? -1
						   : lost ? CLEW_EDGE_WAKE
							  : CLEW_EDGE_UNLOCK);
		assert_int_equal(sleep->ended_by, 2);
		assert_int_equal(sleep->from, drop ? 0 : 2);
		assert_int_equal(sleep->from_at, drop ? 0 : 3150);

		sleep = sleep_of(t, 3, 0);
		assert_int_equal(sleep->blind, lost);
		assert_int_equal(sleep->edge_type, lost ? -1 : CLEW_EDGE_REQUEST);
		assert_int_equal(sleep->link_count, !lost);
		assert_int_equal(sleep->from, lost ? 0 : 3);

		/* The worker woke it, whoever asked it to. */
		sleep = sleep_of(t, 4, 0);
		assert_int_equal(sleep->blind, lost);
		assert_int_equal(sleep->edge_type, drop	  ? -1
						   : lost ? CLEW_EDGE_WAKE
							  : CLEW_EDGE_WORK);
		assert_int_equal(sleep->link_count, !lost);
		assert_int_equal(sleep->ended_by, lost ? 5 : 2);
		assert_int_equal(sleep->from, drop ? 0 : lost ? 5 : 2);

		/* The work item's own way to its worker was seen. */
		assert_int_equal(edges, drop ? 1 : lost ? 4 : 5);
		for (size_t i = 0; i < edges; i++)
			if (lost && list[i].ends_sleep)
				assert_int_equal(list[i].type, CLEW_EDGE_WAKE);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* Without any gap told, a CPU's chain of records shows that some are missing. */
static void broken_chains(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 6);
	SWITCH(&s, .at = 2000, .cpu = 0, .prev = 6, .next = 1, .flags = CLEW_SWITCH_PREEMPT);
	sleeps(&s, 2100, 1, 2, wait_in(SYS_pause));
	/* 2 leaves CPU 0 where 1 was believed: it was woken unseen */
	SWITCH(&s, .at = 3000, .cpu = 0, .prev = 2, .next = 3, .flags = CLEW_SWITCH_PREEMPT);
	/* 3, believed on CPU 0, comes on CPU 1 after a sleep */
	SWITCH(&s, .at = 4000, .cpu = 1, .prev = IDLE, .next = 3, .woken = {.at = 3900, .by = 2});
	/* 4 slept; it comes on as one that had not */
	sleeps(&s, 4100, 2, 4, wait_in(SYS_pause));
	SWITCH(&s, .at = 4200, .cpu = 2, .prev = IDLE, .next = 4);
	/* 5 was preempted; it comes on as one that had slept */
	SWITCH(&s, .at = 4300, .cpu = 3, .prev = 5, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
	SWITCH(&s, .at = 4600, .cpu = 3, .prev = IDLE, .next = 5, .woken = {.at = 4500, .by = 4});
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_piece(t, 1, 2000, 6000, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 2, 1000, 2100, CLEW_PIECE_RUNNING);
	assert_true(sleep_of(t, 2, 0)->blind);
	assert_int_equal(sleep_of(t, 2, 0)->ended_by, 0);
	assert_int_equal(piece_of(t, 2, 2500).kind, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 2, 3000, 6000, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 3, 3000, 3900, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 3, 3900, 4000, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 3, 4000, 6000, CLEW_PIECE_RUNNING);
	assert_int_equal(edge_to(t, 3, 0)->type, CLEW_EDGE_WAKE);
	assert_false(edge_to(t, 3, 0)->ends_sleep);
	assert_true(sleep_of(t, 4, 0)->blind);
	assert_piece(t, 4, 4200, 6000, CLEW_PIECE_RUNNING);
	assert_piece(t, 5, 4300, 4500, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 5, 4500, 4600, CLEW_PIECE_RUNQUEUE);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void births_and_deaths_lost(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 2000, .cpu = 0, .prev = IDLE, .next = 1);
	/* A new task without FORK and TASK records. */
	SWITCH(&s, .at = 2500, .cpu = 1, .prev = IDLE, .next = 7, .flags = CLEW_SWITCH_NEXT_NEW,
	       .woken = {.at = 2400, .by = 1});
	SWITCH(&s, .at = 2600, .cpu = 1, .prev = 7, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	/* The dead do not come back. */
	SWITCH(&s, .at = 2700, .cpu = 1, .prev = IDLE, .next = 7);
	SWITCH(&s, .at = 2800, .cpu = 1, .prev = 7, .next = IDLE);
	life(&s, CLEW_KIND_EXEC, 2900, 7, 1);
	life(&s, CLEW_KIND_EXEC, 2950, 1, 7);
	life(&s, CLEW_KIND_FORK, 2960, 1, 1);
	life(&s, CLEW_KIND_FORK, 2970, 0, 0);
	life(&s, CLEW_KIND_EXIT, 2980, 99, 0);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_piece(t, 7, 2400, 2500, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 7, 2500, 2600, CLEW_PIECE_RUNNING);
	assert_int_equal(clew_trace_task(t, 7)->death, 2600);
	assert_int_equal(clew_trace_fork_of(t, 7)->from, 1);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A task is found on CPU 0, on which it came unseen; `woken`: its last wake that was seen. */
static void found_running(struct synthetic *s, uint64_t at, uint32_t task, struct woken woken)
{
	put_switch(s, CLEW_KIND_STATE,
		   (struct switched){.at = at,
				     .cpu = 0,
				     .prev = task,
				     .next = task,
				     .flags = CLEW_STATE_LATE,
				     .woken = woken});
}

/* Some kernels hide the switches of some tasks from programs: that one came on is told when it
 * shows up. */
static void told_late(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_run run;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 2000, 0, 1, wait_in(SYS_nanosleep));
	SWITCH(&s, .at = 2500, .cpu = 0, .prev = IDLE, .next = 4);
	found_running(&s, 4000, 1, (struct woken){.at = 3000, .context = CLEW_WAKE_IRQ});
	sleeps(&s, 4000, 0, 1, wait_in(SYS_nanosleep));
	SWITCH(&s, .at = 4500, .cpu = 0, .prev = IDLE, .next = 2);
	found_running(&s, 5000, 3, (struct woken){});
	SWITCH(&s, .at = 5000, .cpu = 0, .prev = 3, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_piece(t, 1, 2000, 3000, CLEW_PIECE_SLEEP);
	assert_int_equal(sleep_of(t, 1, 0)->context, CLEW_WAKE_IRQ);
	/* Such a record does not tell what was behind the interrupt. */
	assert_true(sleep_of(t, 1, 0)->blind);
	assert_piece(t, 1, 3000, 4000, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 1, 4000, 6000, CLEW_PIECE_SLEEP);
	assert_false(clew_trace_running(t, 0, 3500, &run));
	assert_false(clew_trace_running(t, 0, 4900, &run));
	assert_piece(t, 3, 5000, 6000, CLEW_PIECE_RUNQUEUE);
	clew_trace_free(t);
	synthetic_done(&s);

	/* A wake by a task says all. */
	threads(&s, 3);
	sleeps(&s, 2000, 0, 1, wait_in(SYS_pause));
	found_running(&s, 4000, 1, (struct woken){.at = 3000, .by = 2, .context = CLEW_WAKE_TASK});
	sleeps(&s, 4000, 0, 1, wait_in(SYS_pause));
	t = synthetic_trace(&s, 6000, 0);
	assert_int_equal(sleep_of(t, 1, 0)->ended_by, 2);
	assert_false(sleep_of(t, 1, 0)->blind);
	clew_trace_free(t);
	synthetic_done(&s);

	/* So does a request of its own that ended just before, if it sleeps for one and no timer
	 * woke it. */
	for (unsigned i = 0; i < 3; i++) {
		struct clew_wait wait = {.call = SYS_fsync,
					 .descriptor = -1,
					 .flags = i ? CLEW_WAIT_FLAG_IOWAIT : 0};
		bool waits = i == 1;

		threads(&s, 3);
		SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
		BIO(&s, 1800, CLEW_BIO_QUEUE, .bio = 0xb1, .sector = 800, .bytes = 4096,
		    .device = 254u << 20, .operation = 1, .task = 1);
		REQUEST(&s, 1810, CLEW_REQUEST_ISSUE, .request = 0x9000, .bio = 0xb1, .sector = 800,
			.bytes = 4096, .device = 254u << 20, .operation = 1);
		sleeps(&s, 2000, 0, 1, wait);
		REQUEST(&s, 2990, CLEW_REQUEST_COMPLETE, .request = 0x9000, .bytes = 4096,
			.device = 254u << 20);
		found_running(
			&s, 4000, 1,
			(struct woken){.at = 3000,
				       .context = i == 2 ? CLEW_WAKE_TIMER : CLEW_WAKE_SOFTIRQ});
		sleeps(&s, 4000, 0, 1, wait_in(SYS_pause));
		t = synthetic_trace(&s, 6000, 0);
		assert_int_equal(sleep_of(t, 1, 0)->blind, !waits);
		assert_int_equal(sleep_of(t, 1, 0)->link_count, waits);
		if (waits)
			assert_int_equal(sleep_of(t, 1, 0)->edge_evidence, CLEW_EVIDENCE_OBSERVED);
		clew_trace_free(t);
		synthetic_done(&s);
	}

	/* One that was ready was so at least until the last one came on that CPU. */
	threads(&s, 3);
	SWITCH(&s, .at = 2000, .cpu = 0, .prev = 1, .next = 2, .flags = CLEW_SWITCH_PREEMPT);
	SWITCH(&s, .at = 2500, .cpu = 0, .prev = 2, .next = 3, .flags = CLEW_SWITCH_PREEMPT);
	found_running(&s, 4000, 1, (struct woken){});
	SWITCH(&s, .at = 4000, .cpu = 0, .prev = 1, .next = 2, .flags = CLEW_SWITCH_PREEMPT);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_piece(t, 1, 2000, 2500, CLEW_PIECE_RUNQUEUE);
	assert_piece(t, 1, 2500, 4000, CLEW_PIECE_UNKNOWN);
	assert_piece(t, 2, 2500, 4000, CLEW_PIECE_RUNQUEUE);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The last wake that the kernel side saw may have ended an earlier sleep, also of a task that a
 * keyframe found asleep: then it is unknown when this one ended. */
static void told_late_with_an_older_wake(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	for (unsigned stated = 0; stated < 2; stated++) {
		threads(&s, 3);
		if (stated) {
			put_switch(&s, CLEW_KIND_STATE,
				   (struct switched){.at = 3000,
						     .cpu = 0,
						     .prev = 1,
						     .state = 1,
						     .flags = CLEW_SWITCH_SLEEP | CLEW_STATE_SINCE,
						     .woken = {.at = 2000}});
		} else {
			SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
			sleeps(&s, 2000, 0, 1, wait_in(SYS_pause));
		}
		SWITCH(&s, .at = 3500, .cpu = 0, .prev = IDLE, .next = 2);
		found_running(&s, 4000, 1, (struct woken){.at = 1400, .context = CLEW_WAKE_IRQ});
		sleeps(&s, 4000, 0, 1, wait_in(SYS_pause));
		t = synthetic_trace(&s, 6000, 0);
		assert_sane(t);
		assert_piece(t, 1, 2000, 3500, CLEW_PIECE_SLEEP);
		assert_true(sleep_of(t, 1, 0)->blind);
		assert_int_equal(sleep_of(t, 1, 0)->end, 3500);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* Where the kernel hid all of a task until a keyframe found it asleep, it is unknown when that
 * sleep began. */
static void hidden_until_a_keyframe(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	sleeps(&s, 2000, 0, 1, wait_in(SYS_pause));
	identify(&s, (struct identity){.task = 3, .process = 3, .at = 3000, .start_time = 2500});
	put_switch(
		&s, CLEW_KIND_STATE,
		(struct switched){
			.at = 3000, .cpu = 0, .prev = 3, .state = 1, .flags = CLEW_SWITCH_SLEEP});
	SWITCH(&s, .at = 4000, .cpu = 0, .prev = IDLE, .next = 3,
	       .woken = {.at = 3900, .by = 2, .context = CLEW_WAKE_TASK});
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_piece(t, 3, 2500, 3900, CLEW_PIECE_SLEEP);
	assert_int_equal(sleep_of(t, 3, 0)->open, CLEW_OPEN_START);
	assert_int_equal(sleep_of(t, 3, 0)->ended_by, 2);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The kernel side could not tell who came on, or had not marked a task born before the start as
 * old. */
static void serials_that_could_not_be_had(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_run run;
	size_t count;

	(void)state;
	threads(&s, 3);
	found_asleep(&s, 1050, 3, wait_in(SYS_pause));
	sleeps(&s, 2000, 0, 1, wait_in(SYS_pause));
	SWITCH(&s, .at = 2500, .cpu = 0, .prev = IDLE, .next = UINT32_MAX);
	sleeps(&s, 3000, 0, 1, wait_in(SYS_pause));
	SWITCH(&s, .at = 3500, .cpu = 0, .prev = IDLE, .next = 2,
	       .woken = {.at = 3400, .by = UINT32_MAX});
	SWITCH(&s, .at = 3600, .cpu = 0, .prev = UINT32_MAX, .next = IDLE);
	SWITCH(&s, .at = 4000, .cpu = 1, .prev = IDLE, .next = 3, .flags = CLEW_SWITCH_NEXT_NEW,
	       .woken = {.at = 3900, .by = 2});
	life(&s, CLEW_KIND_FORK, 4500, 1, UINT32_MAX);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_true(sleep_of(t, 1, 0)->blind);
	assert_piece(t, 1, 2500, 3000, CLEW_PIECE_UNKNOWN);
	assert_false(clew_trace_running(t, 0, 2700, &run));
	assert_int_equal(sleep_of(t, 2, 0)->ended_by, 0);
	assert_piece(t, 3, 1000, 3900, CLEW_PIECE_SLEEP);
	assert_int_equal(sleep_of(t, 3, 0)->ended_by, 2);
	assert_null(clew_trace_fork_of(t, 3));
	assert_null(clew_trace_task(t, UINT32_MAX));
	clew_trace_edges(t, &count);
	assert_int_equal(count, 1);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Records of any contents: no crash, every ns in one piece. */
static void nonsense(void **state)
{
	uint64_t seed = 88172645463325252ull;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct synthetic s = {0};
		struct clew_trace *t;
		uint64_t at = START;

		threads(&s, 5);
		for (unsigned i = 0; i < 300; i++) {
			struct clew_wait wait =
				wait_futex((unsigned)(seed % 6), 0x10 + (seed >> 8) % 3,
					   100 + (uint32_t)(seed >> 16) % 8);
			struct switched w;

			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			at += seed % 50;
			wait.futex_operation = seed >> 40 & 0xff;
			w = (struct switched){
				.at = at,
				.cpu = seed >> 8 & 3,
				.prev = seed >> 12 & 7,
				.next = seed >> 16 & 7,
				.flags = seed >> 20 & 0x7f & ~CLEW_SWITCH_WAIT &
					 (seed >> 50 & 3 ? ~CLEW_SWITCH_DEAD : ~0),
				.wait = seed >> 28 & 1 ? &wait : NULL,
				.woken = {.at = seed >> 30 & 1 ? at - (seed >> 32 & 127) : 0,
					  .by = seed >> 36 & 7,
					  .context = seed >> 44 & 3,
					  .operation = seed >> 46 & 3,
					  .object_kind = seed >> 48 & 1 ? CLEW_OBJECT_FUTEX : 0,
					  .object = 0x10 + (seed >> 52 & 3)},
			};
			if (seed % 37 == 0)
				gap(&s, seed >> 8 & 3, at - (seed >> 32 & 63), at);
			else if (seed % 31 == 0)
				life(&s, CLEW_KIND_FORK + (seed >> 40) % 3, at, seed >> 12 & 15,
				     seed >> 16 & 15);
			else
				put_switch(&s, seed % 11 ? CLEW_KIND_SWITCH : CLEW_KIND_STATE, w);
		}
		t = synthetic_trace(&s, at + seed % 100, seed % 5 ? 0 : 1u << CLEW_EDGE_UNLOCK);
		assert_sane(t);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gap_on_the_cpu),
		cmocka_unit_test(sleep_over_a_gap),
		cmocka_unit_test(hidden_switch),
		cmocka_unit_test(found_blind_afterwards),
		cmocka_unit_test(broken_chains),
		cmocka_unit_test(births_and_deaths_lost),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(told_late),
		cmocka_unit_test(told_late_with_an_older_wake),
		cmocka_unit_test(hidden_until_a_keyframe),
		cmocka_unit_test(serials_that_could_not_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
