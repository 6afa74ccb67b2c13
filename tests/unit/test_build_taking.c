/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From when a task is known to have a lock after a release: waiters that lose their CPU
 * before they take it, waiters that looked at it before the release, switches and wakes
 * that were not seen; and what locks are recognised by: words beside a word, and words
 * without an owner.
 */
#include "synthetic.h"

#define LOCK  0x7000u
#define MUTEX CLEW_FUTEX_CLASS_MUTEX

static void locks(struct synthetic *s, uint64_t at, uint32_t task, uint32_t owner)
{
	sleeps(s, at, task, task, wait_futex(MUTEX, LOCK, owner ? 100 + owner : 0));
}

static void gets(struct synthetic *s, uint64_t at, uint32_t task, uint64_t released, uint32_t by)
{
	comes(s, at, task, task,
	      (struct woken){.at = released,
			     .by = by,
			     .operation = CLEW_FUTEX_WAKE_ONE,
			     .flags = CLEW_WAKE_PRIVATE});
}

static void gets_with_others(struct synthetic *s, uint64_t at, uint32_t task, uint64_t released,
			     uint32_t by)
{
	comes(s, at, task, task,
	      (struct woken){.at = released,
			     .by = by,
			     .operation = CLEW_FUTEX_WAKE_MANY,
			     .flags = CLEW_WAKE_PRIVATE});
}

static void loses_cpu(struct synthetic *s, uint64_t at, uint32_t task)
{
	SWITCH(s, .at = at, .cpu = task, .prev = task, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
}

static void comes_back(struct synthetic *s, uint64_t at, uint32_t task)
{
	SWITCH(s, .at = at, .cpu = task, .prev = IDLE, .next = task);
}

static void assert_observed(const struct clew_sleep *sleep, unsigned index, uint32_t task,
			    uint64_t from, uint64_t to)
{
	assert_true(index < sleep->holder_count);
	assert_int_equal(sleep->holders[index].task, task);
	assert_int_equal(sleep->holders[index].from, from);
	assert_int_equal(sleep->holders[index].to, to);
	assert_int_equal(sleep->holders[index].evidence, CLEW_EVIDENCE_OBSERVED);
	assert_false(sleep->holders[index].coming);
}

static void assert_candidate(const struct clew_sleep *sleep, unsigned index, uint32_t task,
			     uint64_t from, uint64_t to)
{
	assert_true(index < sleep->holder_count);
	assert_int_equal(sleep->holders[index].task, task);
	assert_int_equal(sleep->holders[index].from, from);
	assert_int_equal(sleep->holders[index].to, to);
	assert_int_equal(sleep->holders[index].evidence, CLEW_EVIDENCE_CANDIDATE);
	assert_false(sleep->holders[index].coming);
}

/* 2 has a CPU for 100 ns after its wake, and then for as long as it takes. */
static void loses_its_cpu_before_it_takes(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	locks(&s, 20000, 2, 1);
	locks(&s, 40000, 3, 1);
	gets(&s, 100100, 2, 100000, 1);
	loses_cpu(&s, 100200, 2);
	comes_back(&s, 150000, 2);
	gets(&s, 300100, 3, 300000, 2);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 40000, 100000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 100000, 150000);
	assert_observed(sleep_of(t, 3, 0), 2, 2, 150000, 300000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* 3 waits twice: for 1, and then for 2, which is woken, takes the futex later and releases it. */
static void assert_taken(struct synthetic *s, uint64_t end, uint64_t taken, uint64_t released)
{
	struct clew_trace *t = synthetic_trace(s, end, 0);

	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 99000, taken);
	assert_observed(sleep_of(t, 3, 0), 2, 2, taken, released);
	clew_trace_free(t);
	synthetic_done(s);
}

/* 2 runs three times for 20 us: it has the futex by then, and does not take it only when it comes
 * back for the fourth time. */
static void runs_shortly_but_often(void **state)
{
	struct synthetic s = {0};

	(void)state;
	threads(&s, 3);
	locks(&s, 20000, 2, 1);
	locks(&s, 40000, 3, 1);
	gets(&s, 100000, 2, 99000, 1);
	loses_cpu(&s, 120000, 2);
	for (uint64_t at = 150000; at < 300000; at += 50000) {
		comes_back(&s, at, 2);
		loses_cpu(&s, at + 20000, 2);
	}
	comes_back(&s, 390000, 2);
	gets(&s, 400100, 3, 400000, 2);
	assert_taken(&s, 500000, 200000, 400000);
}

/* 2 comes back, releases the futex, and loses its CPU and comes back before 3 has one. */
static void comes_back_after_its_release(void **state)
{
	struct synthetic s = {0};

	(void)state;
	threads(&s, 3);
	locks(&s, 20000, 2, 1);
	locks(&s, 40000, 3, 1);
	gets(&s, 100000, 2, 99000, 1);
	loses_cpu(&s, 101000, 2);
	comes_back(&s, 150000, 2);
	loses_cpu(&s, 154000, 2); /* it has released the futex at 152000 */
	for (uint64_t at = 200000; at < 800000; at += 100000) {
		comes_back(&s, at, 2);
		loses_cpu(&s, at + 1000, 2);
	}
	gets(&s, 900000, 3, 152000, 2);
	assert_taken(&s, 1000000, 150000, 152000);
}

static void loses_its_cpu_while_it_holds(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	locks(&s, 20000, 2, 1);
	locks(&s, 40000, 3, 1);
	gets(&s, 100100, 2, 100000, 1);
	loses_cpu(&s, 160200, 2);
	comes_back(&s, 250000, 2);
	gets(&s, 300100, 3, 300000, 2);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 100000, 100100);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 100100, 300000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* 2 has a CPU for 100 ns after its wake, and sleeps in another call: it has the lock by then. */
static void sleeps_in_another_call(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	locks(&s, 20000, 2, 1);
	locks(&s, 40000, 3, 1);
	gets(&s, 100100, 2, 100000, 1);
	sleeps(&s, 100200, 2, 2, wait_in(SYS_clock_nanosleep));
	comes(&s, 150000, 2, 2, (struct woken){.at = 149000, .by = IDLE});
	gets(&s, 300100, 3, 300000, 2);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 100000, 100100);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 100100, 300000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/*
 * 1 releases the futex while 3 falls asleep. 4 takes it, and may release it without a wake
 * until 2 comes and sleeps for it again.
 */
static void looked_before_the_release(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 20000, 2, 1);
	locks(&s, 100500, 3, 4);
	gets(&s, 200000, 2, 100000, 1);
	locks(&s, 201000, 2, 4);
	gets(&s, 400100, 3, 400000, 4);
	t = synthetic_trace(&s, 500000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 1);
	assert_observed(sleep_of(t, 3, 0), 0, 4, 201000, 400000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The wake of 2 was not seen: 1 may have released the futex long before. */
static void woken_unseen(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 20000, 2, 1);
	locks(&s, 40000, 3, 1);
	SWITCH(&s, .at = 200000, .cpu = 2, .prev = IDLE, .next = 2,
	       .flags = CLEW_SWITCH_NEXT_SLEPT);
	gets(&s, 400100, 3, 400000, 1);
	t = synthetic_trace(&s, 500000, 0);
	assert_sane(t);
	assert_true(sleep_of(t, 2, 0)->blind);
	assert_int_equal(sleep_of(t, 3, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* 2 came on its CPU at an unknown time before it was found there, when it had released the futex
 * already. Until 120000 another one had that CPU, and at 200000 2 had the futex. */
static void switched_to_unseen(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 5);
	locks(&s, 20000, 2, 1);
	locks(&s, 40000, 3, 1);
	SWITCH(&s, .at = 60000, .cpu = 2, .prev = IDLE, .next = 4);
	SWITCH(&s, .at = 120000, .cpu = 2, .prev = 4, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
	locks(&s, 200000, 5, 2);
	gets(&s, 300100, 3, 300000, 2);
	put_switch(&s, CLEW_KIND_STATE,
		   (struct switched){.at = 300200,
				     .cpu = 2,
				     .prev = IDLE,
				     .next = 2,
				     .flags = CLEW_STATE_LATE,
				     .woken = {.at = 100000,
					       .by = 1,
					       .operation = CLEW_FUTEX_WAKE_ONE,
					       .flags = CLEW_WAKE_PRIVATE}});
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 40000, 100000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 100000, 120000);
	assert_observed(sleep_of(t, 3, 0), 2, 2, 200000, 300000);
	clew_trace_free(t);
	synthetic_done(&s);
}

static struct clew_wait wait_value(unsigned class, uint64_t address, uint32_t owner,
				   uint32_t expected)
{
	struct clew_wait wait = wait_futex(class, address, owner);

	wait.expected = expected;
	return wait;
}

/* As Rust waits, without a timeout. */
static struct clew_wait bare(unsigned class, uint64_t address, uint32_t expected)
{
	struct clew_wait wait = wait_value(class, address, 0, expected);

	wait.futex_operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
	return wait;
}

/* While a mutex changes hands its memory looks like none. The word is known by then. */
static void mutex_in_transit(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	sleeps(&s, 20000, 2, 2, wait_value(MUTEX, LOCK, 101, 2));
	gets(&s, 100100, 2, 100000, 1);
	sleeps(&s, 150000, 3, 3, wait_value(CLEW_FUTEX_CLASS_NONE, LOCK, 0, 2));
	gets(&s, 200100, 3, 200000, 2);
	sleeps(&s, 250000, 2, 2, wait_value(CLEW_FUTEX_CLASS_NONE, LOCK, 0, 7));
	gets(&s, 300100, 2, 300000, 3);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 1);
	assert_observed(sleep_of(t, 3, 0), 0, 2, 150000, 200000);
	assert_int_equal(sleep_of(t, 2, 1)->edge_type, CLEW_EDGE_WAKE);
	assert_int_equal(sleep_of(t, 2, 1)->holder_count, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

/*
 * glibc's rwlock: writer 3 sleeps on the writers' word, is woken when 1 releases it, and sleeps on
 * the other word until reader 2 lets it in. It does not have the lock meanwhile.
 */
static void words_of_a_rwlock(void **state)
{
	const uint64_t readers = 0x7008, writers = 0x700c;
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 20000, 2, 2, wait_value(CLEW_FUTEX_CLASS_RWLOCK, readers, 101, 3));
	sleeps(&s, 30000, 3, 3, wait_value(CLEW_FUTEX_CLASS_RWLOCK, writers, 101, 3));
	sleeps(&s, 40000, 4, 4, wait_value(CLEW_FUTEX_CLASS_RWLOCK, writers, 101, 3));
	gets_with_others(&s, 100100, 2, 100000, 1);
	gets(&s, 100200, 3, 100010, 1);
	sleeps(&s, 110000, 3, 3, bare(CLEW_FUTEX_CLASS_NONE, readers, 3));
	gets_with_others(&s, 200100, 3, 200000, 2);
	gets(&s, 300100, 4, 300000, 3);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 1)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 3, 1)->ended_by, 2);
	for (uint32_t i = 0; i < sleep_of(t, 4, 0)->holder_count; i++) {
		const struct clew_holder *holder = &sleep_of(t, 4, 0)->holders[i];

		assert_true(holder->coming || holder->task != 3 || holder->from >= 200000);
	}
	assert_observed(sleep_of(t, 4, 0), 0, 1, 40000, 100000);
	assert_observed(sleep_of(t, 4, 0), sleep_of(t, 4, 0)->holder_count - 1, 3, 200000, 300000);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void bare_mutex(void **state)
{
	const unsigned busy = CLEW_FUTEX_CLASS_BUSY;
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 20000, 2, 2, bare(busy, LOCK, 2));
	gets(&s, 100100, 2, 100000, 1);
	sleeps(&s, 150000, 3, 3, bare(busy, LOCK, 2));
	gets(&s, 200100, 3, 200000, 2);
	sleeps(&s, 250000, 4, 4, bare(busy, LOCK, 2));
	gets(&s, 300100, 4, 300000, 3);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 0);
	assert_int_equal(sleep_of(t, 2, 0)->edge_type, CLEW_EDGE_WAKE);
	assert_observed(sleep_of(t, 3, 0), 0, 2, 150000, 200000);
	assert_observed(sleep_of(t, 4, 0), 0, 3, 250000, 300000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A counter of notifications that is 2: its waiters began before the first one was woken. */
static void bare_condition(void **state)
{
	const unsigned busy = CLEW_FUTEX_CLASS_BUSY;
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	for (uint32_t task = 2; task <= 4; task++)
		sleeps(&s, 20000 + task, task, task, bare(busy, LOCK, 2));
	gets(&s, 100100, 2, 100000, 1);
	gets(&s, 200100, 3, 200000, 2);
	gets(&s, 300100, 4, 300000, 3);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	for (uint32_t task = 2; task <= 4; task++) {
		assert_int_equal(sleep_of(t, task, 0)->holder_count, 0);
		assert_int_equal(sleep_of(t, task, 0)->edge_type, CLEW_EDGE_WAKE);
	}
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Rust's RwLock: readers wait for its state, writers for the word after it. */
static void bare_rwlock(void **state)
{
	const unsigned readers = CLEW_FUTEX_CLASS_READERS, writers = CLEW_FUTEX_CLASS_WRITERS;
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 5);
	sleeps(&s, 20000, 2, 2, bare(writers, LOCK + 4, 5));
	gets(&s, 100100, 2, 100000, 1);
	sleeps(&s, 150000, 3, 3, bare(readers, LOCK, 0x7fffffff));
	sleeps(&s, 150100, 4, 4, bare(readers, LOCK, 0x7fffffff));
	gets_with_others(&s, 200100, 3, 200000, 2);
	gets_with_others(&s, 200200, 4, 200010, 2);
	/* Others wait for it, too: its state is all ones, which says nothing by itself. */
	sleeps(&s, 250000, 5, 5, bare(CLEW_FUTEX_CLASS_NONE, LOCK + 4, 9));
	gets(&s, 300100, 5, 300000, 4);
	sleeps(&s, 350000, 3, 3, bare(CLEW_FUTEX_CLASS_NONE, LOCK, UINT32_MAX));
	gets_with_others(&s, 400100, 3, 400000, 5);
	t = synthetic_trace(&s, 500000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 0);
	assert_candidate(sleep_of(t, 3, 0), 0, 2, 150000, 200000);
	assert_int_equal(sleep_of(t, 4, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 5, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_candidate(sleep_of(t, 5, 0), 0, 4, 250000, 300000);
	assert_candidate(sleep_of(t, 3, 1), 0, 5, 350000, 400000);
	clew_trace_free(t);
	synthetic_done(&s);
}

static struct clew_wait wait_process(uint64_t number, uint32_t process)
{
	struct clew_wait wait = wait_file_lock(number, process);

	wait.flags = 0;
	return wait;
}

/* Only the process is known of a lock on a file that was taken before the recording. */
static void process_that_locks_a_file(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	identify(&s, (struct identity){.task = 1, .process = 1, .memory = 11});
	identify(&s, (struct identity){.task = 2, .process = 1, .memory = 11});
	identify(&s, (struct identity){.task = 3, .process = 3, .memory = 12});
	identify(&s, (struct identity){.task = 4, .process = 4, .memory = 13});
	sleeps(&s, 20000, 2, 2, wait_process(64, 101)); /* its own process: another thread */
	sleeps(&s, 30000, 3, 3, wait_process(128, 101));
	sleeps(&s, 40000, 4, 4, wait_process(192, 103));
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 0);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 1);
	assert_int_equal(sleep_of(t, 3, 0)->holders[0].task, 1);
	assert_int_equal(sleep_of(t, 3, 0)->holders[0].evidence, CLEW_EVIDENCE_CANDIDATE);
	assert_observed(sleep_of(t, 4, 0), 0, 3, 40000, 400000);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void gets_file(struct synthetic *s, uint64_t at, uint32_t task, uint64_t released,
		      uint32_t by)
{
	comes(s, at, task, task,
	      (struct woken){.at = released, .by = by, .operation = CLEW_FILE_UNLOCK});
}

/*
 * 2 takes the lock on a file that 1 releases, while 3 is queued behind it: whoever is not queued
 * behind the lock itself does not see when 2 lets go. 4 is refused because 2 has it then, or not.
 */
static void check_queued_behind(bool refused)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	threads(&s, 5);
	sleeps(&s, 20000, 2, 2, wait_file_lock(64, 101));
	sleeps(&s, 40000, 3, 3, wait_file_lock(64, 101));
	gets_file(&s, 110000, 2, 100000, 1);
	if (refused)
		sleeps(&s, 200000, 4, 4, wait_file_lock(64, 102));
	comes(&s, 300100, 3, 3, (struct woken){.at = 300000, .by = 5});
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_observed(sleep_of(t, 3, 0), 0, 1, 40000, 100000);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, refused ? 3 : 2);
	if (refused)
		assert_observed(sleep_of(t, 3, 0), 2, 2, 110000, 300000);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void queued_behind_a_file_lock(void **state)
{
	(void)state;
	check_queued_behind(false);
	check_queued_behind(true);
}

/* 1 released the lock on a file between the refusal of 3 and its sleep. */
static void refused_before_the_release(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 20000, 2, 2, wait_file_lock(64, 101));
	sleeps(&s, 105000, 3, 3, wait_file_lock(64, 101));
	gets_file(&s, 110000, 2, 100000, 1);
	gets_file(&s, 300100, 3, 300000, 4);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	for (unsigned i = 0; i < sleep_of(t, 3, 0)->holder_count; i++)
		assert_int_not_equal(sleep_of(t, 3, 0)->holders[i].task, 1);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loses_its_cpu_before_it_takes),
		cmocka_unit_test(runs_shortly_but_often),
		cmocka_unit_test(comes_back_after_its_release),
		cmocka_unit_test(loses_its_cpu_while_it_holds),
		cmocka_unit_test(sleeps_in_another_call),
		cmocka_unit_test(looked_before_the_release),
		cmocka_unit_test(woken_unseen),
		cmocka_unit_test(switched_to_unseen),
		cmocka_unit_test(mutex_in_transit),
		cmocka_unit_test(words_of_a_rwlock),
		cmocka_unit_test(bare_mutex),
		cmocka_unit_test(bare_condition),
		cmocka_unit_test(bare_rwlock),
		cmocka_unit_test(process_that_locks_a_file),
		cmocka_unit_test(queued_behind_a_file_lock),
		cmocka_unit_test(refused_before_the_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
