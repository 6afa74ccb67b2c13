/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traces of parts of a capture: what overlaps a part is as in the trace of all of it, and
 * how much is kept does not depend on the capture's length. The windows of a capture together have
 * each wait once, and lists and sums made of them are those of the trace of all of it.
 */
#include "store_records.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "explain/waits.h"
#include "trace/trace.h"
#include "trace/windows.h"

#define BEGIN	1000000000ull
#define LENGTH	40000000000ull
#define SECOND	1000000000ull
#define SHORT	5000000ull    /* ns: how long task 1 sleeps */
#define LONG	9000000000ull /* and task 2 */
#define RUNNING 1000000ull    /* how long each runs in between */

/* The task's tid is a hundred more than its number. `start_time`: 0 before the capture. */
static void put_task(struct clew_writer *writer, uint32_t task, uint64_t start_time)
{
	const struct clew_task_record record = {
		.header = {.time = BEGIN - 10, .kind = CLEW_KIND_TASK},
		.task = task,
		.process = task,
		.tid = 100 + task,
		.pid = 100 + task,
		.start_time = start_time,
	};

	assert_int_equal(clew_writer_put(writer, CLEW_STREAM_USER, &record, sizeof(record)), 0);
}

/* The task sleeps and runs in turn on a CPU of its own. */
static void put_sleeps(struct clew_writer *writer, unsigned cpu, uint32_t task, uint64_t sleep)
{
	for (uint64_t at = BEGIN; at < BEGIN + LENGTH; at += sleep + RUNNING) {
		struct {
			struct clew_switch record;
			struct clew_wait wait;
		} out = {
			.record = {.header = {.time = at,
					      .kind = CLEW_KIND_SWITCH,
					      .flags = CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT},
				   .prev = task,
				   .prev_state = 1},
			.wait = {.call = SYS_clock_nanosleep, .descriptor = -1},
		};
		struct clew_switch in = {
			.header = {.time = at + sleep,
				   .kind = CLEW_KIND_SWITCH,
				   .flags = CLEW_SWITCH_NEXT_SLEPT},
			.next = task,
			.wake_time = at + sleep - 10000,
			.wake_context = CLEW_WAKE_TIMER,
		};

		assert_int_equal(clew_writer_put(writer, cpu, &out, sizeof(out)), 0);
		if (at + sleep < BEGIN + LENGTH)
			assert_int_equal(clew_writer_put(writer, cpu, &in, sizeof(in)), 0);
	}
}

static void write_capture(char *path)
{
	struct clew_writer *writer;
	char number[24];

	temporary_path(path);
	writer = open_writer(path, 3, true);
	snprintf(number, sizeof(number), "%llu", BEGIN - 1000);
	assert_int_equal(clew_writer_meta(writer, "start", number), 0);
	snprintf(number, sizeof(number), "%llu", BEGIN + LENGTH);
	assert_int_equal(clew_writer_meta(writer, "end", number), 0);
	for (uint32_t task = 1; task <= 3; task++)
		put_task(writer, task, 0);
	put_sleeps(writer, 0, 1, SHORT);
	put_sleeps(writer, 1, 2, LONG);
	put_sleeps(writer, 2, 3, 2 * LENGTH); /* it sleeps all the time */
	assert_int_equal(clew_writer_close(writer), 0);
}

static struct clew_trace *load(const char *path, uint64_t from, uint64_t to)
{
	const struct clew_trace_options options = {.size = sizeof(options), .from = from, .to = to};
	struct clew_trace *trace;
	char message[200];

	assert_int_equal(clew_trace_load(path, &options, &trace, message, sizeof(message)), 0);
	return trace;
}

/* A sleep as far as a trace that ends at `end` may know it. */
static struct clew_sleep known_at(const struct clew_sleep *sleep, uint64_t end)
{
	struct clew_sleep known = *sleep;

	if (known.switch_in > end) {
		known.end = known.switch_in = CLEW_TIME_OPEN;
		known.raw_end = 0;
		known.context = CLEW_WAKE_UNKNOWN;
		known.open |= CLEW_OPEN_END;
		known.edge_type = -1;
	}
	return known;
}

static void expect_same(const struct clew_sleep *part, const struct clew_sleep *whole)
{
	assert_int_equal(part->start, whole->start);
	assert_int_equal(part->end, whole->end);
	assert_int_equal(part->switch_in, whole->switch_in);
	assert_int_equal(part->raw_end, whole->raw_end);
	assert_int_equal(part->task, whole->task);
	assert_int_equal(part->kind, whole->kind);
	assert_int_equal(part->call, whole->call);
	assert_int_equal(part->open, whole->open);
	assert_int_equal(part->edge_type, whole->edge_type);
}

static bool in_part(const struct clew_sleep *sleep, uint64_t from, uint64_t to)
{
	return sleep->start <= to && sleep->switch_in >= from;
}

/* Returns how many sleeps of the part are open at the end. */
static size_t compare(const struct clew_trace *whole, const char *path, uint64_t from, uint64_t to)
{
	struct clew_trace *part = load(path, from, to);
	size_t whole_count, part_count, at = 0, open = 0, found = 0;
	const struct clew_sleep *all = clew_trace_sleeps(whole, &whole_count);
	const struct clew_sleep *kept = clew_trace_sleeps(part, &part_count);

	for (size_t i = 0; i < whole_count; i++) {
		struct clew_sleep known = known_at(&all[i], clew_trace_end(part));

		if (!in_part(&all[i], from, to))
			continue;
		while (at < part_count && !in_part(&kept[at], from, to))
			at++;
		assert_true(at < part_count);
		expect_same(&kept[at++], &known);
		open += known.end == CLEW_TIME_OPEN;
		found++;
	}
	while (at < part_count)
		assert_false(in_part(&kept[at++], from, to));
	assert_true(found > 0);
	assert_int_equal(clew_trace_start(part), clew_trace_start(whole));
	clew_trace_free(part);
	return open;
}

static void test_as_in_whole(void **state)
{
	struct random random = {.state = 29};
	struct clew_trace *whole;
	char path[64];

	(void)state;
	write_capture(path);
	whole = load(path, 0, 0);
	assert_false(clew_trace_is_cut(whole));
	for (unsigned i = 0; i < 40; i++) {
		uint64_t from = BEGIN + random_below(&random, LENGTH - SECOND);

		compare(whole, path, from, from + 1 + random_below(&random, SECOND));
	}
	/* The one that never ends, and near the end of the capture the one of task 2. */
	assert_int_equal(compare(whole, path, BEGIN + 10 * SECOND, BEGIN + 11 * SECOND), 1);
	assert_int_equal(compare(whole, path, BEGIN + 39 * SECOND, BEGIN + LENGTH), 3);
	clew_trace_free(whole);
	unlink(path);
}

/* Reading ends 10 s behind the part, and two seconds of sleeps around it are kept. */
static void test_bounds(void **state)
{
	struct clew_trace *part;
	char path[64];
	size_t count;

	(void)state;
	write_capture(path);
	part = load(path, BEGIN + 5 * SECOND, BEGIN + 6 * SECOND);
	assert_true(clew_trace_is_cut(part));
	assert_int_equal(clew_trace_end(part), BEGIN + 16 * SECOND);
	clew_trace_sleeps(part, &count);
	assert_in_range(count, 3 * SECOND / (SHORT + RUNNING), 3 * SECOND / (SHORT + RUNNING) + 6);
	clew_trace_free(part);
	part = load(path, BEGIN + 35 * SECOND, BEGIN + 36 * SECOND);
	assert_false(clew_trace_is_cut(part));
	assert_int_equal(clew_trace_end(part), BEGIN + LENGTH);
	clew_trace_free(part);
	unlink(path);
}

static int run_windows(const char *path, const struct clew_windows_taker *taker, uint64_t records,
		       unsigned processes, struct clew_trace **ret_names)
{
	const struct clew_windows_options options = {
		.size = sizeof(options), .records = records, .processes = processes};
	struct clew_reader *reader;
	char message[200];
	int r;

	assert_int_equal(clew_reader_open(path, &reader, message, sizeof(message)), 0);
	assert_true(clew_windows_pay(reader, records, false));
	r = clew_windows_run(reader, &options, taker, ret_names);
	clew_reader_close(reader);
	return r;
}

/* A task is born in the part, and sleeps and runs on behind it. `hidden`: the kernel showed nobody
 * its fork. */
static void birth(bool hidden)
{
	const uint64_t forked = BEGIN + 5 * SECOND, ready = forked + 1000;
	const struct clew_life fork = {
		.header = {.time = forked, .kind = CLEW_KIND_FORK}, .task = 1, .other = 4};
	struct clew_windows_taker taker = {.add = NULL};
	struct clew_writer *writer;
	struct clew_trace *names;
	char path[64], number[24];

	temporary_path(path);
	writer = open_writer(path, 1, true);
	snprintf(number, sizeof(number), "%llu", BEGIN + LENGTH);
	assert_int_equal(clew_writer_meta(writer, "end", number), 0);
	put_task(writer, 1, 0);
	put_task(writer, 4, forked);
	if (!hidden)
		assert_int_equal(clew_writer_put(writer, 0, &fork, sizeof(fork)), 0);
	for (uint64_t at = forked + 5000; at < BEGIN + LENGTH; at += SECOND) {
		const bool first = at == forked + 5000;
		const struct clew_switch in = {
			.header = {.time = at,
				   .kind = CLEW_KIND_SWITCH,
				   .flags = first ? CLEW_SWITCH_NEXT_NEW : CLEW_SWITCH_NEXT_SLEPT},
			.next = 4,
			.waker = first ? 1 : 0,
			.wake_time = first ? ready : at - 1000,
			.wake_context = first ? CLEW_WAKE_TASK : CLEW_WAKE_TIMER,
		};
		const struct clew_switch out = {.header = {.time = at + RUNNING,
							   .kind = CLEW_KIND_SWITCH,
							   .flags = CLEW_SWITCH_SLEEP},
						.prev = 4,
						.prev_state = 1};

		assert_int_equal(clew_writer_put(writer, 0, &in, sizeof(in)), 0);
		assert_int_equal(clew_writer_put(writer, 0, &out, sizeof(out)), 0);
	}
	assert_int_equal(clew_writer_close(writer), 0);
	for (uint64_t to = forked + SECOND; to <= BEGIN + LENGTH; to += 11 * SECOND) {
		struct clew_trace *part = load(path, forked - SECOND, to);

		/* Until it is ready its creator sets it up. */
		assert_int_equal(clew_trace_task(part, 4)->birth, ready);
		clew_trace_free(part);
	}
	assert_int_equal(run_windows(path, &taker, 10, 1, &names), 0);
	assert_int_equal(clew_trace_task(names, 4)->birth, ready);
	clew_trace_free(names);
	unlink(path);
}

static void test_birth(void **state)
{
	(void)state;
	birth(false);
	birth(true);
}

/* When reading ends if one thread is asked for. Its sleeps in the part are as in the whole. */
static uint64_t end_for(const struct clew_trace *whole, const char *path, uint32_t thread,
			uint64_t from, uint64_t to)
{
	const struct clew_trace_options options = {
		.size = sizeof(options), .from = from, .to = to, .thread = thread};
	struct clew_trace *part;
	char message[200];
	uint64_t end;
	size_t whole_count, part_count, at = 0;
	const struct clew_sleep *all = clew_trace_sleeps(whole, &whole_count), *kept;

	assert_int_equal(clew_trace_load(path, &options, &part, message, sizeof(message)), 0);
	end = clew_trace_end(part);
	assert_true(clew_trace_is_cut(part));
	assert_true(clew_trace_is_cut_early(part) == (end < to + 10 * SECOND));
	kept = clew_trace_sleeps(part, &part_count);
	for (size_t i = 0; i < whole_count; i++) {
		struct clew_sleep known = known_at(&all[i], end);

		if (100 + all[i].task != thread || !in_part(&all[i], from, to))
			continue;
		while (at < part_count &&
		       (kept[at].task != all[i].task || !in_part(&kept[at], from, to)))
			at++;
		assert_true(at < part_count);
		expect_same(&kept[at++], &known);
	}
	clew_trace_free(part);
	return end;
}

/* If one thread is asked for, reading ends a second after its last wait in the part. */
static void test_thread(void **state)
{
	struct clew_trace *whole;
	uint64_t from = BEGIN + 5 * SECOND, to = BEGIN + 6 * SECOND;
	char path[64];

	(void)state;
	write_capture(path);
	whole = load(path, 0, 0);
	assert_in_range(end_for(whole, path, 101, from, to), to + SECOND, to + 13 * SECOND / 10);
	/* Its first wait goes on for nine seconds. */
	assert_in_range(end_for(whole, path, 102, from, to), BEGIN + LONG + SECOND,
			BEGIN + LONG + 13 * SECOND / 10);
	/* Its wait does not end, and nobody has that tid. */
	assert_int_equal(end_for(whole, path, 103, from, to), to + 10 * SECOND);
	assert_int_equal(end_for(whole, path, 104, from, to), to + 10 * SECOND);
	clew_trace_free(whole);
	unlink(path);
}

/* ---- windows ---- */

struct found {
	size_t count;
	size_t most; /* sleeps of the trace */
	struct clew_sleep *sleeps;
};

/* The sleeps that end in a window. Each has the run before it, even if that was long before. */
static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	struct found *found = shared_take(out, sizeof(*found));
	const struct clew_sleep *sleeps;

	(void)context;
	out->root = found;
	sleeps = clew_trace_sleeps(trace, &found->most);
	found->sleeps = shared_take(out, found->most * sizeof(*sleeps));
	if (!found->sleeps)
		return -ENOMEM;
	for (size_t i = 0; i < found->most; i++) {
		struct clew_piece piece;

		if (!clew_window_counts(window, sleeps[i].end))
			continue;
		if (sleeps[i].start > BEGIN &&
		    (!clew_trace_piece(trace, sleeps[i].task, sleeps[i].start, true, &piece) ||
		     piece.kind != CLEW_PIECE_RUNNING))
			return -EBADMSG;
		found->sleeps[found->count++] = sleeps[i];
	}
	return 0;
}

struct all {
	struct clew_sleep sleeps[20000];
	size_t count;
	size_t windows;
	size_t most;
};

static int add(void *context, const struct shared *shared)
{
	const struct found *found = shared->root;
	struct all *all = context;

	memcpy(all->sleeps + all->count, found->sleeps, found->count * sizeof(*found->sleeps));
	all->count += found->count;
	all->windows++;
	all->most = found->most > all->most ? found->most : all->most;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct clew_sleep *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static void test_windows(void **state)
{
	static struct all all;
	struct clew_trace *whole, *names;
	const struct clew_sleep *sleeps;
	size_t count, kept;
	char path[64];

	(void)state;
	write_capture(path);
	whole = load(path, 0, 0);
	sleeps = clew_trace_sleeps(whole, &count);
	for (unsigned processes = 0; processes <= 3; processes++) {
		struct clew_windows_taker taker = {.look = look, .add = add, .context = &all};

		all = (struct all){};
		assert_int_equal(run_windows(path, &taker, 800, processes, &names), 0);
		assert_in_range(all.windows, 12, 20);
		assert_in_range(all.most, 400, 1000);
		assert_int_equal(all.count, count);
		qsort(all.sleeps, count, sizeof(*all.sleeps), by_start);
		for (size_t i = 0; i < count; i++)
			expect_same(&all.sleeps[i], &sleeps[i]);
		assert_int_equal(clew_trace_task_count(names), clew_trace_task_count(whole));
		assert_null(clew_trace_sleeps(names, &kept));
		clew_trace_free(names);
	}
	clew_trace_free(whole);
	unlink(path);
}

static int look_fails(void *context, const struct clew_trace *trace,
		      const struct clew_trace_window *window, struct shared *out)
{
	(void)trace;
	(void)out;
	if (window->from == 0)
		return 0;
	if (*(const int *)context)
		raise(SIGKILL);
	return -ENOSPC;
}

static int add_nothing(void *context, const struct shared *shared)
{
	(void)context;
	(void)shared;
	return 0;
}

static void test_windows_fail(void **state)
{
	struct clew_trace *names;
	int killed = 0;
	struct clew_windows_taker taker = {
		.look = look_fails, .add = add_nothing, .context = &killed};
	char path[64];

	(void)state;
	write_capture(path);
	assert_int_equal(run_windows(path, &taker, 800, 2, &names), -ENOSPC);
	killed = 1;
	assert_int_equal(run_windows(path, &taker, 800, 2, &names), -ECHILD);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	unlink(path);
}

/* ---- sums ---- */

static bool wants_all(void *context, const struct clew_trace *trace,
		      const struct clew_trace_task *task, uint64_t at)
{
	(void)context;
	(void)trace;
	(void)task;
	(void)at;
	return true;
}

static void write_times(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	(void)trace;
	fprintf(out, "%llu %u", (unsigned long long)sleep->start, sleep->task);
}

/* Each wait of a list in windows is that of the list in one piece, and was written. */
static void expect_same_list(const struct clew_waits *windows, const struct clew_waits *whole)
{
	assert_int_equal(windows->list.count, whole->list.count);
	for (size_t i = 0; i < whole->list.count; i++) {
		const struct clew_listed_wait *a = clew_waits_at(windows, i),
					      *b = clew_waits_at(whole, i);
		char text[64];

		assert_int_equal(a->start, b->start);
		assert_int_equal(a->ns, b->ns);
		assert_int_equal(a->task, b->task);
		snprintf(text, sizeof(text), "%llu %u", (unsigned long long)b->sleep->start,
			 b->sleep->task);
		assert_null(a->sleep);
		assert_string_equal(a->text, text);
	}
}

static void expect_same_sums(struct clew_waits *windows, struct clew_waits *whole,
			     const struct clew_trace *names, const struct clew_trace *trace)
{
	enum clew_sum_by by = whole->asked->by;
	struct clew_sum *a, *b;

	assert_int_equal(clew_wait_groups_finish(&windows->groups, by, names, &a), 0);
	assert_int_equal(clew_wait_groups_finish(&whole->groups, by, trace, &b), 0);
	assert_int_equal(windows->groups.count, whole->groups.count);
	for (size_t i = 0; i < whole->groups.count; i++)
		assert_memory_equal(&a[i], &b[i], sizeof(*a));
	free(a);
	free(b);
}

/* A list of waits and their sums are the same in windows as in one piece. */
static void compare_waits(const char *path, struct clew_trace *trace, enum clew_sum_by by,
			  bool by_length)
{
	const struct clew_waits_asked asked = {.wants = wants_all,
					       .from = clew_trace_start(trace),
					       .to = UINT64_MAX,
					       .idle = true,
					       .by = by,
					       .by_length = by_length,
					       .write = write_times};
	struct clew_waits whole, windows;
	struct clew_windows_taker taker;
	struct clew_trace *names;

	clew_waits_begin(&whole, &asked);
	taker = clew_waits_taker(&whole);
	assert_int_equal(clew_windows_alone(trace, &taker), 0);
	clew_waits_begin(&windows, &asked);
	taker = clew_waits_taker(&windows);
	assert_int_equal(run_windows(path, &taker, 800, 2, &names), 0);
	assert_true(whole.counts.wanted > 5000);
	assert_memory_equal(&windows.counts, &whole.counts, sizeof(whole.counts));
	if (by != CLEW_SUM_BY_NONE) {
		expect_same_sums(&windows, &whole, names, trace);
	} else {
		assert_int_equal(clew_waits_finish(&whole), 0);
		assert_int_equal(clew_waits_finish(&windows), 0);
		expect_same_list(&windows, &whole);
	}
	clew_waits_done(&whole);
	clew_waits_done(&windows);
	clew_trace_free(names);
}

static void test_waits(void **state)
{
	struct clew_trace *trace;
	char path[64];

	(void)state;
	write_capture(path);
	trace = load(path, 0, 0);
	compare_waits(path, trace, CLEW_SUM_BY_NONE, false);
	compare_waits(path, trace, CLEW_SUM_BY_NONE, true);
	compare_waits(path, trace, CLEW_SUM_BY_CALL, false);
	compare_waits(path, trace, CLEW_SUM_BY_TASK, false);
	clew_trace_free(trace);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_in_whole), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_birth),	    cmocka_unit_test(test_thread),
		cmocka_unit_test(test_windows),	    cmocka_unit_test(test_windows_fail),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
