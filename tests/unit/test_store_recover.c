/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Capture files that were not ended, or were damaged: what is whole is read,
 * each row once, and the rest is said; what is no capture is refused in words.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store_records.h"

#include "store/chunk.h"

static size_t read_file(const char *path, uint8_t **ret_bytes)
{
	struct stat stat;
	int fd = open(path, O_RDONLY);
	size_t done = 0;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	*ret_bytes = malloc(stat.st_size + 1);
	while (done < (size_t)stat.st_size) {
		ssize_t n = pread(fd, *ret_bytes + done, stat.st_size - done, done);

		assert_true(n > 0);
		done += n;
	}
	close(fd);
	return done;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* EXIT records whose `value` counts up: easy to see what is missing. */
static void put_numbered(struct clew_writer *writer, unsigned stream, uint64_t number)
{
	struct clew_life life = {
		.header = {.time = 1000000 + number * 100, .kind = CLEW_KIND_EXIT}, .task = number * 7919, .value = number};

	if (clew_writer_put(writer, stream, &life, sizeof(life)) < 0)
		_exit(1);
}

/* Reads numbered records of CPUs 0 and 1; counts what comes of each, which has to come in order and once. */
static void expect_numbered(struct clew_reader *reader, uint64_t counts[2], uint64_t next[2])
{
	const struct clew_header *record;
	int r;

	memset(counts, 0, 2 * sizeof(*counts));
	memset(next, 0, 2 * sizeof(*next));
	while ((r = clew_reader_next(reader, &record)) == 1) {
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
	uint64_t *counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(counters != MAP_FAILED);
	return counters;
}

/* A child records until it is killed; `flushed` says what it flushed well before. */
static void record_until_killed(const char *path, bool sync, unsigned run_ms, uint64_t *flushed, size_t per_flush)
{
	pid_t child = fork();
	struct stat file;
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct clew_writer_options options = {.size = sizeof(options), .sync = sync, .cpus = 2};
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
	/* What encodes gives way to all others: on a busy machine the first chunk takes a while. */
	for (unsigned i = 0; i < 5000 && (stat(path, &file) < 0 || file.st_size < 16384); i++)
		usleep(1000);
	usleep(run_ms * 1000);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void kills(bool sync, unsigned times, size_t per_flush)
{
	uint64_t *flushed = shared_counters();

	for (unsigned i = 0; i < times; i++) {
		uint64_t counts[2], next[2];
		struct clew_reader *reader;
		char path[64];

		temporary_path(path);
		flushed[0] = flushed[1] = 0;
		record_until_killed(path, sync, 450 + 37 * i, flushed, per_flush);
		reader = open_reader(path);
		assert_false(clew_reader_info(reader)->complete);
		expect_numbered(reader, counts, next);
		/* Nothing is missing in the middle, and not much at the end. */
		assert_int_equal(counts[0], next[0]);
		assert_int_equal(counts[1], next[1]);
		assert_int_equal(clew_reader_info(reader)->counts[CLEW_KIND_EXIT], counts[0] + counts[1]);
		assert_true(counts[0] > 0);
		clew_reader_close(reader);
		unlink(path);
	}
	munmap(flushed, 4096);
}

static void test_killed(void **state)
{
	(void)state;
	kills(false, 8, 40);
}

/* Enough of it that chunks become final and take the place of others. */
static void test_killed_while_replacing(void **state)
{
	(void)state;
	kills(false, 6, 1500);
}

static void test_killed_sync(void **state)
{
	(void)state;
	kills(true, 3, 40);
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
			assert_int_equal(clew_writer_flush(writer, number / per_chunk % 2, 1, 0), 0);
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
	struct random random = {5};
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
	refuse(path, -EINVAL, "empty");
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

/* A disk that is full after 300 KiB, as far as the writer can tell. */
static void test_full_disk(void **state)
{
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
			.header = {.time = 1000000 + number * 100, .kind = CLEW_KIND_EXIT}, .task = number * 7919, .value = number};

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
		cmocka_unit_test(test_killed),	    cmocka_unit_test(test_killed_while_replacing),
		cmocka_unit_test(test_killed_sync), cmocka_unit_test(test_sync_appends_only),
		cmocka_unit_test(test_truncated),   cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_foreign),	    cmocka_unit_test(test_empty_capture),
		cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_unwritable),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests_name("store_recover", tests, NULL, NULL);
}
