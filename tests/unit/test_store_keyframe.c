/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading from a keyframe on: the records are those that all of the file has from that moment on,
 * wherever chunks begin, with a thread that decodes ahead and without. Chunks that take long to
 * decode are not large where keyframes are. A reader says which records
 * are for readers that begin at a keyframe. A file without an index has no keyframe that may be
 * incomplete.
 */
#include "store_records.h"

#include "store/format.h"
#include "store/reader.h"
#include "store/scan.h"

#define CPUS	3
#define RECORDS 20000
#define EACH	2000 /* records from one keyframe to the next */
#define FRAMES	(RECORDS / EACH - 1)
#define STATED	5
#define SECOND	1000000000u

static struct clew_keyframe frames[FRAMES];

static void put_state(struct clew_writer *writer, uint64_t time)
{
	const struct clew_switch state = {
		.header = {.time = time, .cpu = CLEW_STREAM_USER, .kind = CLEW_KIND_STATE}};

	assert_int_equal(clew_writer_put(writer, CLEW_STREAM_USER, &state, sizeof(state)), 0);
}

/* Other records are no states. `step`: ns between two records, at most. */
static void write_capture(const char *path, uint64_t seed, unsigned step, bool flushes)
{
	struct random random = {.state = seed};
	struct clew_writer *writer = open_writer(path, CPUS, true);
	uint64_t time = SECOND;

	for (unsigned i = 0; i < RECORDS; i++) {
		struct clew_life record = {.header = {.kind = CLEW_KIND_EXIT}, .task = i + 1};
		unsigned cpu = random_below(&random, CPUS);

		time += 1 + random_below(&random, step);
		if (i % EACH == 0 && i) {
			struct clew_keyframe *frame = &frames[i / EACH - 1];

			*frame = (struct clew_keyframe){.from = time, .until = time + STATED - 1};
			for (unsigned k = 0; k < CPUS; k++)
				assert_int_equal(clew_writer_cut(writer, k), 0);
			for (unsigned k = 0; k < STATED; k++)
				put_state(writer, time++);
			assert_int_equal(clew_writer_keyframe(writer, frame), 0);
		}
		record.header.time = time;
		assert_int_equal(clew_writer_put(writer, cpu, &record, sizeof(record)), 0);
		if (flushes && random_below(&random, 500) == 0)
			assert_int_equal(clew_writer_flush(writer, cpu, time, 0), 0);
	}
	assert_int_equal(clew_writer_close(writer), 0);
}

/* The beginning of the next record from a moment on. */
static bool next_from(struct clew_reader *reader, uint64_t from, struct clew_life *ret_record)
{
	const struct clew_header *record;
	int r;

	do
		r = clew_reader_next(reader, &record);
	while (r > 0 && record->time < from);
	assert_true(r >= 0);
	if (r)
		memcpy(ret_record, record, sizeof(*ret_record));
	return r;
}

static void compare_from(const char *path, const struct clew_keyframe *frame, uint64_t time,
			 uint64_t ahead)
{
	struct clew_reader *part = open_reader(path), *whole = open_reader(path);
	struct clew_life a, b;
	const struct clew_keyframe *got;
	size_t count = 0, states = 0;

	store_reader_ahead(part, ahead);
	got = clew_reader_seek(part, time, 0);
	assert_int_equal(!got, !frame);
	assert_true(!got || (got->from == frame->from && got->until == frame->until));
	while (next_from(whole, frame ? frame->from : 0, &b)) {
		assert_true(next_from(part, 0, &a));
		assert_memory_equal(&a, &b, sizeof(a));
		assert_true(clew_reader_is_again(whole, &b.header) ==
			    (b.header.kind == CLEW_KIND_STATE));
		if (b.header.kind == CLEW_KIND_STATE && !clew_reader_is_again(part, &a.header))
			states++;
		count++;
	}
	assert_false(next_from(part, 0, &a));
	assert_true(count > EACH / 2);
	assert_int_equal(states, frame ? STATED : 0);
	/* All of it once more. */
	assert_int_equal(clew_reader_rewind(part), 0);
	assert_true(next_from(part, 0, &a));
	assert_true(a.header.time < frames[0].from);
	clew_reader_close(part);
	clew_reader_close(whole);
}

static void compare_all(const char *path)
{
	for (unsigned ahead = 0; ahead < 2; ahead++) {
		compare_from(path, NULL, frames[0].from - 1, ahead ? 0 : UINT64_MAX);
		for (unsigned i = 0; i < FRAMES; i++)
			compare_from(path, &frames[i], frames[i].from + i, ahead ? 0 : UINT64_MAX);
		compare_from(path, &frames[FRAMES - 1], UINT64_MAX, ahead ? 0 : UINT64_MAX);
	}
}

static void test_same(void **state)
{
	char path[64];

	(void)state;
	temporary_path(path);
	for (uint64_t seed = 1; seed < 4; seed++) {
		write_capture(path, seed, 1000, true);
		compare_all(path);
	}
	/* Slow streams have larger chunks, in which most keyframes begin anywhere. */
	write_capture(path, 4, 2 * STORE_SLOW_NS, true);
	compare_all(path);
	unlink(path);
}

/* A reader that begins at a keyframe decodes few rows before it, though they take long. */
static void test_small_chunks(void **state)
{
	struct store_file file = {};
	char path[64], words[160];
	size_t rows = 0, chunks = 0;

	(void)state;
	temporary_path(path);
	write_capture(path, 7, 2 * STORE_SLOW_NS, false);
	assert_int_equal(store_file_open(path, &file, words, sizeof(words)), 0);
	for (size_t i = file.records; i < file.count; i++) {
		if (file.entries[i].stream == CLEW_STREAM_USER)
			continue;
		assert_true(file.entries[i].rows < STORE_CUT_ROWS + EACH / 2);
		rows += file.entries[i].rows;
		chunks++;
	}
	assert_int_equal(rows, RECORDS);
	/* Nor is there a chunk for each keyframe. */
	assert_true(chunks <= RECORDS / STORE_CUT_ROWS + CPUS);
	store_file_close(&file);
	unlink(path);
}

static void test_earlier(void **state)
{
	struct clew_reader *reader;
	char path[64];

	(void)state;
	temporary_path(path);
	write_capture(path, 5, 1000, true);
	reader = open_reader(path);
	assert_int_equal(clew_reader_info(reader)->keyframe_count, FRAMES);
	assert_int_equal(clew_reader_seek(reader, frames[6].from, 10 * RECORDS)->from,
			 frames[0].from);
	assert_int_equal(clew_reader_seek(reader, frames[6].from, 0)->from, frames[6].from);
	clew_reader_close(reader);
	unlink(path);
}

/* The last two seconds of a recording that was killed may lack records. */
static void test_cut(void **state)
{
	const uint64_t step = 2 * SECOND / EACH;
	struct clew_reader *reader;
	uint8_t *bytes;
	char path[64];
	size_t size;

	(void)state;
	temporary_path(path);
	write_capture(path, 6, step, true);
	size = read_file(path, &bytes);
	write_file(path, bytes, size - 1);
	free(bytes);
	reader = open_reader(path);
	assert_false(clew_reader_info(reader)->complete);
	for (unsigned i = 0; i < FRAMES; i++) {
		uint64_t end = clew_reader_info(reader)->end;
		const struct clew_keyframe *frame = clew_reader_seek(reader, frames[i].from, 0);

		assert_true(frame && frame->until + 2 * SECOND <= end);
		assert_true(frame->from == frames[i].from || frames[i].until + 2 * SECOND > end);
	}
	clew_reader_close(reader);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_small_chunks),
		cmocka_unit_test(test_earlier),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
