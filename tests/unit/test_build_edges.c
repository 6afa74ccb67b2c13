/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests the type of edge that a wake gives, its object, names and groups, and the rest of a
 * wait whose type of edge is dropped.
 */
#include "synthetic.h"

struct row {
	struct clew_wait wait;
	unsigned state;
	struct woken woken;
	int type; /* -1: nobody caused it */
};

/* 1 waits from 2000 on, 2 wakes it at 3000. */
static void woken_by_other(struct synthetic *s, const struct clew_wait *wait, unsigned state,
			   struct woken woken)
{
	woken.at = 3000;
	woken.by = 2;
	threads(s, 2);
	SWITCH(s, .at = 2000, .cpu = 0, .prev = 1, .next = IDLE, .wait = wait, .state = state);
	comes(s, 3100, 0, 1, woken);
}

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct synthetic s = {0};
		const struct clew_sleep *sleep;
		struct clew_trace *t;

		woken_by_other(&s, &rows[i].wait, rows[i].state, rows[i].woken);
		t = synthetic_trace(&s, 5000, 0);
		assert_sane(t);
		sleep = sleep_of(t, 1, 0);
		if (sleep->edge_type != rows[i].type)
			print_message("row %zu\n", i);
		assert_int_equal(sleep->edge_type, rows[i].type);
		assert_int_equal(sleep->ended_by, rows[i].type < 0 ? 0 : 2);
		assert_int_equal(sleep->end, 3000);
		if (rows[i].type < 0) {
			assert_null(edge_to(t, 1, 0));
		} else {
			assert_int_equal(edge_to(t, 1, 0)->type, rows[i].type);
			assert_int_equal(edge_to(t, 1, 0)->evidence, CLEW_EVIDENCE_EXACT);
		}
		clew_trace_free(t);
		/* The same with that type dropped: how long it slept stays, nothing else. */
		t = synthetic_trace(&s, 5000, rows[i].type < 0 ? 0 : 1u << rows[i].type);
		sleep = sleep_of(t, 1, 0);
		assert_int_equal(sleep->end, 3000);
		assert_int_equal(sleep->edge_type, -1);
		assert_int_equal(sleep->ended_by, 0);
		assert_null(edge_to(t, 1, 0));
		if (rows[i].type >= 0)
			assert_int_equal(sleep->context, CLEW_WAKE_UNKNOWN);
		if (rows[i].type == CLEW_EDGE_UNLOCK)
			assert_int_equal(sleep->holder_count, 0);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

#define CHECK(...)                                                                                 \
	do {                                                                                       \
		const struct row rows[] = {__VA_ARGS__};                                           \
		check_rows(rows, sizeof(rows) / sizeof(rows[0]));                                  \
	} while (0)

static void by_wait_and_wake(void **state)
{
	const unsigned exiting = CLEW_WAKE_EXITING, signalled = CLEW_WAKE_SIGNAL;

	(void)state;
	CHECK({wait_in(SYS_pause), 1, {.flags = signalled}, CLEW_EDGE_SIGNAL},
	      {wait_in(SYS_wait4), 1, {.flags = exiting | signalled}, CLEW_EDGE_EXIT},
	      {wait_in(SYS_wait4), 1, {.flags = exiting}, CLEW_EDGE_EXIT},
	      {wait_in(SYS_wait4), 1, {.flags = signalled}, CLEW_EDGE_SIGNAL},
	      {wait_in(SYS_wait4), 1, {0}, CLEW_EDGE_WAKE},
	      {wait_in(SYS_pause), 1, {.flags = exiting | signalled}, CLEW_EDGE_SIGNAL},
	      {wait_in(SYS_nanosleep), 4, {0}, CLEW_EDGE_SIGNAL},
	      {wait_in(SYS_nanosleep), 8, {0}, CLEW_EDGE_WAKE},
	      {wait_in(SYS_nanosleep), 0x108, {.flags = CLEW_WAKE_STOPPED}, CLEW_EDGE_WAKE},
	      {wait_in(SYS_nanosleep),
	       0x108,
	       {.flags = CLEW_WAKE_STOPPED | signalled},
	       CLEW_EDGE_SIGNAL},
	      {wait_in(CLEW_NO_CALL), 0x8000, {.flags = signalled}, CLEW_EDGE_WAKE},
	      {wait_in(CLEW_NO_CALL), 0x2001, {0}, CLEW_EDGE_WAKE},
	      {wait_in(CLEW_NO_CALL), 0x2001, {.flags = signalled}, CLEW_EDGE_SIGNAL},
	      {wait_in(SYS_nanosleep), 1, {.flags = CLEW_WAKE_STOPPED}, CLEW_EDGE_SIGNAL},
	      {wait_in(SYS_nanosleep), 1, {.flags = signalled}, CLEW_EDGE_SIGNAL},
	      {wait_in(SYS_vfork), 0x102, {0}, CLEW_EDGE_VFORK},
	      {wait_in(SYS_vfork), 0x102, {.flags = signalled}, CLEW_EDGE_VFORK},
	      {wait_in(SYS_munmap), 2, {0}, CLEW_EDGE_WAKE},
	      {wait_in(SYS_semop), 1, {0}, CLEW_EDGE_IPC},
	      {wait_on(SYS_read, CLEW_OBJECT_PIPE, 5), 1, {0}, CLEW_EDGE_PIPE},
	      {wait_on(SYS_write, CLEW_OBJECT_PIPE, 5), 1, {.flags = signalled}, CLEW_EDGE_SIGNAL},
	      {wait_on(SYS_read, CLEW_OBJECT_SOCKET, 5), 1, {0}, CLEW_EDGE_SOCKET},
	      {wait_on(SYS_read, CLEW_OBJECT_EVENTFD, 5), 1, {0}, CLEW_EDGE_EVENTFD},
	      {wait_on(SYS_read, CLEW_OBJECT_FILE, 5), 2, {0}, CLEW_EDGE_WAKE},
	      {wait_on(SYS_read, CLEW_OBJECT_PIPE, 5), 1, {.context = CLEW_WAKE_IRQ}, -1},
	      {wait_on(SYS_read, CLEW_OBJECT_SOCKET, 5), 1, {.context = CLEW_WAKE_SOFTIRQ}, -1});
}

static void pollers(void **state)
{
	const struct clew_wait epoll = wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 9);

	(void)state;
	CHECK({epoll, 1, {.object_kind = CLEW_OBJECT_PIPE, .object = 4}, CLEW_EDGE_PIPE},
	      {epoll, 1, {.object_kind = CLEW_OBJECT_SOCKET, .object = 4}, CLEW_EDGE_SOCKET},
	      {epoll, 1, {.object_kind = CLEW_OBJECT_EVENTFD, .object = 4}, CLEW_EDGE_EVENTFD},
	      {epoll,
	       1,
	       {.object_kind = CLEW_OBJECT_PIDFD, .flags = CLEW_WAKE_EXITING},
	       CLEW_EDGE_EXIT},
	      {epoll, 1, {.object_kind = CLEW_OBJECT_PIDFD}, CLEW_EDGE_WAKE},
	      {epoll, 1, {0}, CLEW_EDGE_WAKE},
	      {wait_in(SYS_poll),
	       1,
	       {.flags = CLEW_WAKE_EXITING | CLEW_WAKE_ENDED},
	       CLEW_EDGE_EXIT},
	      {wait_in(SYS_poll), 1, {.flags = CLEW_WAKE_EXITING}, CLEW_EDGE_WAKE},
	      {wait_in(SYS_poll),
	       1,
	       {.flags = CLEW_WAKE_EXITING | CLEW_WAKE_ENDED, .object_kind = CLEW_OBJECT_PIPE},
	       CLEW_EDGE_PIPE},
	      {wait_on(SYS_poll, CLEW_OBJECT_PIPE, 9), 1, {0}, CLEW_EDGE_PIPE},
	      {wait_on(SYS_poll, CLEW_OBJECT_SOCKET, 9),
	       1,
	       {.flags = CLEW_WAKE_EXITING},
	       CLEW_EDGE_SOCKET},
	      {wait_on(SYS_poll, CLEW_OBJECT_PIDFD, 9),
	       1,
	       {.flags = CLEW_WAKE_EXITING},
	       CLEW_EDGE_EXIT},
	      {wait_on(SYS_poll, CLEW_OBJECT_EPOLL, 9),
	       1,
	       {.object_kind = CLEW_OBJECT_EVENTFD},
	       CLEW_EDGE_EVENTFD},
	      {wait_on(SYS_io_uring_enter, CLEW_OBJECT_IO_URING, 9),
	       1,
	       {.object_kind = CLEW_OBJECT_PIPE},
	       CLEW_EDGE_PIPE},
	      {wait_on(SYS_io_uring_enter, CLEW_OBJECT_IO_URING, 9), 1, {0}, CLEW_EDGE_WAKE});
}

static void futexes(void **state)
{
	const unsigned one = CLEW_FUTEX_WAKE_ONE, many = CLEW_FUTEX_WAKE_MANY,
		       exiting = CLEW_WAKE_EXITING;
	const uint64_t a = 0x700;

	(void)state;
	CHECK({wait_futex(CLEW_FUTEX_CLASS_NONE, a, 0), 1, {.operation = one}, CLEW_EDGE_WAKE},
	      {wait_futex(CLEW_FUTEX_CLASS_NONE, a, 0), 1, {.operation = many}, CLEW_EDGE_WAKE},
	      {wait_futex(CLEW_FUTEX_CLASS_NONE, a, 0), 1, {.flags = exiting}, CLEW_EDGE_WAKE},
	      {wait_futex(CLEW_FUTEX_CLASS_MUTEX, a, 102), 1, {.operation = one}, CLEW_EDGE_UNLOCK},
	      {wait_futex(CLEW_FUTEX_CLASS_MUTEX, a, 102), 1, {.operation = many}, CLEW_EDGE_WAKE},
	      {wait_futex(CLEW_FUTEX_CLASS_MUTEX, a, 102), 1, {.flags = exiting}, CLEW_EDGE_WAKE},
	      {wait_futex(CLEW_FUTEX_CLASS_MUTEX, a, 102),
	       1,
	       {.operation = one, .flags = CLEW_WAKE_SIGNAL},
	       CLEW_EDGE_SIGNAL},
	      /* Nothing but its value makes this one look like a lock. */
	      {wait_futex(CLEW_FUTEX_CLASS_BUSY, a, 0), 1, {.operation = one}, CLEW_EDGE_WAKE},
	      {wait_futex(CLEW_FUTEX_CLASS_PI, a, 102),
	       1,
	       {.operation = CLEW_FUTEX_UNLOCK_PI},
	       CLEW_EDGE_UNLOCK},
	      {wait_futex(CLEW_FUTEX_CLASS_PI, a, 102), 1, {.flags = exiting}, CLEW_EDGE_UNLOCK},
	      {wait_futex(CLEW_FUTEX_CLASS_ROBUST, a, 102),
	       1,
	       {.flags = exiting},
	       CLEW_EDGE_UNLOCK},
	      {wait_futex(CLEW_FUTEX_CLASS_RWLOCK, a, 102),
	       1,
	       {.operation = many},
	       CLEW_EDGE_UNLOCK},
	      {wait_futex(CLEW_FUTEX_CLASS_MUTEX, a, 102),
	       1,
	       {.operation = CLEW_FUTEX_OTHER},
	       CLEW_EDGE_WAKE});
}

/* The futex of a call that waits for several is known from its waker, if that is of its process.
 */
static void one_of_several_futexes(void **state)
{
	const struct {
		struct woken woken;
		unsigned kind;
	} rows[] = {
		{{.operation = CLEW_FUTEX_WAKE_ONE, .flags = CLEW_WAKE_PRIVATE}, CLEW_OBJECT_FUTEX},
		{{.operation = CLEW_FUTEX_WAKE_ONE}, CLEW_OBJECT_NONE},
		{{.operation = CLEW_FUTEX_OTHER, .flags = CLEW_WAKE_PRIVATE}, CLEW_OBJECT_NONE},
	};
	const struct clew_wait wait = wait_in(SYS_futex_waitv);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synthetic s = {0};
		struct woken woken = rows[i].woken;
		const struct clew_sleep *sleep;
		struct clew_trace *t;

		woken.object_kind = CLEW_OBJECT_FUTEX;
		woken.object = 0x780;
		woken_by_other(&s, &wait, 1, woken);
		t = synthetic_trace(&s, 5000, 0);
		sleep = sleep_of(t, 1, 0);
		assert_int_equal(sleep->kind, CLEW_WAIT_FUTEX);
		assert_int_equal(sleep->edge_type, CLEW_EDGE_WAKE);
		assert_int_equal(sleep->object.kind, rows[i].kind);
		assert_int_equal(sleep->object.number, rows[i].kind ? 0x780 : 0);
		assert_false(sleep->object.shared);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

/* A page of the buffer is missing in a write, or its task is stopped there: neither has to do with
 * the pipe. */
static void not_for_what_the_call_is_on(void **state)
{
	const struct {
		unsigned flags, state, kind;
	} rows[] = {{CLEW_WAIT_FLAG_FAULT, 2, CLEW_WAIT_FAULT}, {0, 4, CLEW_WAIT_STOPPED}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct synthetic s = {0};
		struct clew_wait wait = wait_on(SYS_write, CLEW_OBJECT_PIPE, 5);
		struct clew_trace *t;

		wait.flags |= rows[i].flags;
		threads(&s, 2);
		SWITCH(&s, .at = 2000, .cpu = 0, .prev = 1, .next = IDLE, .wait = &wait,
		       .state = rows[i].state);
		comes(&s, 3100, 0, 1, (struct woken){.at = 3000, .by = 2});
		t = synthetic_trace(&s, 5000, 0);
		assert_int_equal(sleep_of(t, 1, 0)->kind, rows[i].kind);
		assert_int_equal(sleep_of(t, 1, 0)->object.kind, CLEW_OBJECT_NONE);
		assert_int_equal(edge_to(t, 1, 0)->object.kind, CLEW_OBJECT_NONE);
		clew_trace_free(t);
		synthetic_done(&s);
	}
}

static void what_made_a_poller_ready(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	const struct clew_edge *edge;

	(void)state;
	identify(&s, (struct identity){.task = 1, .comm = "server"});
	identify(&s, (struct identity){.task = 2, .comm = "client"});
	sleeps(&s, 2000, 0, 1, wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 9));
	comes(&s, 3100, 0, 1,
	      (struct woken){.at = 3000, .by = 2, .object_kind = CLEW_OBJECT_SOCKET, .object = 77});
	rename_task(&s, 4000, 2, "later");
	t = synthetic_trace(&s, 5000, 0);
	edge = edge_to(t, 1, 0);
	assert_int_equal(edge->object.kind, CLEW_OBJECT_SOCKET);
	assert_int_equal(edge->object.number, 77);
	assert_int_equal(sleep_of(t, 1, 0)->object.number, 77);
	assert_int_equal(edge->from_at, 3000);
	assert_int_equal(edge->to_at, 3000);
	assert_string_equal(edge->from_comm, "client");
	assert_string_equal(edge->to_comm, "server");
	assert_string_equal(clew_trace_task(t, 2)->comm, "later");
	clew_trace_free(t);
	synthetic_done(&s);
}

/* A barrier's last one wakes three; then another wake of the same futex is another release. */
static void one_release_several_destinations(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t;
	struct woken woken = {.by = 4, .operation = CLEW_FUTEX_WAKE_MANY};
	uint32_t *order, *begin;
	size_t groups, count;
	const struct clew_edge *edges;

	(void)state;
	threads(&s, 4);
	for (unsigned task = 1; task <= 3; task++)
		sleeps(&s, 2000 + task, task, task, wait_futex(CLEW_FUTEX_CLASS_NONE, 0x500, 0));
	SWITCH(&s, .at = 2500, .cpu = 4, .prev = IDLE, .next = 4);
	for (unsigned task = 1; task <= 3; task++) {
		woken.at = 3000 + task;
		comes(&s, 3100 + task, task, task, woken);
	}
	sleeps(&s, 3200, 1, 1, wait_futex(CLEW_FUTEX_CLASS_NONE, 0x500, 0));
	woken.at = 3300;
	comes(&s, 3400, 1, 1, woken); /* 1 again: another release */
	sleeps(&s, 3500, 2, 2, wait_futex(CLEW_FUTEX_CLASS_NONE, 0x500, 0));
	sleeps(&s, 3510, 4, 4, wait_in(SYS_pause));
	comes(&s, 3600, 4, 4, (struct woken){.at = 3550, .by = 3});
	woken.at = 3700;
	comes(&s, 3800, 2, 2, woken); /* 4 was off the CPU in between */
	t = synthetic_trace(&s, 5000, 0);
	assert_sane(t);
	edges = clew_trace_edges(t, &count);
	assert_int_equal(count, 6);
	for (size_t i = 1; i < count; i++)
		assert_true(edges[i - 1].to_at <= edges[i].to_at);
	assert_int_equal(clew_trace_edge_groups(t, &order, &begin, &groups), 0);
	assert_int_equal(groups, 4);
	assert_int_equal(begin[0], 0);
	assert_int_equal(begin[1], 3);
	assert_int_equal(begin[4], 6);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(edges[order[i]].to, i + 1);
	assert_int_equal(edges[order[3]].to, 1);
	free(order);
	free(begin);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* One write wakes all pollers of an eventfd, but of two in one epoll instance one; and only those
 * who wait by then. */
static void one_write_several_pollers(void **state)
{
	static const struct {
		uint64_t sleeps, epoll;
	} rows[] = {{2000, 0xa}, {2001, 0xb}, {2002, 0xb}, {23100, 0xc}};
	struct synthetic s = {0};
	struct clew_trace *t;
	struct woken woken = {.by = 5, .object_kind = CLEW_OBJECT_EVENTFD, .object = 4};
	uint32_t *order, *begin;
	size_t groups;

	(void)state;
	threads(&s, 6);
	SWITCH(&s, .at = 1500, .cpu = 5, .prev = IDLE, .next = 5);
	for (unsigned task = 1; task <= 3; task++)
		sleeps(&s, rows[task - 1].sleeps, task, task,
		       wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, rows[task - 1].epoll));
	for (unsigned task = 1; task <= 3; task++) {
		woken.at = 3000 + 30 * task;
		comes(&s, 3200 + task, task, task, woken);
	}
	sleeps(&s, rows[3].sleeps, 4, 4, wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, rows[3].epoll));
	woken.at = 23120;
	comes(&s, 23200, 4, 4, woken);
	t = synthetic_trace(&s, 25000, 0);
	assert_sane(t);
	assert_int_equal(clew_trace_edge_groups(t, &order, &begin, &groups), 0);
	assert_int_equal(groups,
			 3); /* 1 and 2; 3, by another write; 4, which began to wait after that */
	assert_int_equal(begin[1], 2);
	free(order);
	free(begin);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void nothing_at_all(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t = synthetic_trace(&s, 5000, 0);
	uint32_t *order, *begin;
	size_t count;
	const struct clew_gap *gap_found;

	(void)state;
	assert_sane(t);
	assert_null(clew_trace_sleeps(t, &count));
	assert_int_equal(count, 0);
	clew_trace_runs(t, &count);
	assert_int_equal(count, 0);
	clew_trace_edges(t, &count);
	assert_int_equal(count, 0);
	assert_int_equal(clew_trace_edge_groups(t, &order, &begin, &count), 0);
	assert_int_equal(count, 0);
	free(order);
	free(begin);
	assert_null(clew_trace_task(t, 1));
	assert_null(clew_trace_task_at(t, 0));
	assert_null(clew_trace_file(t, 1, 2, NULL));
	assert_null(clew_trace_text(t, 1));
	assert_null(clew_trace_cgroup(t, 1));
	assert_null(clew_trace_socket(t, 1));
	assert_int_equal(clew_trace_gaps(t, 0, UINT64_MAX, &gap_found), 0);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_wait_and_wake),
		cmocka_unit_test(pollers),
		cmocka_unit_test(futexes),
		cmocka_unit_test(one_of_several_futexes),
		cmocka_unit_test(not_for_what_the_call_is_on),
		cmocka_unit_test(what_made_a_poller_ready),
		cmocka_unit_test(one_release_several_destinations),
		cmocka_unit_test(one_write_several_pollers),
		cmocka_unit_test(nothing_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
