/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures that lack rows, as traces: what is not known of the time that is missing
 * is not told as if it were.
 */
#include "store_records.h"

#include "trace/trace.h"
#include <sys/syscall.h>

#include "store/chunk.h"

#define PERIOD 1000000u /* ns: a task sleeps for nearly that, a thousand times */
#define TIMES  1000u
#define BEGIN  10000000u

/* Task 1 sleeps on CPU 0, task 2 on CPU 1; each hundred times are a chunk. */
static void put_sleeps(struct clew_writer *writer, unsigned cpu, uint32_t task, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		struct {
			struct clew_switch record;
			struct clew_wait wait;
		} out = {
			.record = {.header = {.time = BEGIN + (uint64_t)i * PERIOD,
					      .kind = CLEW_KIND_SWITCH,
					      .flags = CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT},
				   .prev = task,
				   .prev_state = 1},
			.wait = {.call = SYS_clock_nanosleep, .descriptor = -1},
		};
		struct clew_switch in = {
			.header = {.time = out.record.header.time + PERIOD - 10000,
				   .kind = CLEW_KIND_SWITCH,
				   .flags = CLEW_SWITCH_NEXT_SLEPT},
			.next = task,
			.wake_time = out.record.header.time + PERIOD - 20000,
			.wake_context = CLEW_WAKE_TIMER,
		};

		assert_int_equal(clew_writer_put(writer, cpu, &out, sizeof(out)), 0);
		assert_int_equal(clew_writer_put(writer, cpu, &in, sizeof(in)), 0);
		if (i % 100 == 99)
			assert_int_equal(clew_writer_flush(writer, cpu, 1, 0), 0);
	}
}

static struct clew_writer *write_sleeps(const char *path, unsigned first, unsigned second)
{
	struct clew_writer *writer = open_writer(path, 2, true);

	assert_int_equal(clew_writer_meta(writer, "start", "9000000"), 0);
	put_sleeps(writer, 0, 1, first);
	put_sleeps(writer, 1, 2, second);
	return writer;
}

/* Where a chunk of CPU 0 is. */
static uint8_t *chunk_of(uint8_t *bytes, size_t size, unsigned nth)
{
	static const uint32_t magic = STORE_CHUNK_MAGIC;
	struct store_chunk_header header;

	for (uint8_t *at = bytes; (at = memmem(at, bytes + size - at, &magic, sizeof(magic)));
	     at++) {
		memcpy(&header, at, sizeof(header));
		if (header.kind == STORE_CHUNK_RECORDS && header.stream == 0 && nth-- == 0)
			return at;
	}
	fail_msg("no such chunk");
	return NULL;
}

/* Nothing that is longer than a sleep ever was is told as sure, nor running beyond `known`; returns
 * how many sleeps are blind. */
static size_t expect_no_invention(const char *path, uint64_t known)
{
	struct clew_trace *trace;
	struct clew_run run;
	char message[200];
	size_t count, blind = 0;
	const struct clew_sleep *sleeps;
	const struct clew_gap *gap;

	assert_int_equal(clew_trace_load(path, NULL, &trace, message, sizeof(message)), 0);
	sleeps = clew_trace_sleeps(trace, &count);
	for (size_t i = 0; i < count; i++) {
		blind += sleeps[i].blind;
		if (!sleeps[i].blind)
			assert_in_range(sleeps[i].end, sleeps[i].start, sleeps[i].start + PERIOD);
		if (sleeps[i].edge_type >= 0)
			assert_int_equal(sleeps[i].blind, false);
	}
	assert_true(clew_trace_running(trace, 0, known - 1, &run));
	assert_false(clew_trace_running(trace, 0, known, &run));
	assert_true(clew_trace_gaps(trace, known, known + 1, &gap) >= 1);
	assert_int_equal(gap->header.cpu, 0);
	assert_int_equal(clew_trace_gaps(trace, 0, BEGIN + 50 * PERIOD, NULL), 0);
	clew_trace_free(trace);
	return blind;
}

/* The time of CPU 0's last row before a number of its sleeps. */
static uint64_t end_of(unsigned sleeps)
{
	return BEGIN + (uint64_t)sleeps * PERIOD - 10000;
}

static void test_damaged_chunk(void **state)
{
	static const unsigned chunks[] = {3, 9};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		struct clew_writer *writer;
		uint8_t *bytes;
		size_t size;

		temporary_path(path);
		writer = write_sleeps(path, TIMES, TIMES);
		assert_int_equal(clew_writer_meta(writer, "end", "1020000000"), 0);
		assert_int_equal(clew_writer_close(writer), 0);
		size = read_file(path, &bytes);
		chunk_of(bytes, size, chunks[i])[sizeof(struct store_chunk_header) + 20] ^= 1;
		write_file(path, bytes, size);
		/* The runs of the other CPU in that time, as they may have been on this one. */
		assert_in_range(expect_no_invention(path, end_of(chunks[i] * 100)), 99, 102);
		free(bytes);
		unlink(path);
	}
}

/* One CPU's rows end before the other's. */
static void test_killed(void **state)
{
	struct clew_writer *writer;
	uint8_t *bytes;
	char path[64];
	size_t size;

	(void)state;
	temporary_path(path);
	writer = write_sleeps(path, TIMES - 200, TIMES);
	assert_int_equal(clew_writer_close(writer), 0);
	size = read_file(path, &bytes);
	/* Without its index, as a kill leaves it. */
	write_file(path, bytes, size - sizeof(struct store_trailer) - 100);
	assert_in_range(expect_no_invention(path, end_of(TIMES - 200)), 199, 203);
	free(bytes);
	unlink(path);
}

/* So large that another thread touches the memory ahead, while it grows and moves. */
static void test_large(void **state)
{
	const unsigned times = 20 * TIMES;
	struct clew_writer *writer;
	struct clew_trace *trace;
	const struct clew_sleep *sleeps;
	char path[64], message[200];
	size_t count, runs;

	(void)state;
	temporary_path(path);
	writer = write_sleeps(path, times, times);
	assert_int_equal(clew_writer_close(writer), 0);
	assert_int_equal(clew_trace_load(path, NULL, &trace, message, sizeof(message)), 0);
	sleeps = clew_trace_sleeps(trace, &count);
	assert_int_equal(count, 2 * times);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(sleeps[i].start, BEGIN + i / 2 * PERIOD);
		assert_int_equal(sleeps[i].switch_in, sleeps[i].start + PERIOD - 10000);
	}
	clew_trace_runs(trace, &runs);
	assert_true(runs >= count);
	clew_trace_free(trace);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged_chunk),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests_name("trace_load", tests, NULL, NULL);
}
