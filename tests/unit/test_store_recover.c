/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Capture files that were not ended, or were damaged: what is whole is read,
 * each row once, and the rest is said; what is no capture is refused in words.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "store_records.h"

#include "store/chunk.h"

static const _Atomic bool busy = true; /* for quick chunks */

/* EXIT records whose `value` counts up: easy to see what is missing. */
static void put_numbered(struct clew_writer *writer, unsigned stream, uint64_t number)
{
	struct clew_life life = {.header = {.time = 1000000 + number * 100, .kind = CLEW_KIND_EXIT},
				 .task = number * 7919,
				 .value = number};

	if (clew_writer_put(writer, stream, &life, sizeof(life)) < 0)
		_exit(1);
}

/* Reads numbered records of CPUs 0 and 1; counts what comes of each, which has to come in order and
 * once. */
static void expect_numbered(struct clew_reader *reader, uint64_t counts[2], uint64_t next[2])
{
	const struct clew_header *record;
	int r;

	memset(counts, 0, 2 * sizeof(*counts));
	memset(next, 0, 2 * sizeof(*next));
	while ((r = next_stored(reader, &record)) == 1) {
		const struct clew_life *life = (const struct clew_life *)record;

		assert_int_equal(record->kind, CLEW_KIND_EXIT);
		assert_in_range(record->cpu, 0, 1);
		assert_true(life->value >= next[record->cpu]);
		assert_int_equal(life->task, (uint32_t)(life->value * 7919));
		counts[record->cpu]++;
		next[record->cpu] = life->value + 1;
	}
	assert_int_equal(r, 0);
}

static uint64_t *shared_counters(void)
{
	uint64_t *counters =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(counters != MAP_FAILED);
	return counters;
}

/* A child records until it is killed; `flushed` says what it flushed well before. */
static void record_until_killed(const char *path, bool sync, bool quick, unsigned run_ms,
				uint64_t *flushed, size_t per_flush)
{
	pid_t child = fork();
	struct stat file;
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct clew_writer_options options = {.size = sizeof(options),
						      .sync = sync,
						      .cpus = 2,
						      .quick = quick ? 1 << 20 : 0,
						      .quick_busy = quick ? &busy : NULL};
		struct clew_writer *writer;
		uint64_t number = 0;

		if (clew_writer_open(path, &options, &writer) < 0)
			_exit(1);
		for (;;) {
			for (size_t i = 0; i < per_flush; i++, number++) {
				put_numbered(writer, 0, number);
				if (number % 2 == 0)
					put_numbered(writer, 1, number / 2);
			}
			clew_writer_flush(writer, 0, UINT64_MAX >> 1, number % 3 ? 0 : 1);
			clew_writer_flush(writer, 1, 2, 0);
			flushed[1] = flushed[0];
			flushed[0] = number;
			usleep(2000);
		}
	}
	/* The encoding thread gives way to all others: on a busy machine the first chunk takes a
	 * while. */
	for (unsigned i = 0; i < 5000 && (stat(path, &file) < 0 || file.st_size < 16384); i++)
		usleep(1000);
	usleep(run_ms * 1000);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

/* Finds a file's whole SCHEMA chunks. */
static size_t find_schemas(const uint8_t *bytes, size_t size, size_t *ret_offsets, size_t most)
{
	struct store_chunk_header header;
	size_t count = 0;

	for (size_t at = sizeof(struct store_file_header); at + sizeof(header) <= size;) {
		memcpy(&header, bytes + at, sizeof(header));
		if (header.magic != STORE_CHUNK_MAGIC || header.size > size - at - sizeof(header) ||
		    store_checksum(&header, bytes + at + sizeof(header)) != header.checksum) {
			at++;
			continue;
		}
		if (header.kind == STORE_CHUNK_SCHEMA && count < most)
			ret_offsets[count++] = at;
		at += sizeof(header) + header.size;
	}
	return count;
}

/* Whichever schema is damaged, another one serves, and the damage is told. */
static void expect_without_schema(const char *path, const uint64_t wanted[2])
{
	size_t offsets[8], size, count;
	uint8_t *bytes;

	size = read_file(path, &bytes);
	count = find_schemas(bytes, size, offsets, 8);
	assert_true(count >= 2);
	for (size_t i = 0; i < count; i++) {
		uint64_t counts[2], next[2];
		struct clew_reader *reader;

		bytes[offsets[i] + 100] ^= 1;
		write_file(path, bytes, size);
		bytes[offsets[i] + 100] ^= 1;
		reader = open_reader(path);
		/* An unreadable piece at the very end of a killed recording was being written. */
		assert_true(clew_reader_info(reader)->damaged_chunks >= 1 || i + 1 == count);
		expect_numbered(reader, counts, next);
		assert_int_equal(counts[0], wanted[0]);
		assert_int_equal(counts[1], wanted[1]);
		clew_reader_close(reader);
	}
	free(bytes);
}

static void kills(bool sync, bool quick, unsigned times, size_t per_flush)
{
	uint64_t *flushed = shared_counters();

	for (unsigned i = 0; i < times; i++) {
		uint64_t counts[2], next[2];
		struct clew_reader *reader;
		char path[64];

		temporary_path(path);
		flushed[0] = flushed[1] = 0;
		record_until_killed(path, sync, quick, 450 + 37 * i, flushed, per_flush);
		reader = open_reader(path);
		assert_false(clew_reader_info(reader)->complete);
		expect_numbered(reader, counts, next);
		/* Nothing is missing in the middle, and not much at the end. */
		assert_int_equal(counts[0], next[0]);
		assert_int_equal(counts[1], next[1]);
		assert_int_equal(clew_reader_info(reader)->counts[CLEW_KIND_EXIT],
				 counts[0] + counts[1]);
		assert_true(counts[0] > 0);
		clew_reader_close(reader);
		expect_without_schema(path, counts);
		unlink(path);
	}
	munmap(flushed, 4096);
}

static void test_killed(void **state)
{
	(void)state;
	kills(false, false, 8, 40);
}

/* Enough of it that chunks become final and take the place of others. */
static void test_killed_while_replacing(void **state)
{
	(void)state;
	kills(false, false, 6, 1500);
}

/* Quick chunks, too, and so many that there are columns from some time on. */
static void test_killed_quick(void **state)
{
	(void)state;
	kills(false, true, 3, 40);
	kills(false, true, 6, 1500);
}

#define LATE_ROWS  400000
#define LATE_FULL  (LATE_ROWS / STORE_CHUNK_ROWS * STORE_CHUNK_ROWS) /* rows of full chunks */
#define LATE_BYTES 14 /* of a row in a quick chunk: its kind, a mask, three words */

/* A child's file has quick chunks only until it is closed, which `closing` says. */
static pid_t close_late(const char *path, uint64_t *closing)
{
	struct clew_writer_options options = {
		.size = sizeof(options), .cpus = 2, .quick = 64 << 20, .quick_busy = &busy};
	struct clew_writer *writer;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	if (clew_writer_open(path, &options, &writer) < 0)
		_exit(1);
	for (uint64_t number = 0; number < LATE_ROWS; number++)
		put_numbered(writer, 0, number);
	while (clew_writer_bytes(writer) < LATE_BYTES * LATE_FULL)
		usleep(1000);
	*closing = 1;
	_exit(clew_writer_close(writer) < 0);
}

/* Returns how long it took to close the file, unless it was killed so many us after it began to. */
static unsigned kill_late(const char *path, unsigned after)
{
	uint64_t *closing = shared_counters();
	struct timespec begin, end;
	pid_t child = close_late(path, closing);
	int status;

	while (!*(volatile uint64_t *)closing)
		usleep(100);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (after) {
		usleep(after);
		kill(child, SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	munmap(closing, 4096);
	return (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000;
}

/* While rows of quick chunks become columns and these are moved to where the rows were. */
static void test_killed_late(void **state)
{
	const unsigned times = 24;
	unsigned length, killed = 0;
	uint64_t counts[2], next[2];
	struct clew_reader *reader;
	char path[64];

	(void)state;
	temporary_path(path);
	length = kill_late(path, 0);
	for (unsigned i = 1; i <= times; i++) {
		kill_late(path, length * i / times);
		reader = open_reader(path);
		killed += !clew_reader_info(reader)->complete;
		expect_numbered(reader, counts, next);
		assert_int_equal(counts[0], next[0]);
		assert_in_range(counts[0], LATE_FULL, LATE_ROWS);
		assert_int_equal(clew_reader_info(reader)->counts[CLEW_KIND_EXIT], counts[0]);
		clew_reader_close(reader);
	}
	assert_true(killed > times / 4);
	unlink(path);
}

static void test_killed_sync(void **state)
{
	(void)state;
	kills(true, false, 3, 40);
}

/* With sync, what is in the file is never written again. */
static void test_sync_appends_only(void **state)
{
	struct clew_writer *writer;
	uint8_t *before = NULL, *after;
	size_t before_size = 0, after_size;
	char path[64];

	(void)state;
	temporary_path(path);
	writer = open_writer(path, 2, true);
	for (uint64_t number = 0; number < 20; number++) {
		put_numbered(writer, 0, number);
		clew_writer_flush(writer, 0, 1, 0);
		usleep(5000);
		after_size = read_file(path, &after);
		assert_true(after_size >= before_size);
		assert_memory_equal(after, before ? before : after, before_size);
		free(before);
		before = after;
		before_size = after_size;
	}
	assert_int_equal(clew_writer_close(writer), 0);
	free(before);
	unlink(path);
}

static void make_numbered(const char *path, uint64_t count, uint64_t per_chunk)
{
	struct clew_writer *writer = open_writer(path, 2, true);

	for (uint64_t number = 0; number < count; number++) {
		put_numbered(writer, number % 2, number / 2);
		if (number % per_chunk == per_chunk - 1)
			assert_int_equal(clew_writer_flush(writer, number / per_chunk % 2, 1, 0),
					 0);
	}
	assert_int_equal(clew_writer_close(writer), 0);
}

/* Cut anywhere, a capture opens up to its last whole chunk, or is refused. */
static void test_truncated(void **state)
{
	uint64_t last = 0;
	uint8_t *bytes;
	char path[64];
	size_t size;

	(void)state;
	temporary_path(path);
	make_numbered(path, 2000, 100);
	size = read_file(path, &bytes);
	for (size_t cut = 0; cut < size; cut += cut < 6000 ? 7 : 997) {
		struct clew_reader *reader = NULL;
		char message[200] = "";
		uint64_t counts[2], next[2];
		int r;

		write_file(path, bytes, cut);
		r = clew_reader_open(path, &reader, message, sizeof(message));
		if (r < 0) {
			assert_true(r == -EINVAL || r == -ENODATA);
			assert_true(strlen(message) > 10 && !strchr(message, '\n'));
			assert_int_equal(last, 0);
			continue;
		}
		assert_false(clew_reader_info(reader)->complete);
		expect_numbered(reader, counts, next);
		assert_int_equal(counts[0], next[0]);
		assert_true(counts[0] + counts[1] >= last);
		last = counts[0] + counts[1];
		clew_reader_close(reader);
	}
	assert_true(last > 1500);
	unlink(path);
	free(bytes);
}

/* One flipped bit costs its chunk at most, and is counted. */
static void test_flipped(void **state)
{
	struct random random = {.state = 5};
	uint8_t *bytes;
	char path[64];
	size_t size;

	(void)state;
	temporary_path(path);
	make_numbered(path, 2000, 100);
	size = read_file(path, &bytes);
	for (unsigned i = 0; i < 300; i++) {
		size_t at = random_below(&random, size);
		struct clew_reader *reader = NULL;
		char message[200] = "";
		uint64_t counts[2], next[2];
		int r;

		bytes[at] ^= 1 << (i % 8);
		write_file(path, bytes, size);
		bytes[at] ^= 1 << (i % 8);
		r = clew_reader_open(path, &reader, message, sizeof(message));
		if (r < 0) {
			/* The file's header or its schema, or the padding behind it. */
			assert_true(at < 4096);
			assert_int_equal(r, -EINVAL);
			continue;
		}
		expect_numbered(reader, counts, next);
		assert_in_range(counts[0] + counts[1], 1700, 2000);
		if (counts[0] + counts[1] < 2000)
			assert_true(clew_reader_info(reader)->damaged_chunks > 0);
		clew_reader_close(reader);
	}
	unlink(path);
	free(bytes);
}

/* The nth chunk of a stream's records that the file holds. */
static uint8_t *find_records(uint8_t *bytes, size_t size, unsigned stream, unsigned nth)
{
	static const uint32_t magic = STORE_CHUNK_MAGIC;
	struct store_chunk_header header;

	for (uint8_t *at = bytes; (at = memmem(at, bytes + size - at, &magic, sizeof(magic)));
	     at++) {
		memcpy(&header, at, sizeof(header));
		if (header.kind == STORE_CHUNK_RECORDS && header.stream == stream && nth-- == 0)
			return at;
	}
	fail_msg("no such chunk");
	return NULL;
}

/* Flips a bit in that chunk. */
static void damage(uint8_t *bytes, size_t size, unsigned stream, unsigned nth)
{
	struct store_chunk_header header;
	uint8_t *at = find_records(bytes, size, stream, nth);

	memcpy(&header, at, sizeof(header));
	at[sizeof(header) + header.size / 2] ^= 4;
}

/* Reads all; returns the reader's own gaps, which have to be the same in a second pass and in its
 * info. */
static size_t own_gaps(struct clew_reader *reader, struct clew_gap gaps[8])
{
	const struct clew_capture_info *info = clew_reader_info(reader);
	const struct clew_header *record;
	size_t count = 0, told = 0;
	uint64_t time = 0;

	for (unsigned pass = 0; pass < 2; pass++) {
		size_t again = 0;

		while (clew_reader_next(reader, &record) == 1) {
			assert_true(record->time >= time);
			time = record->time;
			if (record->kind != CLEW_KIND_GAP)
				continue;
			assert_int_equal(record->flags, CLEW_GAP_IN_FILE);
			assert_true(again < 8);
			if (pass)
				assert_memory_equal(&gaps[again], record, sizeof(gaps[0]));
			else
				memcpy(&gaps[count++], record, sizeof(gaps[0]));
			again++;
		}
		assert_int_equal(again, count);
		for (size_t i = told = 0; i < info->gap_count; i++)
			told += info->gaps[i].header.flags == CLEW_GAP_IN_FILE;
		assert_int_equal(told, count);
		if (!pass)
			assert_int_equal(clew_reader_rewind(reader), 0);
		time = 0;
	}
	/* Without reading the records, too. */
	assert_int_equal(clew_reader_check(reader), 0);
	assert_int_equal(info->gap_count, told);
	for (size_t i = 0; i < count; i++)
		assert_memory_equal(&gaps[i], &info->gaps[i], sizeof(gaps[0]));
	return count;
}

static void expect_gap(const struct clew_gap *gap, unsigned cpu, uint64_t from, uint64_t to,
		       uint64_t count)
{
	assert_int_equal(gap->header.cpu, cpu);
	assert_int_equal(gap->from, from);
	assert_int_equal(gap->header.time, to);
	assert_int_equal(gap->count, count);
}

static uint64_t time_of(uint64_t number)
{
	return 1000000 + number * 100;
}

#define CHUNKED_END 5000000

/* CPU 0: 500 rows in chunks of 100; CPU 1: 500 rows in one chunk; one row of user space at the
 * times of numbers 10, 250 and 490, a chunk each. */
static struct clew_writer *write_chunked(const char *path)
{
	struct clew_writer *writer = open_writer(path, 4, true);

	assert_int_equal(clew_writer_meta(writer, "start", "900000"), 0);
	for (uint64_t number = 0; number < 500; number++) {
		put_numbered(writer, 0, number);
		put_numbered(writer, 1, number);
		if (number % 100 == 99)
			assert_int_equal(clew_writer_flush(writer, 0, 1, 0), 0);
		if (number % 240 == 10) {
			put_numbered(writer, CLEW_STREAM_USER, number);
			assert_int_equal(clew_writer_flush(writer, CLEW_STREAM_USER, 1, 0), 0);
		}
	}
	assert_int_equal(clew_writer_flush(writer, 1, 1, 0), 0);
	return writer;
}

/* A file that was ended says how many rows are missing, and between which times. */
static void test_missing(void **state)
{
	static const struct {
		unsigned stream, chunk;
		uint64_t from, to, count;
	} cases[] = {
		{0, 0, 900000, 1010000, 100},
		{0, 2, 1019900, 1030000, 100},
		{0, 4, 1039900, CHUNKED_END, 100},
		{1, 0, 900000, CHUNKED_END, 500},
		{CLEW_STREAM_USER, 0, 1001000, 1001000, 1},
		{CLEW_STREAM_USER, 1, 1025000, 1025000, 1},
		{CLEW_STREAM_USER, 2, 1049000, 1049000, 1},
	};
	struct clew_writer *writer;
	struct clew_reader *reader;
	struct clew_gap gaps[8];
	uint8_t *bytes;
	char path[64];
	size_t size;

	(void)state;
	temporary_path(path);
	writer = write_chunked(path);
	assert_int_equal(clew_writer_meta(writer, "end", "5000000"), 0);
	assert_int_equal(clew_writer_close(writer), 0);
	size = read_file(path, &bytes);
	reader = open_reader(path);
	assert_true(clew_reader_info(reader)->complete);
	assert_int_equal(own_gaps(reader, gaps), 0);
	clew_reader_close(reader);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *damaged = malloc(size);

		memcpy(damaged, bytes, size);
		damage(damaged, size, cases[i].stream, cases[i].chunk);
		write_file(path, damaged, size);
		free(damaged);
		reader = open_reader(path);
		assert_int_equal(own_gaps(reader, gaps), 1);
		assert_int_equal(clew_reader_info(reader)->damaged_chunks, 1);
		expect_gap(&gaps[0], cases[i].stream, cases[i].from, cases[i].to, cases[i].count);
		clew_reader_close(reader);
	}
	/* Two in a row are one gap. */
	damage(bytes, size, 0, 2);
	damage(bytes, size, 0, 1);
	write_file(path, bytes, size);
	reader = open_reader(path);
	assert_int_equal(own_gaps(reader, gaps), 1);
	expect_gap(&gaps[0], 0, time_of(99), time_of(300), 200);
	clew_reader_close(reader);
	unlink(path);
	free(bytes);
}

/* The rest of a killed recording need not be all that its streams had. */
static void test_missing_at_end(void **state)
{
	const uint64_t late = 30000000; /* number: 3 s after the others */
	struct clew_writer *writer;
	struct clew_reader *reader;
	struct clew_gap gaps[8];
	uint8_t *bytes;
	char path[64], killed[64];
	size_t size;

	(void)state;
	temporary_path(path);
	temporary_path(killed);
	writer = write_chunked(path);
	assert_int_equal(clew_writer_meta(writer, "cpus", "4"), 0);
	assert_int_equal(
		clew_writer_meta(writer, "topology", "0 0 0 0\n1 0 0 1\n2 0 0 2\n3 -1 -1 -1\n"), 0);
	put_numbered(writer, 1, late - 10000);
	put_numbered(writer, 2, late);
	assert_int_equal(clew_writer_flush(writer, 1, 1, 0), 0);
	assert_int_equal(clew_writer_flush(writer, 2, 1, 0), 0);
	/* One thread encodes, another one writes. */
	for (unsigned wait = 0; wait < 2000; wait++) {
		size = read_file(path, &bytes);
		write_file(killed, bytes, size);
		reader = NULL;
		if (clew_reader_open(killed, &reader, (char[200]){0}, 200) == 0 &&
		    clew_reader_info(reader)->counts[CLEW_KIND_EXIT] == 1005)
			break;
		clew_reader_close(reader);
		reader = NULL;
		free(bytes);
		usleep(5000);
	}
	assert_non_null(reader);
	assert_int_equal(clew_writer_close(writer), 0);
	assert_false(clew_reader_info(reader)->complete);
	assert_int_equal(own_gaps(reader, gaps), 3);
	/* An idle CPU's silence is believed until shortly before the end. */
	expect_gap(&gaps[0], 0, time_of(late) - 2000000000, time_of(late), CLEW_GAP_UNCOUNTED);
	expect_gap(&gaps[1], 1, time_of(late - 10000), time_of(late), CLEW_GAP_UNCOUNTED);
	expect_gap(&gaps[2], 2, time_of(late), time_of(late), CLEW_GAP_UNCOUNTED);
	clew_reader_close(reader);

	/* But not where more is missing than a kill leaves out; and a CPU may have lost all. */
	damage(bytes, size, 2, 0);
	write_file(path, bytes, size);
	reader = open_reader(path);
	assert_int_equal(own_gaps(reader, gaps), 3);
	expect_gap(&gaps[0], CLEW_STREAM_USER, 900000, time_of(late - 10000), CLEW_GAP_UNCOUNTED);
	expect_gap(&gaps[1], 0, time_of(499), time_of(late - 10000), CLEW_GAP_UNCOUNTED);
	expect_gap(&gaps[2], 1, time_of(late - 10000), time_of(late - 10000), CLEW_GAP_UNCOUNTED);
	clew_reader_close(reader);
	unlink(killed);
	unlink(path);
	free(bytes);
}

/* An ended file that lacks a chunk says nothing of it where that was, but its index does not fit:
 * anything may be missing. */
static void test_taken_out(void **state)
{
	const uint64_t late = 30000000; /* number: 3 s after the others */
	struct store_chunk_header header;
	struct clew_writer *writer;
	struct clew_reader *reader;
	struct clew_gap gaps[8];
	uint8_t *bytes, *at;
	char path[64];
	size_t size, chunk;

	(void)state;
	temporary_path(path);
	writer = write_chunked(path);
	put_numbered(writer, 1, late);
	assert_int_equal(clew_writer_meta(writer, "cpus", "2"), 0);
	assert_int_equal(clew_writer_close(writer), 0);
	size = read_file(path, &bytes);
	at = find_records(bytes, size, 0, 4);
	memcpy(&header, at, sizeof(header));
	chunk = sizeof(header) + header.size;
	memmove(at, at + chunk, bytes + size - (at + chunk));
	write_file(path, bytes, size - chunk);
	reader = open_reader(path);
	assert_false(clew_reader_info(reader)->complete);
	assert_int_equal(clew_reader_info(reader)->damaged_chunks, 1);
	assert_int_equal(own_gaps(reader, gaps), 2);
	expect_gap(&gaps[0], 0, time_of(399), time_of(late), CLEW_GAP_UNCOUNTED);
	expect_gap(&gaps[1], 1, time_of(late), time_of(late), CLEW_GAP_UNCOUNTED);
	clew_reader_close(reader);

	/* Killed as the last block was not trimmed yet: all is there. */
	free(bytes);
	make_numbered(path, 2000, 100);
	size = read_file(path, &bytes);
	bytes = realloc(bytes, size + 100);
	memset(bytes + size, 0, 100);
	write_file(path, bytes, size + 100);
	reader = open_reader(path);
	assert_int_equal(clew_reader_info(reader)->damaged_chunks, 0);
	clew_reader_close(reader);
	unlink(path);
	free(bytes);
}

/* The user stream may end with rows of the time at which recording ended, behind later ones. */
static void test_missing_backwards(void **state)
{
	struct clew_writer *writer;
	struct clew_reader *reader;
	struct clew_gap gaps[8];
	uint8_t *bytes;
	char path[64];
	size_t size;

	(void)state;
	temporary_path(path);
	writer = open_writer(path, 1, true);
	put_numbered(writer, 0, 100);
	put_numbered(writer, CLEW_STREAM_USER, 300);
	put_numbered(writer, CLEW_STREAM_USER, 200);
	assert_int_equal(clew_writer_meta(writer, "end", "5000000"), 0);
	assert_int_equal(clew_writer_close(writer), 0);
	size = read_file(path, &bytes);
	find_records(bytes, size, CLEW_STREAM_USER, 0)[sizeof(struct store_chunk_header)] ^= 4;
	write_file(path, bytes, size);
	reader = open_reader(path);
	assert_int_equal(own_gaps(reader, gaps), 1);
	expect_gap(&gaps[0], CLEW_STREAM_USER, time_of(200), time_of(300), 2);
	clew_reader_close(reader);
	unlink(path);
	free(bytes);
}

static void refuse(const char *path, int error, const char *words)
{
	struct clew_reader *reader;
	char message[200] = "";

	assert_int_equal(clew_reader_open(path, &reader, message, sizeof(message)), error);
	if (!strstr(message, words))
		fail_msg("\"%s\" lacks \"%s\"", message, words);
}

static void test_foreign(void **state)
{
	uint8_t bytes[5000];
	char path[64];

	(void)state;
	temporary_path(path);
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(clew_capture_probe(path), 0);
	refuse(path, -ENODATA, "empty");
	write_file(path, bytes, sizeof(bytes));
	assert_int_equal(clew_capture_probe(path), 0);
	refuse(path, -EINVAL, "not a clew capture");
	memcpy(bytes, STORE_MAGIC "\x07\x00\x00\x00", STORE_MAGIC_SIZE + 4);
	write_file(path, bytes, sizeof(bytes));
	refuse(path, -EINVAL, "format 7.0");
	bytes[STORE_MAGIC_SIZE] = STORE_VERSION_MAJOR;
	write_file(path, bytes, sizeof(bytes));
	refuse(path, -ENODATA, "not one whole chunk");
	unlink(path);
	refuse(path, -ENOENT, "No such file");
	refuse("/tmp", -EISDIR, "regular file");
	refuse("/dev/null", -EINVAL, "regular file");
	assert_int_equal(clew_capture_probe(path), -ENOENT);
	assert_int_equal(clew_capture_probe("/tmp"), -EISDIR);
}

static void test_empty_capture(void **state)
{
	char path[64];

	(void)state;
	temporary_path(path);
	assert_int_equal(clew_writer_close(open_writer(path, 2, false)), 0);
	refuse(path, -ENODATA, "not one whole chunk");
	unlink(path);
}

static void test_damaged_schema(void **state)
{
	const uint64_t counts[2] = {1000, 1000};
	struct clew_writer *writer;
	char path[64];

	(void)state;
	temporary_path(path);
	make_numbered(path, 2000, 100);
	expect_without_schema(path, counts);
	writer = open_writer(path, 2, false);
	for (uint64_t number = 0; number < 2000; number++)
		put_numbered(writer, number % 2, number / 2);
	assert_int_equal(clew_writer_close(writer), 0);
	expect_without_schema(path, counts);
	unlink(path);
}

/* Until it is begun, what was there before stays. */
static void test_waits(void **state)
{
	struct clew_writer_options options = {.size = sizeof(options), .cpus = 2, .waits = true};
	uint64_t counts[2], next[2];
	struct clew_writer *writer;
	struct clew_reader *reader;
	uint8_t *before, *after;
	char path[64];
	size_t size;

	(void)state;
	temporary_path(path);
	make_numbered(path, 200, 100);
	size = read_file(path, &before);
	for (int begins = 0; begins < 2; begins++) {
		assert_int_equal(clew_writer_open(path, &options, &writer), 0);
		for (uint64_t number = 0; number < 100; number++) {
			put_numbered(writer, number % 2, number / 2);
			clew_writer_flush(writer, number % 2, 1, 0);
		}
		usleep(200000);
		assert_int_equal(read_file(path, &after), size);
		assert_memory_equal(before, after, size);
		free(after);
		if (begins)
			assert_int_equal(clew_writer_begin(writer), 0);
		assert_int_equal(clew_writer_close(writer), 0);
		reader = open_reader(path);
		assert_true(clew_reader_info(reader)->complete);
		expect_numbered(reader, counts, next);
		assert_int_equal(counts[0] + counts[1], begins ? 100 : 200);
		clew_reader_close(reader);
	}
	free(before);
	unlink(path);
	assert_int_equal(clew_writer_open(path, &options, &writer), 0);
	put_numbered(writer, 0, 0);
	assert_int_equal(clew_writer_close(writer), 0);
	assert_int_equal(access(path, F_OK), -1);
}

/* A disk that is full after 300 KiB, as far as the writer can tell. */
static void test_full_disk(void **state)
{
	struct clew_writer_options options = {.size = sizeof(options), .cpus = 2};
	struct rlimit before, limit;
	struct clew_writer *writer;
	struct clew_reader *reader;
	uint64_t counts[2], next[2];
	char path[64];
	int r = 0;

	(void)state;
	temporary_path(path);
	writer = open_writer(path, 2, false);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 300 << 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (uint64_t number = 0; r == 0 && number < 100000000; number++) {
		struct clew_life life = {
			.header = {.time = 1000000 + number * 100, .kind = CLEW_KIND_EXIT},
			.task = number * 7919,
			.value = number};

		r = clew_writer_put(writer, 0, &life, sizeof(life));
	}
	assert_int_equal(r, -EFBIG);
	assert_int_equal(clew_writer_error(writer), -EFBIG);
	assert_int_equal(clew_writer_close(writer), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

	reader = open_reader(path);
	assert_false(clew_reader_info(reader)->complete);
	expect_numbered(reader, counts, next);
	assert_true(counts[0] > 1000);
	assert_int_equal(counts[0], next[0]);
	clew_reader_close(reader);
	unlink(path);

	/* Less than a block: it is the limit all the same, no disk. This is written in this thread,
	 * which must not die of it. */
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_cur = 1000;
	temporary_path(path);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(clew_writer_open(path, &options, &writer), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	unlink(path);
}

static void test_unwritable(void **state)
{
	struct clew_writer_options options = {.size = sizeof(options), .cpus = 1};
	struct clew_writer *writer;

	(void)state;
	assert_int_equal(clew_writer_open("/dev/full", &options, &writer), -ENOSPC);
	assert_int_equal(clew_writer_open("/tmp", &options, &writer), -EISDIR);
	assert_int_equal(clew_writer_open("/tmp/no/such/directory", &options, &writer), -ENOENT);
	assert_int_equal(clew_writer_open("/dev/null", &options, &writer), 0);
	put_numbered(writer, 0, 1);
	assert_int_equal(clew_writer_close(writer), 0);
}

/* A file that is being written is nobody else's; one that was written before is overwritten. */
static void test_taken(void **state)
{
	struct clew_writer_options options = {.size = sizeof(options), .cpus = 2};
	struct clew_writer *writer, *other = NULL;
	struct clew_reader *reader;
	uint64_t counts[2], next[2];
	char path[64];

	(void)state;
	temporary_path(path);
	make_numbered(path, 2000, 100);
	writer = open_writer(path, 2, false);
	assert_int_equal(clew_writer_open(path, &options, &other), -EBUSY);
	for (uint64_t number = 0; number < 100; number++)
		put_numbered(writer, number % 2, number / 2);
	assert_int_equal(clew_writer_close(writer), 0);
	reader = open_reader(path);
	assert_true(clew_reader_info(reader)->complete);
	expect_numbered(reader, counts, next);
	assert_int_equal(counts[0] + counts[1], 100);
	clew_reader_close(reader);
	unlink(path);
}

/* A pipe takes a capture too; its reader may go away. */
static void test_pipe(void **state)
{
	struct clew_reader *reader;
	uint64_t counts[2], next[2];
	char path[64], name[64];
	uint8_t bytes[65536];
	struct clew_writer *writer;
	ssize_t size;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[1]);
	writer = open_writer(name, 2, false);
	for (uint64_t number = 0; number < 100; number++)
		put_numbered(writer, number % 2, number / 2);
	assert_int_equal(clew_writer_close(writer), 0);
	size = read(ends[0], bytes, sizeof(bytes));
	assert_true(size > 0);
	temporary_path(path);
	write_file(path, bytes, size);
	reader = open_reader(path);
	assert_true(clew_reader_info(reader)->complete);
	expect_numbered(reader, counts, next);
	assert_int_equal(counts[0] + counts[1], 100);
	clew_reader_close(reader);
	unlink(path);

	writer = open_writer(name, 2, false);
	close(ends[0]);
	put_numbered(writer, 0, 1);
	assert_int_equal(clew_writer_close(writer), -EPIPE);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_while_replacing),
		cmocka_unit_test(test_killed_quick),
		cmocka_unit_test(test_killed_late),
		cmocka_unit_test(test_killed_sync),
		cmocka_unit_test(test_sync_appends_only),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_empty_capture),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_damaged_schema),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_unwritable),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_missing_at_end),
		cmocka_unit_test(test_taken_out),
		cmocka_unit_test(test_missing_backwards),
		cmocka_unit_test(test_taken),
	};

	return cmocka_run_group_tests_name("store_recover", tests, NULL, NULL);
}
