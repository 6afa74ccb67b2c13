/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits that a thread cuts into slices by a timeout: which sleeps are one wait, and that
 * each slice is explained by what ended the last one. Task 1 waits; 2 ends the last slice.
 */
#include "explain/why.h"
#include "stack_records.h"

#define TIMEOUT	 0xffffffff81000100ull
#define INTERVAL 0xffffffff81000200ull
#define SOCKET	 77
#define SLICE	 1000 /* ns; slice n begins at n * PERIOD and ends with SLICE */
#define PERIOD	 1100
#define SLICES	 4

/* Changes of a wait in SLICES slices, the last of which task 2 ends. */
struct variant {
	const char *name;
	struct clew_wait wait;
	struct clew_wait other; /* of the slice number 1 */
	bool has_other;
	bool tick;	     /* a timer that the thread had armed ends the slices */
	bool foreign;	     /* one that another task had armed */
	bool given_up;	     /* the last slice ends by its timeout too */
	bool signalled;	     /* by a signal */
	bool hides;	     /* the kernel hides that the thread runs after the slice number 1 */
	uint64_t late;	     /* ns that the thread runs longer before the last slice */
	uint32_t wakes;	     /* before the last slice, it wakes this task */
	uint64_t site;	     /* the stack of all slices, 0 unknown */
	uint64_t other_site; /* of the slice number 1 instead, unless 0 */
	unsigned slices;     /* that the wait is to have; 0: it is none */
};

/* Stacks by hash: two places that call one function, and the first one in part. */
enum { HERE = 21, THERE, HALF };

static void put_sites(struct synthetic *s)
{
	const uint64_t here[] = {0x1010, 0x1020}, there[] = {0x1010, 0x1030};

	put_stack(s, HERE, 0, here, 2);
	put_stack(s, THERE, 0, there, 2);
	put_stack(s, HALF, 0, here, 1);
}

static struct woken by_timer(uint64_t at, const struct variant *variant)
{
	struct clew_cause cause = {
		.kind = CLEW_CAUSE_TIMER, .object = TIMEOUT, .expires = at, .time = at - SLICE};

	if (variant->tick || variant->foreign) {
		cause.object = INTERVAL;
		cause.task = variant->tick ? 1 : 3;
	}
	return interrupted(at, CLEW_WAKE_TIMER, cause);
}

static struct clew_trace *make(struct synthetic *s, const struct variant *variant)
{
	uint64_t at = PERIOD;

	threads(s, 3);
	text(s, 10, TIMEOUT, "hrtimer_wakeup");
	text(s, 11, INTERVAL, "it_real_fn");
	put_sites(s);
	SWITCH(s, .at = 100, .cpu = 1, .prev = IDLE, .next = 1);
	SWITCH(s, .at = 101, .cpu = 2, .prev = IDLE, .next = 2);
	SWITCH(s, .at = 102, .cpu = 3, .prev = IDLE, .next = 3);
	sleeps(s, 200, 3, 3, wait_on(SYS_read, CLEW_OBJECT_PIPE, 5));
	for (unsigned i = 0; i < SLICES; i++, at += PERIOD) {
		bool last = i == SLICES - 1;

		if (last && variant->wakes) {
			comes(s, at - 40, 3, variant->wakes,
			      (struct woken){.at = at - 50, .by = 1});
			sleeps(s, at - 30, 3, variant->wakes,
			       wait_on(SYS_read, CLEW_OBJECT_PIPE, 5));
		}
		if (last)
			at += variant->late;
		sleeps(s, at, 1, 1, i == 1 && variant->has_other ? variant->other : variant->wait);
		if (variant->site)
			put_waited(s, at + SLICE, 1,
				   i == 1 && variant->other_site ? variant->other_site
								 : variant->site,
				   0, 0);
		if (i == 1 && variant->hides)
			continue;
		if (!last || variant->given_up)
			comes(s, at + SLICE, 1, 1, by_timer(at + SLICE, variant));
		else
			comes(s, at + SLICE, 1, 1,
			      (struct woken){.at = at + SLICE,
					     .by = 2,
					     .flags = variant->signalled ? CLEW_WAKE_SIGNAL : 0});
	}
	return synthetic_trace(s, at + 2 * PERIOD, 0);
}

static void check_slices(const struct clew_trace *t, const struct variant *variant)
{
	for (unsigned i = 0; i < SLICES; i++) {
		const struct clew_sleep *sleep = sleep_of(t, 1, i);
		const struct clew_retried *retried = clew_trace_retried(t, sleep);
		bool in = variant->slices && i >= SLICES - variant->slices;

		if (!retried != !in || (in && retried->slices != variant->slices) ||
		    clew_trace_last_slice(t, sleep) != (in ? sleep_of(t, 1, SLICES - 1) : sleep))
			fail_msg("%s: slice %u", variant->name, i);
	}
}

/* Slices that belong together are task 2's time, with doubt; others end with their timeout. */
static void check_why(const struct clew_trace *t, const struct variant *variant)
{
	uint64_t followed[2] = {0}, expected = 0;
	struct clew_why why;

	for (unsigned i = 0; i + 1 < SLICES; i++)
		expected += variant->slices && i >= SLICES - variant->slices &&
					    !(i == 1 && variant->hides)
				    ? SLICE
				    : 0;
	assert_int_equal(clew_why_explain(t, NULL, 1, 500, SLICES * PERIOD - 1, &why), 0);
	for (size_t i = 0; i < why.segment_count; i++) {
		const struct clew_segment *segment = &why.segments[i];

		assert_false(segment->cycle);
		if (segment->task == 2)
			followed[segment->via_evidence != CLEW_EVIDENCE_EXACT] +=
				segment->end - segment->start;
	}
	if (followed[0] || followed[1] != expected)
		fail_msg("%s: %u ns of %u", variant->name, (unsigned)followed[1],
			 (unsigned)expected);
	clew_why_done(&why);
}

static void which_are_one(void **state)
{
	const struct clew_wait poll = wait_on(SYS_poll, CLEW_OBJECT_SOCKET, SOCKET),
			       condition = wait_futex(0, 0x7f0000001028, 0);
	const struct variant variants[] = {
		{.name = "poll", .wait = poll, .slices = SLICES},
		{.name = "at one place", .wait = poll, .site = HERE, .slices = SLICES},
		{.name = "at two", .wait = poll, .site = HERE, .other_site = THERE, .slices = 2},
		{.name = "perhaps at one",
		 .wait = poll,
		 .site = HERE,
		 .other_site = HALF,
		 .slices = SLICES},
		{.name = "epoll",
		 .wait = wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 9),
		 .slices = SLICES},
		{.name = "a hidden slice", .wait = poll, .hides = true, .slices = SLICES},
		{.name = "a tick", .wait = poll, .tick = true, .slices = SLICES},
		{.name = "condition variable",
		 .wait = condition,
		 .other = wait_futex(0, 0x7f000000102c, 0),
		 .has_other = true,
		 .slices = SLICES},
		{.name = "another futex",
		 .wait = condition,
		 .other = wait_futex(0, 0x7f0000001030, 0),
		 .has_other = true,
		 .slices = SLICES - 2},
		{.name = "another socket",
		 .wait = poll,
		 .other = wait_on(SYS_poll, CLEW_OBJECT_SOCKET, SOCKET + 1),
		 .has_other = true,
		 .slices = SLICES - 2},
		{.name = "another epoll instance",
		 .wait = wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 9),
		 .other = wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 10),
		 .has_other = true,
		 .slices = SLICES - 2},
		{.name = "another call",
		 .wait = poll,
		 .other = wait_on(SYS_ppoll, CLEW_OBJECT_SOCKET, SOCKET),
		 .has_other = true,
		 .slices = SLICES - 2},
		{.name = "no object", .wait = wait_in(SYS_poll)},
		{.name = "sleeping", .wait = wait_in(SYS_nanosleep)},
		{.name = "given up", .wait = poll, .given_up = true},
		{.name = "a signal", .wait = poll, .signalled = true},
		{.name = "another task's timer", .wait = poll, .foreign = true},
		{.name = "runs a little", .wait = poll, .late = SLICE / 4 - 100, .slices = SLICES},
		{.name = "runs", .wait = poll, .late = SLICE / 4 - 99},
		{.name = "wakes", .wait = poll, .wakes = 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		struct synthetic s = {0};
		struct clew_trace *t = make(&s, &variants[i]);

		check_slices(t, &variants[i]);
		check_why(t, &variants[i]);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
