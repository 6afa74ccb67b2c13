/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decoding ahead changes nothing that is read: the same records, gaps and damage as
 * without it, however the thread and the reader come to run, wherever the reader
 * starts over or ends.
 */
#include "store_records.h"

#include "store/chunk.h"
#include "store/reader.h"

#define CPUS	5
#define RECORDS 6000
#define NEVER	UINT64_MAX

/*
 * Many chunks of several streams: CPU 0's are large, the last CPU has one, user space is seldom
 * heard of. The records that all have the same time are read by stream.
 */
static void write_capture(const char *path, uint64_t seed)
{
	struct random random = {.state = seed};
	struct clew_writer *writer = open_writer(path, CPUS, true);
	uint32_t last[CPUS + 1] = {0};
	uint64_t time = 1000000;

	for (unsigned i = 0; i < RECORDS; i++) {
		unsigned cpu = random_below(&random, 40) ? random_below(&random, CPUS) : CPUS;
		unsigned stream = cpu == CPUS ? CLEW_STREAM_USER : cpu;
		union any_record any;
		size_t size;

		time += i % 1000 < 950 ? random_below(&random, 3000) : 0;
		size = random_record(&random, random_kind(&random), time,
				     cpu == CPUS ? 0xfffe : cpu, &last[cpu], &any);
		assert_int_equal(clew_writer_put(writer, stream, &any, size), 0);
		if (cpu < CPUS - 1 && random_below(&random, cpu ? 30 : 150) == 0)
			assert_int_equal(clew_writer_flush(writer, stream, time, 0), 0);
	}
	assert_int_equal(clew_writer_close(writer), 0);
}

/* Makes a copy with damage in each so manyth chunk of records: bits of it are wrong, and by turns
 * the checksum agrees nevertheless. */
static unsigned write_damaged(const char *path, const char *whole, unsigned each)
{
	static const uint32_t magic = STORE_CHUNK_MAGIC;
	unsigned chunks = 0, damaged = 0;
	uint8_t *bytes, *at;
	size_t size = read_file(whole, &bytes);

	for (at = bytes; (at = memmem(at, bytes + size - at, &magic, sizeof(magic))); at++) {
		struct store_chunk_header header;

		memcpy(&header, at, sizeof(header));
		if (header.kind != STORE_CHUNK_RECORDS || header.stream == CLEW_STREAM_USER ||
		    ++chunks % each)
			continue;
		at[sizeof(header) + (damaged % 2 ? 0 : header.size / 2)] ^= 0x60;
		if (damaged++ % 2) {
			header.checksum = store_checksum(&header, at + sizeof(header));
			memcpy(at, &header, sizeof(header));
		}
	}
	write_file(path, bytes, size);
	free(bytes);
	assert_true(chunks > 100);
	return damaged;
}

static struct clew_reader *open_ahead(const char *path, uint64_t rows)
{
	struct clew_reader *reader = open_reader(path);

	store_reader_ahead(reader, rows);
	return reader;
}

/* Reads so many records of both, or all; returns how many there were. */
static size_t compare(struct clew_reader *with, struct clew_reader *without, size_t most)
{
	const struct clew_header *a, *b;
	size_t count = 0;

	for (; count < most; count++) {
		size_t size;
		int r = clew_reader_next(without, &b);

		assert_int_equal(clew_reader_next(with, &a), r);
		assert_true(r >= 0);
		if (r == 0)
			break;
		size = store_record_size(b, SIZE_MAX);
		assert_int_equal(store_record_size(a, SIZE_MAX), size);
		assert_memory_equal(a, b, size);
	}
	return count;
}

static void compare_info(struct clew_reader *with, struct clew_reader *without)
{
	const struct clew_capture_info *a = clew_reader_info(with), *b = clew_reader_info(without);

	assert_int_equal(a->damaged_chunks, b->damaged_chunks);
	assert_int_equal(a->gap_count, b->gap_count);
	if (b->gap_count)
		assert_memory_equal(a->gaps, b->gaps, b->gap_count * sizeof(*b->gaps));
}

static void read_both(const char *path, unsigned damaged)
{
	struct clew_reader *with = open_ahead(path, 0), *without = open_ahead(path, NEVER);

	for (unsigned pass = 0; pass < 2; pass++) {
		assert_true(compare(with, without, SIZE_MAX) > 0);
		compare_info(with, without);
		assert_int_equal(clew_reader_info(with)->damaged_chunks, damaged);
		assert_int_equal(clew_reader_rewind(with), 0);
		assert_int_equal(clew_reader_rewind(without), 0);
	}
	clew_reader_close(with);
	clew_reader_close(without);
}

static void test_same(void **state)
{
	char path[64];

	(void)state;
	temporary_path(path);
	for (uint64_t seed = 1; seed < 4; seed++) {
		write_capture(path, seed);
		read_both(path, 0);
	}
	unlink(path);
}

static void test_damaged(void **state)
{
	char path[64], whole[64];

	(void)state;
	temporary_path(path);
	temporary_path(whole);
	write_capture(whole, 10);
	/* The first time, there is no record but the user stream's. */
	for (unsigned each = 1; each < 8; each++)
		read_both(path, write_damaged(path, whole, each));
	unlink(path);
	unlink(whole);
}

/* Reading starts over, chunks are checked, or the reader is closed, wherever that may be. */
static void test_in_the_middle(void **state)
{
	struct random random = {.state = 7};
	struct clew_reader *without;
	char path[64];

	(void)state;
	temporary_path(path);
	write_capture(path, 20);
	write_damaged(path, path, 20);
	without = open_ahead(path, NEVER);
	for (unsigned i = 0; i < 30; i++) {
		struct clew_reader *with = open_ahead(path, 0);

		for (unsigned times = random_below(&random, 4); times > 0; times--) {
			compare(with, without,
				random_below(&random, random_below(&random, 2) ? RECORDS : 20));
			if (random_below(&random, 4) == 0) {
				assert_int_equal(clew_reader_check(with), 0);
				assert_int_equal(clew_reader_check(without), 0);
				compare_info(with, without);
			}
			assert_int_equal(clew_reader_rewind(with), 0);
			assert_int_equal(clew_reader_rewind(without), 0);
		}
		compare(with, without, random_below(&random, RECORDS));
		clew_reader_close(with);
		assert_int_equal(clew_reader_rewind(without), 0);
	}
	clew_reader_close(without);
	unlink(path);
}

/* The file becomes shorter while it is read: what was decoded by then counts, so that only what is
 * told can be compared. */
static void test_cut_off(void **state)
{
	struct clew_reader *with;
	const struct clew_header *record;
	size_t count = 0;
	char path[64];

	(void)state;
	temporary_path(path);
	write_capture(path, 30);
	with = open_ahead(path, 0);
	assert_int_equal(clew_reader_next(with, &record), 1);
	assert_int_equal(truncate(path, 10000), 0);
	while (clew_reader_next(with, &record) == 1)
		count++;
	assert_true(count < RECORDS);
	assert_true(clew_reader_info(with)->damaged_chunks > 0);
	clew_reader_close(with);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_in_the_middle),
		cmocka_unit_test(test_cut_off),
	};

	return cmocka_run_group_tests_name("store_ahead", tests, NULL, NULL);
}
