/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests the holders of a futex during a wait: hand-over, barging, hand-overs that went unseen,
 * shared futexes under several addresses, pid namespaces, open waits; the same of
 * kernel locks and of locks on files.
 */
#include "builder/futex.h"
#include "explain/why.h"
#include "synthetic.h"
#include <errno.h>

#define LOCK  0x7000u
#define MUTEX CLEW_FUTEX_CLASS_MUTEX

/* Task n runs on CPU n alone, has tid 100 + n, and waits for a mutex that `owner` holds. */
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

static void two_holders_in_turn(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	gets(&s, 3100, 2, 3000, 1);
	gets(&s, 4100, 3, 4000, 2);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 1);
	assert_holder(sleep_of(t, 2, 0), 0, 1, 2000, 3000, false);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3100);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 3100, 4000, false);
	assert_int_equal(sleep_of(t, 3, 0)->edge_type, CLEW_EDGE_UNLOCK);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The release is learned only when the woken task runs, after the next one is over. */
static void learned_late(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	gets(&s, 4100, 3, 4000,
	     4); /* 4 took it when 1 had released it at 3000 to 2, which still has no CPU */
	gets(&s, 4500, 2, 3000, 1);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 2);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 4000);
	assert_holder(sleep_of(t, 2, 0), 0, 1, 2000, 3000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void barged(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	gets(&s, 3100, 2, 3000, 1);
	locks(&s, 3200, 2, 4); /* 4 was faster */
	gets(&s, 4100, 3, 4000, 4);
	gets(&s, 5100, 2, 5000, 3);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3100);
	assert_holder(sleep_of(t, 3, 0), 2, 4, 3200, 4000, true);
	assert_int_equal(sleep_of(t, 2, 0)->ended_by, 1);
	assert_int_equal(sleep_of(t, 2, 1)->holder_count, 3);
	assert_holder(sleep_of(t, 2, 1), 0, 4, 3200, 4000, false);
	assert_coming(sleep_of(t, 2, 1), 1, 3, 4000, 4100);
	assert_holder(sleep_of(t, 2, 1), 2, 3, 4100, 5000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* It had held and released the futex before it waited again: it did not lose the race. */
static void waits_again_after_holding(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 5);
	locks(&s, 2000, 2, 1);
	locks(&s, 2050, 5, 1);
	locks(&s, 2100, 3, 1);
	gets(&s, 3100, 2, 3000, 1);
	locks(&s, 3600, 2, 4); /* released it to 5 at 3500, and 4 took it first */
	gets(&s, 3700, 5, 3500, 2);
	locks(&s, 3800, 5, 4);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 5);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3100);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 3100, 3500, false);
	assert_coming(sleep_of(t, 3, 0), 3, 5, 3500, 3700);
	assert_holder(sleep_of(t, 3, 0), 4, 4, 3800, 6000, true);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void open_waits(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 5);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	locks(&s, 2200, 4, 1);
	gets(&s, 3100, 2, 3000, 1);
	stop_asleep(&s, 6001, 3, wait_futex(MUTEX, LOCK, 102),
		    (struct woken){.at = 5000, .by = 2, .operation = CLEW_FUTEX_WAKE_ONE});
	stop_asleep(&s, 6002, 4, wait_futex(MUTEX, LOCK, 102), (struct woken){0});
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 4, 0)->holder_count, 4);
	assert_holder(sleep_of(t, 4, 0), 0, 1, 2200, 3000, false);
	assert_coming(sleep_of(t, 4, 0), 1, 2, 3000, 3100);
	assert_holder(sleep_of(t, 4, 0), 2, 2, 3100, 5000, false);
	assert_coming(sleep_of(t, 4, 0), 3, 3, 5000, 6000);
	assert_int_equal(sleep_of(t, 4, 0)->end, CLEW_TIME_OPEN);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void found_waiting(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	found_asleep(&s, 1100, 2, wait_futex(MUTEX, LOCK, 101));
	gets(&s, 3100, 2, 3000, 1);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_holder(sleep_of(t, 2, 0), 0, 1, 1000, 3000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void assert_observed(const struct clew_sleep *sleep, unsigned index, uint32_t task,
			    uint64_t from, uint64_t to)
{
	assert_true(index < sleep->holder_count);
	assert_int_equal(sleep->holders[index].task, task);
	assert_int_equal(sleep->holders[index].from, from);
	assert_int_equal(sleep->holders[index].to, to);
	assert_int_equal(sleep->holders[index].evidence, CLEW_EVIDENCE_OBSERVED);
	assert_false(sleep->holders[index].barged);
}

/* Nothing was seen that proves that the word is a lock. */
static void assert_candidate(const struct clew_sleep *sleep, unsigned index, uint32_t task,
			     uint64_t from, uint64_t to)
{
	assert_true(index < sleep->holder_count);
	assert_int_equal(sleep->holders[index].task, task);
	assert_int_equal(sleep->holders[index].from, from);
	assert_int_equal(sleep->holders[index].to, to);
	assert_int_equal(sleep->holders[index].evidence, CLEW_EVIDENCE_CANDIDATE);
}

/* 1 had it when 3 blocked, and 2 releases it: since when 2 had it nobody knows, but for what is
 * over in a moment. */
static void hand_over_unseen(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 4);
	locks(&s, 2000, 3, 1);
	locks(&s, 3000, 4, 1);
	gets(&s, 900100, 3, 900000, 2);
	gets(&s, 950100, 4, 950000, 3);
	locks(&s, 960000, 4, 1);
	gets(&s, 970100, 4, 970000, 2);
	t = synthetic_trace(&s, 1000000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 0);
	assert_int_equal(sleep_of(t, 3, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 3, 0)->ended_by, 2);
	assert_int_equal(sleep_of(t, 4, 0)->holder_count, 2);
	assert_coming(sleep_of(t, 4, 0), 0, 3, 900000, 900100);
	assert_holder(sleep_of(t, 4, 0), 1, 3, 900100, 950000, false);
	assert_int_equal(sleep_of(t, 4, 1)->holder_count, 1);
	assert_observed(sleep_of(t, 4, 1), 0, 1, 960000, 970000);
	assert_int_equal(clew_why_explain(t, NULL, 3, 2000, 900000, &why), 0);
	for (size_t i = 0; i < why.segment_count; i++)
		assert_int_equal(why.segments[i].via_evidence, CLEW_EVIDENCE_OBSERVED);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* 1 had let go of it before 3 blocked, and 4 had taken it; only the wake came later. */
static void woken_late(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 1900, 2, 1);
	locks(&s, 2000, 3, 4);
	gets(&s, 90100, 2, 90000, 1);
	locks(&s, 90200, 2, 4);
	gets(&s, 300100, 3, 300000, 4);
	locks(&s, 400000, 3, 4);
	gets(&s, 400200, 2, 400100, 1);
	gets(&s, 500100, 3, 500000, 4);
	t = synthetic_trace(&s, 600000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 1);
	assert_holder(sleep_of(t, 3, 0), 0, 4, 2000, 300000, false);
	assert_int_equal(sleep_of(t, 3, 1)->holder_count, 1);
	assert_holder(sleep_of(t, 3, 1), 0, 4, 400000, 500000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A waiter from before the start is looked at later: so is the owner. */
static void owner_read_later(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 1500, 2, 1);
	locks(&s, 1600, 4, 1);
	gets(&s, 100100, 2, 100000, 1);
	found_asleep(&s, 200000, 3, wait_futex(MUTEX, LOCK, 102));
	gets(&s, 300100, 3, 300000, 2);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_observed(sleep_of(t, 3, 0), 0, 1, 1000, 100000);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 100000, 100100);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 100100, 300000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

static struct clew_wait wait_lock(unsigned type, uint32_t owner)
{
	return (struct clew_wait){
		.call = SYS_mmap,
		.descriptor = -1,
		.object_kind = CLEW_OBJECT_LOCK,
		.object = 0xffff888800001000ull,
		.argument = type,
		.owner = owner ? 100 + owner : 0,
		.reason = CLEW_REASON_LOCK,
	};
}

/* Readers are let in together; who is let in much later is so by another release. */
static void readers_let_in_anew(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 5);
	sleeps(&s, 10000, 2, 2, wait_lock(CLEW_LOCK_READ, 1));
	sleeps(&s, 12000, 5, 5, wait_lock(CLEW_LOCK_READ, 1));
	sleeps(&s, 20000, 3, 3, wait_lock(CLEW_LOCK_WRITE, 1));
	comes(&s, 100100, 2, 2, (struct woken){.at = 100000, .by = 1});
	comes(&s, 103100, 5, 5, (struct woken){.at = 103000, .by = 1});
	sleeps(&s, 150000, 4, 4, wait_lock(CLEW_LOCK_READ, 1));
	comes(&s, 500100, 4, 4, (struct woken){.at = 500000, .by = 1});
	comes(&s, 600100, 3, 3, (struct woken){.at = 600000, .by = 4});
	t = synthetic_trace(&s, 700000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 20000, 103000, false);
	assert_holder(sleep_of(t, 3, 0), 1, 1, 150000, 500000, true);
	assert_holder(sleep_of(t, 3, 0), 2, 4, 500000, 600000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The waker of a waiter need not have held all the time a lock that keeps no owner. */
static void lock_without_an_owner(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	sleeps(&s, 2000, 2, 2, wait_lock(CLEW_LOCK_WRITE, 0));
	sleeps(&s, 2100, 3, 3, wait_lock(CLEW_LOCK_WRITE, 1));
	comes(&s, 3100, 2, 2, (struct woken){.at = 3000, .by = 1});
	comes(&s, 4100, 3, 3, (struct woken){.at = 4000, .by = 2});
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->edge_evidence, CLEW_EVIDENCE_OBSERVED);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 1);
	assert_observed(sleep_of(t, 2, 0), 0, 1, 2000, 3000);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3100);
	assert_observed(sleep_of(t, 3, 0), 2, 2, 3100, 4000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Three wait for one lock on a file, another for one on another part of it; 4 gives up, which wakes
 * 5 behind it. */
static void lock_on_a_file(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 6);
	sleeps(&s, 2000, 2, 2, wait_file_lock(64, 101));
	sleeps(&s, 2100, 3, 3, wait_file_lock(64 | CLEW_FILE_LOCK_SHARED, 101));
	sleeps(&s, 2200, 4, 4, wait_file_lock(128, 101));
	sleeps(&s, 2300, 5, 5, wait_file_lock(128, 101));
	comes(&s, 2510, 4, 4, (struct woken){.at = 2500, .by = 6, .flags = CLEW_WAKE_SIGNAL});
	comes(&s, 2610, 5, 5, (struct woken){.at = 2600, .by = 4});
	sleeps(&s, 2700, 5, 5, wait_file_lock(128, 101));
	comes(&s, 3010, 2, 2,
	      (struct woken){.at = 3000,
			     .by = 6,
			     .operation = CLEW_FILE_UNLOCK}); /* as a thread of 1's process */
	comes(&s, 4010, 3, 3, (struct woken){.at = 4000, .by = 2, .operation = CLEW_FILE_UNLOCK});
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->kind, CLEW_WAIT_FILE);
	assert_int_equal(sleep_of(t, 2, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 2, 0)->edge_evidence, CLEW_EVIDENCE_EXACT);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 1);
	assert_observed(sleep_of(t, 2, 0), 0, 1, 2000, 3000);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_observed(sleep_of(t, 3, 0), 0, 1, 2100, 3000);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3010);
	assert_observed(sleep_of(t, 3, 0), 2, 2, 3010, 4000);
	assert_int_equal(sleep_of(t, 4, 0)->edge_type, CLEW_EDGE_SIGNAL);
	assert_observed(sleep_of(t, 4, 0), 0, 1, 2200, 2500);
	assert_int_equal(sleep_of(t, 5, 0)->edge_type, CLEW_EDGE_WAKE);
	assert_int_equal(sleep_of(t, 5, 0)->ended_by, 4);
	assert_observed(sleep_of(t, 5, 0), 0, 1, 2300, 2600);
	assert_int_equal(sleep_of(t, 5, 1)->end, CLEW_TIME_OPEN);
	assert_observed(sleep_of(t, 5, 1), 0, 1, 2700, 5000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* In a call on a shared futex, 1 lets go of a lock of the kernel: that is not the futex. */
static void lock_released_in_a_futex_call(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 2000, 3, 3, shared(wait_futex(MUTEX, LOCK, 104)));
	sleeps(&s, 2100, 2, 2, wait_lock(CLEW_LOCK_WRITE, 1));
	comes(&s, 100100, 2, 2,
	      (struct woken){.at = 100000,
			     .by = 1,
			     .operation = CLEW_FUTEX_WAKE_ONE,
			     .object_kind = CLEW_OBJECT_FUTEX,
			     .object = LOCK});
	comes(&s, 200100, 3, 3,
	      (struct woken){.at = 200000,
			     .by = 4,
			     .operation = CLEW_FUTEX_WAKE_ONE,
			     .object_kind = CLEW_OBJECT_FUTEX,
			     .object = LOCK});
	t = synthetic_trace(&s, 300000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 1);
	assert_holder(sleep_of(t, 2, 0), 0, 1, 2100, 100000, false);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 1);
	assert_holder(sleep_of(t, 3, 0), 0, 4, 2000, 200000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Without a readable owner, a word is a lock once a task that was woken for it releases it. */
static void owner_filled_in(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	sleeps(&s, 4000, 3, 3, wait_futex(CLEW_FUTEX_CLASS_BUSY, LOCK, 0));
	gets(&s, 5100, 3, 5000, 2);
	sleeps(&s, 5500, 4, 4, wait_futex(CLEW_FUTEX_CLASS_BUSY, LOCK, 0));
	gets(&s, 6100, 4, 6000, 3);
	sleeps(&s, 26500, 3, 3, wait_futex(CLEW_FUTEX_CLASS_BUSY, LOCK, 0));
	gets(&s, 27100, 3, 27000, 2);
	sleeps(&s, 27500, 3, 3, wait_futex(CLEW_FUTEX_CLASS_BUSY, LOCK, 0));
	t = synthetic_trace(&s, 28000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->edge_type, CLEW_EDGE_WAKE);
	assert_int_equal(sleep_of(t, 3, 0)->ended_by, 2);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 0);
	assert_int_equal(sleep_of(t, 4, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_observed(sleep_of(t, 4, 0), 0, 3, 5500, 6000);
	assert_int_equal(sleep_of(t, 3, 1)->edge_type, CLEW_EDGE_UNLOCK);
	assert_observed(sleep_of(t, 3, 1), 0, 2, 26500, 27000);
	assert_int_equal(sleep_of(t, 3, 2)->holder_count, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

/*
 * The tid in a word that looks like a mutex may belong to any task. Once that task releases
 * the word, it is the owner, and the earlier waits get it as their holder, too.
 */
static void looks_like_a_lock(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 2000, 2, 1);
	comes(&s, 3100, 2, 2, (struct woken){.at = 3000, .context = CLEW_WAKE_IRQ});
	locks(&s, 300000000, 2, 1);
	locks(&s, 300000100, 3, 1);
	comes(&s, 300001100, 2, 2, (struct woken){.at = 300001000, .context = CLEW_WAKE_IRQ});
	gets(&s, 300002100, 3, 300002000, 1);
	locks(&s, 300023000, 2, 4);
	t = synthetic_trace(&s, 300024000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 1);
	assert_candidate(sleep_of(t, 2, 0), 0, 1, 2000, 3000);
	assert_int_equal(sleep_of(t, 2, 1)->holder_count, 1);
	assert_observed(sleep_of(t, 2, 1), 0, 1, 300000000, 300001000);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 300000100, 300002000, false);
	assert_holder(sleep_of(t, 2, 2), 0, 4, 300023000, 300024000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A signal or a timeout ends the wait: the holders are those up to then. */
static void ended_otherwise(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	gets(&s, 3100, 2, 3000, 1);
	comes(&s, 3600, 3, 3, (struct woken){.at = 3500, .by = 4, .flags = CLEW_WAKE_SIGNAL});
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->edge_type, CLEW_EDGE_SIGNAL);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3100);
	assert_observed(sleep_of(t, 3, 0), 2, 2, 3100, 3500);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void no_holder_without_an_owner(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 3);
	sleeps(&s, 2000, 2, 2, wait_futex(CLEW_FUTEX_CLASS_NONE, LOCK, 0));
	comes(&s, 3100, 2, 2,
	      (struct woken){.at = 3000, .by = 1, .operation = CLEW_FUTEX_WAKE_ONE});
	sleeps(&s, 3200, 2, 2, wait_futex(MUTEX, LOCK, 999)); /* no such tid */
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 0);
	assert_int_equal(sleep_of(t, 2, 0)->edge_type, CLEW_EDGE_WAKE);
	assert_int_equal(sleep_of(t, 2, 0)->ended_by, 1);
	assert_int_equal(sleep_of(t, 2, 1)->holder_count, 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void pi_robust_and_rwlock(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 6);
	sleeps(&s, 2000, 2, 2, wait_futex(CLEW_FUTEX_CLASS_PI, 0x100, 101));
	sleeps(&s, 2100, 3, 3, wait_futex(CLEW_FUTEX_CLASS_ROBUST, 0x200, 101));
	sleeps(&s, 2200, 4, 4, wait_futex(CLEW_FUTEX_CLASS_RWLOCK, 0x300, 101));
	sleeps(&s, 2300, 5, 5, wait_futex(CLEW_FUTEX_CLASS_RWLOCK, 0x300, 101));
	sleeps(&s, 2400, 6, 6, wait_futex(CLEW_FUTEX_CLASS_RWLOCK, 0x300, 101));
	comes(&s, 3100, 2, 2,
	      (struct woken){.at = 3000, .by = 1, .operation = CLEW_FUTEX_UNLOCK_PI});
	comes(&s, 3300, 3, 3, (struct woken){.at = 3200, .by = 1, .flags = CLEW_WAKE_EXITING});
	comes(&s, 3500, 4, 4,
	      (struct woken){.at = 3400, .by = 1, .operation = CLEW_FUTEX_WAKE_MANY});
	comes(&s, 3510, 5, 5,
	      (struct woken){.at = 3401, .by = 1, .operation = CLEW_FUTEX_WAKE_MANY});
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 3, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep_of(t, 4, 0)->edge_type, CLEW_EDGE_UNLOCK);
	assert_holder(sleep_of(t, 2, 0), 0, 1, 2000, 3000, false);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3200, false);
	assert_holder(sleep_of(t, 4, 0), 0, 1, 2200, 3400, false);
	assert_int_equal(sleep_of(t, 5, 0)->holder_count, 1);
	assert_holder(sleep_of(t, 5, 0), 0, 1, 2300, 3401, false);
	assert_int_equal(sleep_of(t, 6, 0)->holder_count, 2);
	assert_observed(sleep_of(t, 6, 0), 0, 1, 2400, 3401);
	assert_observed(sleep_of(t, 6, 0), 1, 4, 3401, 6000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* One mutex at two addresses in two processes, in one pid namespace. */
static void shared_between_processes(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct woken woken = {.operation = CLEW_FUTEX_WAKE_ONE, .object_kind = CLEW_OBJECT_FUTEX};

	(void)state;
	for (unsigned task = 1; task <= 4; task++)
		identify(&s, (struct identity){.task = task, .process = task});
	sleeps(&s, 2000, 2, 2, shared(wait_futex(MUTEX, 0x2000, 101)));
	sleeps(&s, 2100, 3, 3, shared(wait_futex(MUTEX, 0x3000, 101)));
	sleeps(&s, 2200, 4, 4,
	       wait_futex(MUTEX, 0x4000, 101)); /* private: 1 is no thread of this process */
	woken.at = 3000;
	woken.by = 1;
	woken.object = 0x1000;
	comes(&s, 3100, 2, 2, woken);
	woken.at = 4000;
	woken.by = 2;
	woken.object = 0x2000;
	comes(&s, 4100, 3, 3, woken);
	t = synthetic_trace(&s, 6000, 0);
	assert_sane(t);
	assert_holder(sleep_of(t, 2, 0), 0, 1, 2000, 3000, false);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3100);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 3100, 4000, false);
	assert_int_equal(sleep_of(t, 4, 0)->holder_count, 0);
	assert_true(sleep_of(t, 3, 0)->object.shared);
	assert_false(sleep_of(t, 4, 0)->object.shared);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A container's tids are those of its own namespace, re-used ones those of the living. */
static void pid_namespaces(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	identify(&s, (struct identity){.task = 1, .tid = 1});
	identify(&s,
		 (struct identity){
			 .task = 10, .process = 10, .tid = 7433, .pid_namespace = 5, .own_tid = 1});
	identify(&s,
		 (struct identity){
			 .task = 11, .process = 10, .tid = 7434, .pid_namespace = 5, .own_tid = 2});
	sleeps(&s, 2000, 0, 11, wait_futex(MUTEX, LOCK, 1));
	comes(&s, 2500, 0, 11, (struct woken){.at = 2400, .context = CLEW_WAKE_IRQ});
	SWITCH(&s, .at = 2600, .cpu = 1, .prev = 10, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	sleeps(&s, 2700, 0, 11, wait_futex(MUTEX, LOCK, 1));
	comes(&s, 2800, 0, 11, (struct woken){.at = 2750, .context = CLEW_WAKE_IRQ});
	identify(&s, (struct identity){.task = 12,
				       .process = 10,
				       .tid = 7435,
				       .pid_namespace = 5,
				       .own_tid = 1,
				       .at = 2850});
	sleeps(&s, 2900, 0, 11, wait_futex(MUTEX, LOCK, 1));
	t = synthetic_trace(&s, 3000, 0);
	assert_sane(t);
	assert_candidate(sleep_of(t, 11, 0), 0, 10, 2000, 2400);
	assert_int_equal(sleep_of(t, 11, 1)->holder_count, 0);
	assert_candidate(sleep_of(t, 11, 2), 0, 12, 2900, 3000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/*
 * The word of a mutex that is shared holds a tid of its owner's pid namespace. If several
 * have that tid, each in its own namespace, nobody is named. The kernel looks up the
 * owner of a PI futex in the waiter's namespace.
 */
static void owner_in_another_namespace(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	for (unsigned task = 1; task <= 3; task++)
		identify(&s, (struct identity){.task = task});
	identify(&s, (struct identity){.task = 10, .tid = 7433, .pid_namespace = 5, .own_tid = 7});
	identify(&s,
		 (struct identity){.task = 11, .tid = 7434, .pid_namespace = 5, .own_tid = 102});
	identify(&s,
		 (struct identity){.task = 12, .tid = 7435, .pid_namespace = 6, .own_tid = 102});
	sleeps(&s, 2000, 1, 1, shared(wait_futex(MUTEX, LOCK, 102)));
	comes(&s, 2500, 1, 1, (struct woken){.at = 2400, .context = CLEW_WAKE_IRQ});
	sleeps(&s, 2600, 1, 1, shared(wait_futex(MUTEX, LOCK, 7)));
	comes(&s, 2800, 1, 1, (struct woken){.at = 2700, .context = CLEW_WAKE_IRQ});
	sleeps(&s, 2900, 1, 1, shared(wait_futex(CLEW_FUTEX_CLASS_PI, 0x100, 102)));
	SWITCH(&s, .at = 3000, .cpu = 2, .prev = 2, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	SWITCH(&s, .at = 3000, .cpu = 3, .prev = 12, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	comes(&s, 3200, 1, 1, (struct woken){.at = 3100, .context = CLEW_WAKE_IRQ});
	sleeps(&s, 3300, 1, 1, shared(wait_futex(MUTEX, LOCK, 102)));
	t = synthetic_trace(&s, 4000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 1, 0)->holder_count, 0);
	assert_candidate(sleep_of(t, 1, 1), 0, 10, 2600, 2700);
	assert_observed(sleep_of(t, 1, 2), 0, 2, 2900, 3100);
	assert_candidate(sleep_of(t, 1, 3), 0, 11, 3300, 4000);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Processes that share their memory, as CLONE_VM makes them, have one futex at an address; once one
 * has another memory, it is another futex. */
static void processes_of_one_memory(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	for (unsigned task = 1; task <= 4; task++)
		identify(&s, (struct identity){.task = task, .memory = task == 4 ? 90 : 80});
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	locks(&s, 2200, 4, 1); /* means another lock, of which 1 is no owner */
	gets(&s, 3100, 2, 3000, 1);
	gets(&s, 4100, 3, 4000, 2);
	/* 2 execs, and the number of 4's memory is that of another one after its end. */
	identify(&s, (struct identity){.task = 2, .at = 4200, .memory = 91});
	SWITCH(&s, .at = 4300, .cpu = 4, .prev = 4, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	locks(&s, 4400, 2, 1);
	locks(&s, 4500, 3, 1);
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 2, 0)->holder_count, 1);
	assert_holder(sleep_of(t, 2, 0), 0, 1, 2000, 3000, false);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 3100);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 3100, 4000, false);
	assert_int_equal(sleep_of(t, 4, 0)->holder_count, 0);
	assert_int_equal(sleep_of(t, 2, 1)->holder_count, 0);
	assert_int_equal(sleep_of(t, 3, 1)->holder_count, 1);
	assert_holder(sleep_of(t, 3, 1), 0, 1, 4500, 5000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The woken task gets no CPU, and another task takes the lock first. Only a release shows which
 * one that was. */
static void woken_is_not_holding(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct clew_why why;

	(void)state;
	threads(&s, 5);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 3, 1);
	/* 1 lets go, 2 has no CPU for a long time; 4 takes the lock, lets it go unseen, and 5 has
	 * the CPU. */
	SWITCH(&s, .at = 2200, .cpu = 2, .prev = IDLE, .next = 5);
	SWITCH(&s, .at = 900000, .cpu = 2, .prev = 5, .next = 2, .flags = CLEW_SWITCH_PREEMPT,
	       .woken = {.at = 3000,
			 .by = 1,
			 .operation = CLEW_FUTEX_WAKE_ONE,
			 .flags = CLEW_WAKE_PRIVATE});
	gets(&s, 1000100, 3, 1000000, 2);
	t = synthetic_trace(&s, 1100000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 3);
	assert_holder(sleep_of(t, 3, 0), 0, 1, 2100, 3000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 3000, 900000);
	assert_holder(sleep_of(t, 3, 0), 2, 2, 900000, 1000000, false);
	assert_int_equal(clew_why_explain(t, NULL, 3, 3000, 1000000, &why), 0);
	assert_int_equal(why.segment_count, 2);
	assert_int_equal(why.segments[0].kind, CLEW_SEGMENT_RUNQUEUE);
	assert_int_equal(why.segments[0].task, 2);
	assert_int_equal(why.segments[0].by, 5);
	assert_int_equal(why.segments[0].end, 900000);
	assert_int_equal(why.segments[1].kind, CLEW_SEGMENT_RUNNING);
	assert_int_equal(why.segments[1].task, 2);
	clew_why_done(&why);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* 2 is overtaken: 4 barges in and wakes 5, but 2 comes on its CPU before that. 3 began to wait when
 * 2 had been woken already. */
static void overtaken(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;

	(void)state;
	threads(&s, 6);
	locks(&s, 2000, 2, 1);
	locks(&s, 2100, 5, 1);
	locks(&s, 2200, 6, 1);
	locks(&s, 23500, 3, 4);
	gets(&s, 100000, 2, 3000, 1);
	gets(&s, 200100, 6, 200000, 2);
	gets(&s, 250000, 5, 50000, 4);
	locks(&s, 250100, 5, 6);
	gets(&s, 300100, 3, 300000, 6);
	t = synthetic_trace(&s, 400000, 0);
	assert_sane(t);
	assert_int_equal(sleep_of(t, 6, 0)->holder_count, 5);
	assert_holder(sleep_of(t, 6, 0), 0, 1, 2200, 3000, false);
	assert_coming(sleep_of(t, 6, 0), 1, 2, 3000, 23500);
	assert_holder(sleep_of(t, 6, 0), 2, 4, 23500, 50000, true);
	assert_coming(sleep_of(t, 6, 0), 3, 2, 50000, 100000);
	assert_observed(sleep_of(t, 6, 0), 4, 2, 100000, 200000);
	assert_int_equal(sleep_of(t, 3, 0)->holder_count, 5);
	assert_holder(sleep_of(t, 3, 0), 0, 4, 23500, 50000, false);
	assert_coming(sleep_of(t, 3, 0), 1, 2, 50000, 100000);
	assert_observed(sleep_of(t, 3, 0), 2, 2, 100000, 200000);
	assert_coming(sleep_of(t, 3, 0), 3, 6, 200000, 200100);
	assert_holder(sleep_of(t, 3, 0), 4, 6, 200100, 300000, false);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* Whatever is put off is sent in time, in any order, and nothing is kept of it. */
static void decisions_are_bounded(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct clew_builder *builder;
	struct synthetic s = {0};
	size_t first = 0, tasks;

	(void)state;
	threads(&s, 4);
	locks(&s, 2000, 4, 1); /* never gets it */
	for (uint64_t round = 0; round < 20000; round++) {
		uint64_t at = 10000 + round * 1000000;

		locks(&s, at, 2, 3);
		gets(&s, at + 1000, 2, at + 900, 3);
		sleeps(&s, at + 500000, 2, 2, wait_futex(MUTEX, 0x100000 + 64 * round, 103));
		comes(&s, at + 500100, 2, 2,
		      (struct woken){.at = at + 500090, .by = 3, .operation = CLEW_FUTEX_WAKE_ONE});
	}
	assert_int_equal(clew_builder_new(&options, &taker_of_all, 1, &builder), 0);
	for (size_t at = 0; at < s.size;
	     at += record_size((const struct clew_header *)(s.bytes + at))) {
		assert_int_equal(
			clew_builder_feed(builder, (const struct clew_header *)(s.bytes + at)), 0);
		if (at < s.size / 4)
			first = clew_builder_memory(builder, &tasks);
	}
	/* The one who waits all the time needs the logs of releases and attempts, nothing else
	 * grows. */
	assert_in_range(clew_builder_memory(builder, &tasks), 0,
			first + 20000 * 2 * (sizeof(struct release) + sizeof(struct attempt)));
	assert_int_equal(tasks, 4);
	assert_int_equal(clew_builder_finish(builder, 30000000000), 0);
	assert_int_equal(clew_builder_feed(builder, (const struct clew_header *)s.bytes),
			 -ESHUTDOWN);
	clew_builder_free(builder);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_holders_in_turn),
		cmocka_unit_test(learned_late),
		cmocka_unit_test(barged),
		cmocka_unit_test(waits_again_after_holding),
		cmocka_unit_test(open_waits),
		cmocka_unit_test(found_waiting),
		cmocka_unit_test(hand_over_unseen),
		cmocka_unit_test(woken_late),
		cmocka_unit_test(owner_read_later),
		cmocka_unit_test(readers_let_in_anew),
		cmocka_unit_test(lock_without_an_owner),
		cmocka_unit_test(lock_on_a_file),
		cmocka_unit_test(lock_released_in_a_futex_call),
		cmocka_unit_test(owner_filled_in),
		cmocka_unit_test(looks_like_a_lock),
		cmocka_unit_test(ended_otherwise),
		cmocka_unit_test(no_holder_without_an_owner),
		cmocka_unit_test(pi_robust_and_rwlock),
		cmocka_unit_test(shared_between_processes),
		cmocka_unit_test(pid_namespaces),
		cmocka_unit_test(owner_in_another_namespace),
		cmocka_unit_test(processes_of_one_memory),
		cmocka_unit_test(woken_is_not_holding),
		cmocka_unit_test(overtaken),
		cmocka_unit_test(decisions_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
