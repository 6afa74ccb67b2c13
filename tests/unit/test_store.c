/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The capture file: what is put comes back, in the order that capture.h
 * promises, and the file says the same of itself as went into it.
 */
#include <errno.h>

#include "store_records.h"

#define CPUS	3
#define RECORDS 60000

struct sent {
	unsigned stream;
	size_t size;
	union any_record *record;
};

static struct sent *make_records(uint64_t seed, size_t count)
{
	struct random random = {seed, seed % 4 ? 0 : 6};
	struct sent *sent = calloc(count, sizeof(*sent));
	uint32_t last[CPUS + 1] = {0};
	uint64_t time = 1000000000;

	for (size_t i = 0; i < count; i++) {
		union any_record any;
		unsigned cpu = random_below(&random, CPUS + 1);

		/* Some at the same time, to see which comes first. Few come slowly, so that their
		 * chunks are packed. */
		time += random_below(&random, 3) ? random_value(&random) >> (count > 1000 ? 44 : 34)
						 : 0;
		sent[i].stream = cpu == CPUS ? CLEW_STREAM_USER : cpu;
		sent[i].size = random_record(&random, random_kind(&random), time,
					     cpu == CPUS ? 0xfffe : cpu, &last[cpu], &any);
		sent[i].record = malloc(sent[i].size);
		memcpy(sent[i].record, &any, sent[i].size);
	}
	return sent;
}

static void free_records(struct sent *sent, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(sent[i].record);
	free(sent);
}

static int by_time(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;
	unsigned xo = x->stream == CLEW_STREAM_USER ? 0 : x->stream + 1,
		 yo = y->stream == CLEW_STREAM_USER ? 0 : y->stream + 1;

	if (x->record->header.time != y->record->header.time)
		return x->record->header.time < y->record->header.time ? -1 : 1;
	return xo < yo ? -1 : xo > yo;
}

static void expect_records(struct clew_reader *reader, struct sent *sent, size_t count)
{
	const struct clew_header *record;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(clew_reader_next(reader, &record), 1);
		if (memcmp(record, sent[i].record, sent[i].size) != 0)
			fail_msg("record %zu, kind %u, differs", i, sent[i].record->header.kind);
	}
	assert_int_equal(clew_reader_next(reader, &record), 0);
	assert_int_equal(clew_reader_next(reader, &record), 0);
}

/* A stable sort: glibc's qsort may not be one. */
static void sort_records(struct sent *sent, size_t count)
{
	struct sent *copy = malloc(count * sizeof(*copy));

	for (size_t width = 1; width < count; width *= 2) {
		memcpy(copy, sent, count * sizeof(*copy));
		for (size_t from = 0; from < count; from += 2 * width) {
			size_t a = from, b = from + width < count ? from + width : count,
			       middle = b;
			size_t end = from + 2 * width < count ? from + 2 * width : count;

			for (size_t to = from; to < end; to++)
				sent[to] =
					a < middle && (b == end || by_time(&copy[a], &copy[b]) <= 0)
						? copy[a++]
						: copy[b++];
		}
	}
	free(copy);
}

static void round_trip(uint64_t seed, size_t count, bool sync, size_t flush_every)
{
	struct sent *sent = make_records(seed, count);
	uint64_t counts[CLEW_KIND_COUNT] = {0}, gaps = 0;
	const struct clew_capture_info *info;
	struct clew_reader *reader;
	struct clew_writer *writer;
	char path[64];

	temporary_path(path);
	writer = open_writer(path, CPUS, sync);
	assert_int_equal(clew_writer_meta(writer, "cpus", "3"), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(
			clew_writer_put(writer, sent[i].stream, sent[i].record, sent[i].size), 0);
		counts[sent[i].record->header.kind]++;
		gaps += sent[i].record->header.kind == CLEW_KIND_GAP;
		if (flush_every && i % flush_every == 0)
			for (unsigned cpu = 0; cpu <= CPUS; cpu++)
				assert_int_equal(
					clew_writer_flush(writer,
							  cpu == CPUS ? CLEW_STREAM_USER : cpu,
							  sent[i].record->header.time, 0),
					0);
	}
	assert_int_equal(clew_writer_close(writer), 0);

	sort_records(sent, count);
	reader = open_reader(path);
	info = clew_reader_info(reader);
	assert_true(info->complete);
	assert_int_equal(info->damaged_chunks, 0);
	assert_int_equal(info->cpus, CPUS);
	assert_int_equal(info->gap_count, gaps);
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
		assert_int_equal(info->counts[kind], counts[kind]);
	expect_records(reader, sent, count);
	assert_int_equal(clew_reader_rewind(reader), 0);
	expect_records(reader, sent, count);
	clew_reader_close(reader);
	unlink(path);
	free_records(sent, count);
}

static void test_round_trip(void **state)
{
	(void)state;
	round_trip(1, RECORDS, false, 0);
}

static void test_round_trip_flushed(void **state)
{
	(void)state;
	round_trip(2, RECORDS, false, 97);
}

static void test_round_trip_sync(void **state)
{
	(void)state;
	round_trip(3, 5000, true, 500);
}

static void test_round_trip_small(void **state)
{
	(void)state;
	for (uint64_t seed = 10; seed < 40; seed++)
		round_trip(seed, seed - 9, seed & 1, seed % 3);
}

static void test_round_trip_units(void **state)
{
	(void)state;
	round_trip(44, 1000, false, 0);
	round_trip(48, 700, false, 50);
}

static void test_says_of_itself(void **state)
{
	struct clew_ledger_row rows[2] = {{.cpu = 0, .kind = 1, .seen = 5, .stored = 4, .lost = 1},
					  {.cpu = 1, .kind = 1, .seen = 7}};
	struct clew_cost cost = {.user_ns = 12, .bpf_ns = 34, .bpf_sampled = true};
	struct clew_life life = {.header = {.time = 5000, .kind = CLEW_KIND_EXIT}, .task = 3};
	const struct clew_capture_info *info;
	struct clew_reader *reader;
	struct clew_writer *writer;
	char path[64];

	(void)state;
	temporary_path(path);
	writer = open_writer(path, 2, false);
	assert_int_equal(clew_writer_meta(writer, "kernel", "6.18"), 0);
	assert_int_equal(clew_writer_meta(writer, "start", "4000"), 0);
	assert_int_equal(clew_writer_meta(writer, "start", "4500"), 0);
	assert_int_equal(clew_writer_meta(writer, "cpus", "2"), 0);
	assert_int_equal(clew_writer_clock(writer, &(struct clew_clock){1, 2, 3}), 0);
	assert_int_equal(clew_writer_ledger(writer, rows, 1, &cost), 0);
	assert_int_equal(clew_writer_put(writer, 1, &life, sizeof(life)), 0);
	cost.user_ns = 13;
	assert_int_equal(clew_writer_ledger(writer, rows, 2, &cost), 0);
	assert_int_equal(clew_writer_meta(writer, "end", "6000"), 0);
	assert_int_equal(clew_writer_clock(writer, &(struct clew_clock){4, 5, 6}), 0);
	assert_int_equal(clew_writer_stored(writer, 1, CLEW_KIND_EXIT), 1);
	assert_int_equal(clew_writer_stored(writer, 0, CLEW_KIND_EXIT), 0);
	assert_int_equal(clew_writer_close(writer), 0);

	assert_int_equal(clew_capture_probe(path), 1);
	reader = open_reader(path);
	info = clew_reader_info(reader);
	assert_string_equal(clew_reader_meta(reader, "kernel"), "6.18");
	assert_null(clew_reader_meta(reader, "host"));
	assert_int_equal(info->start, 4500);
	assert_int_equal(info->end, 6000);
	assert_int_equal(info->cpus, 2);
	assert_int_equal(info->clock_count, 2);
	assert_int_equal(info->clocks[1].wall, 6);
	assert_int_equal(info->ledger_count, 2);
	assert_memory_equal(info->ledger, rows, sizeof(rows));
	assert_int_equal(info->cost.user_ns, 13);
	assert_int_equal(info->cost.bpf_ns, 34);
	assert_true(info->cost.bpf_sampled);
	assert_true(info->column_bytes[CLEW_KIND_EXIT] > 0);
	clew_reader_close(reader);
	unlink(path);
}

static void test_refuses_what_is_no_record(void **state)
{
	struct clew_writer *writer;
	union any_record any = {
		.change.record = {.header = {.kind = CLEW_KIND_SWITCH, .flags = CLEW_SWITCH_WAIT}}};
	char path[64];

	(void)state;
	temporary_path(path);
	writer = open_writer(path, 1, false);
	assert_int_equal(clew_writer_put(writer, 0, &any, sizeof(struct clew_switch)), -EINVAL);
	assert_int_equal(clew_writer_put(writer, 1, &any, sizeof(any)), -EINVAL);
	any.header.flags = CLEW_SWITCH_WAIT | CLEW_SWITCH_CAUSE;
	assert_int_equal(clew_writer_put(writer, 0, &any, sizeof(any.change) - 1), -EINVAL);
	any.header.flags = CLEW_SWITCH_CAUSE;
	assert_int_equal(
		clew_writer_put(writer, 0, &any,
				sizeof(struct clew_switch) + sizeof(struct clew_cause) - 1),
		-EINVAL);
	any.header.kind = CLEW_KIND_WAKE;
	assert_int_equal(clew_writer_put(writer, 0, &any, sizeof(any)), -EINVAL);
	any.header.kind = 0;
	assert_int_equal(clew_writer_put(writer, 0, &any, sizeof(any)), -EINVAL);
	any.header.kind = CLEW_KIND_TEXT;
	any.text.text_size = 100;
	assert_int_equal(clew_writer_put(writer, 0, &any, sizeof(struct clew_text_record) + 99),
			 -EINVAL);
	assert_int_equal(clew_writer_put(writer, 0, &any, sizeof(struct clew_text_record) + 100),
			 0);
	assert_int_equal(clew_writer_close(writer), 0);
	unlink(path);
}

/* Every member that a record has has a column: else its value would be lost in silence. */
static void test_schema_covers_records(void **state)
{
	(void)state;
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
		const struct store_kind *of = own_kind(kind);
		size_t covered = 0, reserved = 0;

		if (!store_record_stride(kind))
			continue;
		assert_true(of->known);
		for (unsigned i = 0; i < of->count; i++) {
			assert_true(of->columns[i].known || of->columns[i].coding == STORE_LATEST);
			if (of->columns[i].coding == STORE_LATEST)
				continue;
			if (of->columns[i].coding == STORE_TAIL)
				continue;
			covered += of->columns[i].type == STORE_BYTES ? of->columns[i].size
								      : of->columns[i].member_size;
		}
		/* The header's members are common columns. */
		covered += sizeof(struct clew_header);
		switch (kind) {
		case CLEW_KIND_SWITCH:
			reserved = 3 + 3;
			break;
		case CLEW_KIND_STATE:
			reserved = 3;
			break;
		case CLEW_KIND_WORK:
			reserved = 3 + 7;
			break;
		case CLEW_KIND_WHERE:
		case CLEW_KIND_STACK:
			reserved = 5;
			break;
		case CLEW_KIND_PAGES:
		case CLEW_KIND_LOCK:
		case CLEW_KIND_LIMIT:
		case CLEW_KIND_SITE:
		case CLEW_KIND_DROPPED:
		case CLEW_KIND_RENAME:
			reserved = 4;
			break;
		case CLEW_KIND_PRIORITY:
		case CLEW_KIND_FILE:
		case CLEW_KIND_CGROUP:
		case CLEW_KIND_SYMBOL:
			reserved = 2;
			break;
		case CLEW_KIND_TEXT:
			reserved = 6;
			break;
		case CLEW_KIND_ANNOUNCE:
		case CLEW_KIND_IMAGE:
			reserved = 1;
			break;
		case CLEW_KIND_WAITED:
		case CLEW_KIND_SAMPLE:
		case CLEW_KIND_WAKER:
			reserved = 3;
			break;
		case CLEW_KIND_LOCK_NAME: /* the process is the builder's */
			reserved = 4 + 4;
			break;
		case CLEW_KIND_FAILED: /* the holder is the builder's */
			reserved = 4 + 2;
			break;
		case CLEW_KIND_ADDRESS: /* the memory is the builder's */
			reserved = 4 + 6;
			break;
		}
		assert_int_equal(covered + reserved, of->stride);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_round_trip_flushed),
		cmocka_unit_test(test_round_trip_sync),
		cmocka_unit_test(test_round_trip_small),
		cmocka_unit_test(test_round_trip_units),
		cmocka_unit_test(test_says_of_itself),
		cmocka_unit_test(test_refuses_what_is_no_record),
		cmocka_unit_test(test_schema_covers_records),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
