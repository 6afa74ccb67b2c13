/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The format as others see it: tests/capture_reader.py, written from
 * docs/file-format.md alone, finds the same records; and files of a later clew,
 * with columns, kinds and chunks not known here, are read as far as they are known.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <zstd.h>

#include "store_records.h"

#include "store/chunk.h"

/* ---- the independent reader ---- */

static void show_hex(FILE *out, const char *name, const void *bytes, size_t size, bool trim)
{
	const uint8_t *at = bytes;

	while (trim && size && !at[size - 1])
		size--;
	fprintf(out, ",\"%s\":\"", name);
	for (size_t i = 0; i < size; i++)
		fprintf(out, "%02x", at[i]);
	fprintf(out, "\"");
}

static void show_column(FILE *out, const struct store_kind *kind, const struct store_column *column,
			const struct clew_header *header)
{
	const uint8_t *at = (const uint8_t *)header + column_offset(column, header);

	if (!column_present(column, header))
		return;
	if (column->coding == STORE_TAIL)
		show_hex(out, column->name, at,
			 column_value(&kind->columns[column->reference], header), false);
	else if (column->type == STORE_BYTES)
		show_hex(out, column->name, at, column->size, true);
	else if (column->type == STORE_I32)
		fprintf(out, ",\"%s\":%d", column->name, (int32_t)column_value(column, header));
	else
		fprintf(out, ",\"%s\":%" PRIu64, column->name, column_value(column, header));
}

/* A record as one line, as capture_reader.py prints it. */
static void show(FILE *out, const struct clew_header *header)
{
	const struct store_kind *common = own_kind(0), *kind = own_kind(header->kind);

	fprintf(out, "{\"kind\":\"%s\"", kind->name);
	for (unsigned i = 1; i < common->count; i++)
		show_column(out, common, &common->columns[i], header);
	for (unsigned i = 0; i < kind->count; i++)
		show_column(out, kind, &kind->columns[i], header);
	fprintf(out, "}\n");
}

/* Tests run from the top of the tree. */
static void reader_command(char *command, size_t size, const char *path)
{
	snprintf(command, size, "/usr/bin/python3 tests/capture_reader.py %s", path);
}

static void expect_agreement(const char *path)
{
	const struct clew_header *record;
	struct clew_reader *reader;
	char command[1024], *theirs = NULL, *ours = NULL;
	size_t theirs_size = 0, ours_size = 0, count = 0;
	FILE *python;
	int r;

	reader_command(command, sizeof(command), path);
	python = popen(command, "r");
	assert_non_null(python);
	reader = open_reader(path);
	while ((r = next_stored(reader, &record)) == 1) {
		FILE *line = open_memstream(&ours, &ours_size);

		show(line, record);
		fclose(line);
		assert_true(getline(&theirs, &theirs_size, python) > 0);
		assert_string_equal(theirs, ours);
		free(ours);
		count++;
	}
	assert_int_equal(r, 0);
	assert_true(getline(&theirs, &theirs_size, python) > 0);
	assert_memory_equal(theirs, "{\"summary\":", 11);
	assert_non_null(strstr(theirs, clew_reader_info(reader)->complete ? "\"complete\":true"
									  : "\"complete\":false"));
	assert_non_null(strstr(theirs, "\"key\":\"value\""));
	assert_non_null(strstr(theirs, "\"clocks\":[[1,2,3]]"));
	assert_non_null(strstr(theirs, "\"user_ns\":77"));
	assert_int_equal(getline(&theirs, &theirs_size, python), -1);
	assert_int_equal(pclose(python), 0);
	assert_true(count > 100);
	clew_reader_close(reader);
	free(theirs);
}

/* `step`: the longest time between two records, ns. Slow streams are packed. `unit`: see struct
 * random. */
static void agree(unsigned records, uint64_t step, unsigned unit)
{
	struct clew_ledger_row row = {.cpu = 1, .kind = 1, .seen = 9};
	struct random random = {77, unit};
	struct clew_writer *writer;
	uint32_t last[3] = {0};
	uint64_t time = 1000000;
	union any_record any;
	char path[64];
	size_t size;
	int fd;

	if (system("/usr/bin/python3 -c 'import zstandard' 2>/dev/null") != 0)
		skip();
	temporary_path(path);
	writer = open_writer(path, 2, false);
	assert_int_equal(clew_writer_meta(writer, "key", "value"), 0);
	assert_int_equal(clew_writer_clock(writer, &(struct clew_clock){1, 2, 3}), 0);
	for (unsigned i = 0; i < records; i++) {
		unsigned stream = random_below(&random, 3);

		time += 1 + random_below(&random, step);
		size = random_record(&random, random_kind(&random), in_units(&random, time), stream,
				     &last[stream], &any);
		assert_int_equal(clew_writer_put(writer, stream == 2 ? CLEW_STREAM_USER : stream,
						 &any, size),
				 0);
		if (i % 1000 == 999 || i + 1 == records) {
			assert_int_equal(clew_writer_flush(writer, 0, 1, 0), 0);
			assert_int_equal(
				clew_writer_ledger(
					writer, &row, 1,
					&(struct clew_cost){.user_ns = i + 1 == records ? 77 : 70}),
				0);
		}
	}
	assert_int_equal(clew_writer_close(writer), 0);
	expect_agreement(path);

	/* Without its index, too. */
	fd = open(path, O_RDWR);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 5), 0);
	close(fd);
	expect_agreement(path);
	unlink(path);
}

static void test_agrees_with_independent_reader(void **state)
{
	(void)state;
	agree(6000, 100000, 0);
}

static void test_agrees_on_packed_chunks(void **state)
{
	(void)state;
	agree(500, 10000000, 0);
}

static void test_agrees_on_units(void **state)
{
	(void)state;
	agree(500, 10000000, 6);
	agree(300, 10000000, 13);
}

/* ---- a later clew's file, made by hand ---- */

struct bytes {
	uint8_t data[4096];
	size_t size;
};

static void add(struct bytes *bytes, const void *data, size_t size)
{
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

static void add_number(struct bytes *bytes, uint64_t value, size_t size)
{
	add(bytes, &value, size);
}

static void add_name(struct bytes *bytes, const char *name)
{
	add_number(bytes, strlen(name), 1);
	add(bytes, name, strlen(name));
}

static void add_column(struct bytes *bytes, const char *name, unsigned type, unsigned coding,
		       unsigned reference)
{
	add_name(bytes, name);
	add_number(bytes, type, 1);
	add_number(bytes, coding, 1);
	add_number(bytes, reference, 1);
	for (unsigned i = 0; i < 4; i++)
		add_number(bytes, STORE_NONE, 1);
	add_number(bytes, 0, 4);
	add_number(bytes, 0, 2);
}

/* A column that has what a column of another kind had last. */
static void add_following(struct bytes *bytes, unsigned kind, unsigned column)
{
	add_column(bytes, "latest", STORE_U32, STORE_LATEST, column);
	bytes->data[bytes->size - 10] = kind;
}

static void add_chunk(struct bytes *file, unsigned kind, const struct bytes *front,
		      const struct bytes *frame, unsigned rows)
{
	struct store_chunk_header header = {
		.magic = STORE_CHUNK_MAGIC, .kind = kind, .rows = rows, .first_time = 1000};
	struct bytes payload = {.size = 0};
	size_t size;

	if (front)
		payload = *front;
	if (frame) {
		size = ZSTD_compress(payload.data + payload.size,
				     sizeof(payload.data) - payload.size, frame->data, frame->size,
				     3);
		assert_false(ZSTD_isError(size));
		payload.size += size;
		header.raw_size = frame->size;
	}
	header.size = payload.size;
	header.checksum = store_checksum(&header, payload.data);
	add(file, &header, sizeof(header));
	add(file, payload.data, payload.size);
}

static void start_file(struct bytes *file, unsigned minor)
{
	struct store_file_header header = {.major = STORE_VERSION_MAJOR, .minor = minor};

	memcpy(header.magic, STORE_MAGIC, STORE_MAGIC_SIZE);
	file->size = 0;
	add(file, &header, sizeof(header));
}

/* Kinds: common (kind, an unknown column in an unknown coding, time), exit with unknown columns,
 * and an unknown kind. */
static void later_schema(struct bytes *schema)
{
	schema->size = 0;
	add_number(schema, 3, 2);
	add_number(schema, 0, 1);
	add_name(schema, "common");
	add_number(schema, 3, 1);
	add_column(schema, "kind", STORE_U8, STORE_PLAIN, STORE_NONE);
	add_column(schema, "mood", 99, 201, 7);
	add_column(schema, "time", STORE_U64, STORE_TIME, STORE_NONE);
	add_number(schema, CLEW_KIND_EXIT, 1);
	add_name(schema, "exit");
	add_number(schema, 4, 1);
	add_column(schema, "weight", STORE_U32, STORE_PLAIN, STORE_NONE);
	add_column(schema, "task", STORE_U32, STORE_SAME, 0);
	add_column(schema, "sound", STORE_BYTES, 55, STORE_NONE);
	add_column(schema, "value", STORE_U64, STORE_PREVIOUS, 3);
	add_number(schema, 200, 1);
	add_name(schema, "dream");
	add_number(schema, 1, 1);
	add_column(schema, "depth", STORE_U16, STORE_PLAIN, STORE_NONE);
}

static void later_records(struct bytes *front, struct bytes *frame)
{
	front->size = frame->size = 0;
	add_number(front, 2, 1);
	add_number(front, CLEW_KIND_EXIT, 1);
	add_number(front, 2, 4);
	add_number(front, 20, 4);
	add_number(front, 200, 1);
	add_number(front, 1, 4);
	add_number(front, 2, 4);
	/* lengths: kind, mood, time; weight, task, sound, value; depth */
	add(frame, "\x03\x05\x03\x02\x02\x04\x02\x02", 8);
	add(frame,
	    "\x06\xc8\x06"
	    "abcde"
	    "\x00\x05\x05",
	    11); /* kinds 6, 200, 6; times 1000, 1005, 1010 */
	add(frame,
	    "\x0a\x14"
	    "\x02\x01"
	    "1234"
	    "\x0e\x02",
	    10); /* weights 10, 20; tasks +1, -1; values 7, 8 */
	add(frame, "\xff\xff", 2);
}

static void test_reads_a_later_file(void **state)
{
	struct bytes file = {.size = 0}, schema, front, frame,
		     odd = {.data = "whatever", .size = 8};
	const struct clew_header *record;
	const struct clew_life *life;
	struct clew_reader *reader;
	char path[64];
	int fd;

	(void)state;
	later_schema(&schema);
	later_records(&front, &frame);
	start_file(&file, 9);
	add_chunk(&file, 77, &odd, NULL, 0);
	add_chunk(&file, STORE_CHUNK_SCHEMA, NULL, &schema, 0);
	add_chunk(&file, 78, &odd, NULL, 0);
	add_chunk(&file, STORE_CHUNK_RECORDS, &front, &frame, 3);

	temporary_path(path);
	fd = open(path, O_WRONLY);
	assert_int_equal(write(fd, file.data, file.size), file.size);
	close(fd);
	reader = open_reader(path);
	assert_int_equal(clew_reader_info(reader)->counts[CLEW_KIND_EXIT], 2);
	assert_int_equal(clew_reader_info(reader)->damaged_chunks, 0);
	assert_int_equal(next_stored(reader, &record), 1);
	life = (const struct clew_life *)record;
	assert_int_equal(record->time, 1000);
	assert_int_equal(record->kind, CLEW_KIND_EXIT);
	assert_int_equal(record->lost, 0);
	assert_int_equal(life->task, 11);
	assert_int_equal(life->other, 0);
	assert_int_equal(life->value, 7);
	assert_int_equal(next_stored(reader, &record), 1);
	life = (const struct clew_life *)record;
	assert_int_equal(record->time, 1010);
	assert_int_equal(life->task, 19);
	assert_int_equal(life->value, 8);
	assert_int_equal(next_stored(reader, &record), 0);
	clew_reader_close(reader);
	unlink(path);
}

/* A packed chunk with a wrong byte and a right checksum is refused, or read as something else. */
static void test_broken_streams(void **state)
{
	struct random random = {.state = 5};
	const struct store_schema *schema = own_schema();
	struct store_rows rows = {0};
	struct store_encoder *encoder;
	struct store_decoder *decoder;
	struct store_chunk_header header;
	struct store_chunk *chunk;
	union any_record any;
	uint8_t *records = calloc(1, 1 << 20), *payload;
	unsigned read = 0, refused = 0;
	size_t used = 0, count = 40;
	uint32_t lost = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		size_t size =
			random_record(&random, random_kind(&random), 1000000 * i, 0, &lost, &any);

		memcpy(records + used, &any, size);
		used += (size + 7) & ~(size_t)7;
	}
	assert_int_equal(store_encoder_new(schema, &encoder), 0);
	assert_int_equal(store_decoder_new(schema, &decoder), 0);
	assert_int_equal(store_encode(encoder, records, used, count, 0, 0, true, &chunk), 0);
	memcpy(&header, chunk->data, sizeof(header));
	payload = chunk->data + sizeof(header);
	assert_true(payload[0] & STORE_FRONT_PACKED);
	for (unsigned i = 0; i < 300; i++) {
		size_t at = random_below(&random, header.size);
		uint8_t was = payload[at];
		int r;

		payload[at] ^= 1 + random_below(&random, 255);
		r = store_decode(decoder, &header, payload, &rows);
		assert_true(r == 0 || r == -EBADMSG);
		while (r == 0 && store_rows_next(&rows))
			;
		read += r == 0;
		refused += r < 0;
		payload[at] = was;
	}
	assert_true(read > 0 && refused > 0);
	assert_int_equal(store_decode(decoder, &header, payload, &rows), 0);
	assert_int_equal(rows.rows, count);
	store_rows_done(&rows);
	store_decoder_free(decoder);
	store_encoder_free(encoder);
	free(chunk);
	free(records);
}

static void refuse_schema(const struct bytes *schema, int error)
{
	struct store_schema *parsed;
	char what[STORE_NAME_MAX + 1];

	assert_int_equal(store_schema_parse(schema->data, schema->size, &parsed, what), error);
}

static void start_schema(struct bytes *schema, unsigned columns)
{
	schema->size = 0;
	add_number(schema, 2, 2);
	add_number(schema, 0, 1);
	add_name(schema, "common");
	add_number(schema, 1, 1);
	add_column(schema, "kind", STORE_U8, STORE_PLAIN, STORE_NONE);
	add_number(schema, CLEW_KIND_TEXT, 1);
	add_name(schema, "text");
	add_number(schema, columns, 1);
}

/* A schema that cannot be followed is refused before anything is decoded by it. */
static void test_refuses_broken_schemas(void **state)
{
	struct bytes schema;

	(void)state;
	later_schema(&schema);
	for (size_t size = 0; size < schema.size; size++) {
		struct bytes cut = schema;

		cut.size = size;
		refuse_schema(&cut, -EINVAL);
	}
	/* a column that looks ahead */
	start_schema(&schema, 2);
	add_column(&schema, "hash", STORE_U64, STORE_SAME, 1);
	add_column(&schema, "text_size", STORE_U16, STORE_PLAIN, STORE_NONE);
	refuse_schema(&schema, -EINVAL);
	/* itself, where that means nothing */
	start_schema(&schema, 1);
	add_column(&schema, "hash", STORE_U64, STORE_KEYED, 0);
	refuse_schema(&schema, -EINVAL);
	/* the same name twice */
	start_schema(&schema, 2);
	add_column(&schema, "hash", STORE_U64, STORE_PLAIN, STORE_NONE);
	add_column(&schema, "hash", STORE_U64, STORE_PLAIN, STORE_NONE);
	refuse_schema(&schema, -EINVAL);
	/* a column that follows its own kind, one that is not there, and one of bytes */
	start_schema(&schema, 2);
	add_column(&schema, "text_size", STORE_U16, STORE_PLAIN, STORE_NONE);
	add_following(&schema, CLEW_KIND_TEXT, 0);
	refuse_schema(&schema, -EINVAL);
	start_schema(&schema, 1);
	add_following(&schema, 77, 0);
	refuse_schema(&schema, -EINVAL);
	start_schema(&schema, 1);
	add_following(&schema, 0, 0);
	refuse_schema(&schema, -EINVAL);
	/* a column that is needed, in a coding not known */
	start_schema(&schema, 1);
	add_column(&schema, "hash", STORE_U64, 44, STORE_NONE);
	refuse_schema(&schema, -EPROTONOSUPPORT);
	/* a type not known, in a coding whose reference means something in others */
	start_schema(&schema, 1);
	add_column(&schema, "hash", 99, STORE_TAIL, STORE_NONE);
	refuse_schema(&schema, -EPROTONOSUPPORT);
}

/* 64 kinds fit, and masks of them have a bit for all that are beyond. */
static void test_room_for_kinds(void **state)
{
	char what[STORE_NAME_MAX + 1];
	struct store_schema *parsed;
	struct bytes schema;

	(void)state;
	for (unsigned kinds = CLEW_KINDS_MAX; kinds <= CLEW_KINDS_MAX + 1; kinds++) {
		schema.size = 0;
		add_number(&schema, kinds, 2);
		add_number(&schema, 0, 1);
		add_name(&schema, "common");
		add_number(&schema, 1, 1);
		add_column(&schema, "kind", STORE_U8, STORE_PLAIN, STORE_NONE);
		for (unsigned kind = 1; kind < kinds; kind++) {
			add_number(&schema, kind, 1);
			add_name(&schema, "later");
			add_number(&schema, 0, 1);
		}
		if (kinds > CLEW_KINDS_MAX) {
			refuse_schema(&schema, -EINVAL);
			continue;
		}
		assert_int_equal(store_schema_parse(schema.data, schema.size, &parsed, what), 0);
		assert_int_equal(parsed->count, CLEW_KINDS_MAX);
		free(parsed);
	}
	assert_true(clew_kind_bit(40) == 1ull << 40);
	assert_true(clew_kind_bit(63) == 1ull << 63);
	assert_true(clew_kind_bit(200) == 1ull << 63);
	assert_int_equal(store_index_kinds(clew_kind_bit(30)), 1u << 30);
	assert_int_equal(store_index_kinds(clew_kind_bit(31)), 1u << 31);
	assert_int_equal(store_index_kinds(clew_kind_bit(40) | clew_kind_bit(2)), 1u << 31 | 4);
	assert_int_equal(store_index_kinds(clew_kind_bit(200)), 1u << 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees_with_independent_reader),
		cmocka_unit_test(test_agrees_on_packed_chunks),
		cmocka_unit_test(test_agrees_on_units),
		cmocka_unit_test(test_broken_streams),
		cmocka_unit_test(test_reads_a_later_file),
		cmocka_unit_test(test_refuses_broken_schemas),
		cmocka_unit_test(test_room_for_kinds),
	};

	return cmocka_run_group_tests_name("store_format", tests, NULL, NULL);
}
