/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records for the tests of the capture file: random ones of every kind, equal
 * for equal seeds, that keep to what BPF sends (fields without their flag are 0).
 */
#ifndef STORE_RECORDS_H
#define STORE_RECORDS_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "record_columns.h"
#include "store/capture.h"

struct random {
	uint64_t state;
	unsigned unit; /* many values are multiples of 1 << unit */
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t value = random->state += 0x9e3779b97f4a7c15ull;

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return random_next(random) % limit;
}

/* Small mostly, now and then anything. */
static inline uint64_t in_units(const struct random *random, uint64_t value)
{
	return value >> random->unit << random->unit;
}

static inline uint64_t random_value(struct random *random)
{
	uint64_t value = random_next(random);

	return in_units(random, value >> (random_next(random) % 64));
}

union any_record {
	struct clew_header header;
	struct {
		struct clew_switch record;
		struct clew_wait wait;
		struct clew_cause cause;
	} change;
	struct clew_text_record text;
	uint8_t bytes[4096];
};

static inline void random_name(struct random *random, char *to, size_t size)
{
	size_t length = random_below(random, size + 1);

	for (size_t i = 0; i < length; i++)
		to[i] = 'a' + random_below(random, 26);
}

static inline size_t random_tail(struct random *random, uint8_t *to, uint16_t *length, size_t limit)
{
	*length = random_below(random, limit + 1);
	for (size_t i = 0; i < *length; i++)
		to[i] = random_next(random);
	return *length;
}

static inline void random_cause(struct random *random, struct clew_cause *cause)
{
	cause->kind = random_below(random, 8);
	cause->object = random_value(random);
	cause->time = random_value(random);
	cause->expires = random_below(random, 2) ? 0 : random_value(random);
	cause->task = random_value(random);
}

/* Behind the wait, or in its place. */
static inline size_t random_switch_cause(struct random *random, union any_record *any, size_t size)
{
	if (any->header.kind != CLEW_KIND_SWITCH || !(any->header.flags & CLEW_SWITCH_CAUSE))
		return size;
	random_cause(random, (struct clew_cause *)(any->bytes + size));
	return size + sizeof(struct clew_cause);
}

static inline size_t random_switch(struct random *random, union any_record *any, uint32_t *last)
{
	struct clew_switch *record = &any->change.record;
	struct clew_wait *wait = &any->change.wait;

	record->prev = random_below(random, 50) ? *last : random_below(random, 1000);
	record->next = *last = random_below(random, 400) ? random_below(random, 300)
							 : (uint32_t)random_next(random);
	record->prev_state = random_value(random);
	record->flags_high = random_next(random);
	if (record->header.flags & (CLEW_SWITCH_NEXT_SLEPT | CLEW_SWITCH_NEXT_NEW)) {
		record->wake_time = random_below(random, 20)
					    ? in_units(random, record->header.time -
								       random_below(random, 100000))
					    : random_value(random);
		record->wake_object = random_value(random);
		record->waker = random_below(random, 400);
		record->wake_device = random_value(random);
		record->wake_descriptor = (int32_t)random_below(random, 9) - 1;
		record->wake_call = random_value(random);
		record->wake_context = random_below(random, 7);
		record->wake_flags = random_next(random);
		record->wake_operation = random_below(random, 5);
		record->wake_object_kind = random_below(random, 19);
	}
	if (!(record->header.flags & CLEW_SWITCH_WAIT))
		return random_switch_cause(random, any, sizeof(*record));
	wait->object = random_value(random);
	wait->argument = random_value(random);
	wait->device = random_value(random);
	wait->owner = random_below(random, 5) ? 0 : random_value(random);
	wait->descriptor = (int32_t)random_value(random);
	wait->call = random_value(random);
	wait->object_kind = random_next(random);
	wait->futex_class = random_below(random, 8);
	wait->futex_operation = random_next(random);
	wait->flags = random_next(random);
	wait->reason = random_below(random, 7);
	return random_switch_cause(random, any, sizeof(*record) + sizeof(*wait));
}

/* A value for one column. Times before another one are mostly close to it. */
static inline uint64_t random_number(struct random *random, const struct store_column *column,
				     const struct clew_header *header)
{
	if (column->coding == STORE_BEFORE && random_below(random, 2))
		return in_units(random, header->time - random_below(random, 1000000));
	return random_value(random);
}

/* Fills all columns that the record has; returns its size. */
static inline size_t random_columns(struct random *random, struct clew_header *header)
{
	const struct store_kind *kind = own_kind(header->kind);

	for (unsigned i = 0; i < kind->count; i++) {
		const struct store_column *column = &kind->columns[i];
		uint8_t *to = (uint8_t *)header + column_offset(column, header);
		uint16_t length;

		if (!column_present(column, header))
			continue;
		if (column->coding == STORE_TRIMMED) {
			random_name(random, (char *)to, column->size);
		} else if (column->coding == STORE_TAIL) {
			random_tail(random, to, &length, CLEW_PATH_SIZE);
			column_set(&kind->columns[column->reference], header, length);
		} else {
			column_set(column, header, random_number(random, column, header));
		}
	}
	return store_record_size(header, SIZE_MAX);
}

/* Makes a record; returns its size. `last` is the stream's last `next`. */
static inline size_t random_record(struct random *random, unsigned kind, uint64_t time,
				   unsigned cpu, uint32_t *last, union any_record *any)
{
	memset(any, 0, sizeof(*any));
	any->header = (struct clew_header){.time = time,
					   .lost = random_below(random, 100) / 99,
					   .cpu = cpu,
					   .kind = kind,
					   .flags = random_next(random)};
	/* Only the reader makes such gaps. */
	if (kind == CLEW_KIND_GAP)
		any->header.flags &= ~CLEW_GAP_IN_FILE;
	if (kind == CLEW_KIND_SWITCH || kind == CLEW_KIND_STATE)
		return random_switch(random, any, last);
	return random_columns(random, &any->header);
}

/* A switch most of the time. */
static inline unsigned random_kind(struct random *random)
{
	unsigned kind = 1 + random_below(random, CLEW_KIND_COUNT - 1);

	return !store_record_stride(kind) || random_below(random, 3) ? CLEW_KIND_SWITCH : kind;
}

/* A name for a test's file; the caller removes the file. */
static inline void temporary_path(char path[64])
{
	int fd;

	snprintf(path, 64, "/tmp/clew-store-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

static inline struct clew_writer *open_writer(const char *path, unsigned cpus, bool sync)
{
	struct clew_writer_options options = {.size = sizeof(options), .sync = sync, .cpus = cpus};
	struct clew_writer *writer;

	assert_int_equal(clew_writer_open(path, &options, &writer), 0);
	return writer;
}

static inline struct clew_reader *open_reader(const char *path)
{
	struct clew_reader *reader;
	char message[200];
	int r;

	r = clew_reader_open(path, &reader, message, sizeof(message));
	if (r < 0)
		fail_msg("%s: %s", path, message);
	return reader;
}

/* As clew_reader_next(), but only what is in the file. */
static inline int next_stored(struct clew_reader *reader, const struct clew_header **ret_record)
{
	int r;

	do
		r = clew_reader_next(reader, ret_record);
	while (r == 1 && (*ret_record)->kind == CLEW_KIND_GAP &&
	       (*ret_record)->flags == CLEW_GAP_IN_FILE);
	return r;
}

static inline size_t read_file(const char *path, uint8_t **ret_bytes)
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

static inline void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

#endif
