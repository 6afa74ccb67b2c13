/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Quick chunks: what comes out of one is, byte for byte, what comes out of a chunk of columns with
 * the same records, and columns that are made of it later are those that are made at once.
 */
#include <errno.h>

#include "store_records.h"

#include "store/quick.h"

#define ROWS 3000

/* Records that follow each other, as the encoders want them. */
struct batch {
	uint8_t *bytes;
	size_t size, rows;
};

struct codec {
	struct store_schema *schema;
	struct store_encoder *encoder;
	struct store_decoder *decoder;
	struct store_quick quick;
};

static void codec_open(struct codec *codec)
{
	char what[STORE_NAME_MAX + 1];
	uint8_t *bytes;
	size_t size;

	memset(codec, 0, sizeof(*codec));
	assert_int_equal(store_schema_write(&bytes, &size), 0);
	assert_int_equal(store_schema_parse(bytes, size, &codec->schema, what), 0);
	free(bytes);
	assert_int_equal(store_encoder_new(codec->schema, &codec->encoder), 0);
	assert_int_equal(store_decoder_new(codec->schema, &codec->decoder), 0);
}

static void codec_close(struct codec *codec)
{
	store_encoder_free(codec->encoder);
	store_decoder_free(codec->decoder);
	store_quick_done(&codec->quick);
	free(codec->schema);
}

static void batch_add(struct batch *batch, const void *record, size_t size)
{
	memcpy(batch->bytes + batch->size, record, size);
	/* No encoder may look at what is between records. */
	memset(batch->bytes + batch->size + size, 0xa5, -size & 7);
	batch->size += (size + 7) & ~(size_t)7;
	batch->rows++;
}

static void make_batch(uint64_t seed, size_t rows, struct batch *ret_batch)
{
	struct random random = {.state = seed};
	uint64_t time = 1000000;
	uint32_t last = 0;

	*ret_batch = (struct batch){.bytes = malloc(rows * sizeof(union any_record))};
	for (size_t i = 0; i < rows; i++) {
		union any_record any;
		size_t size;

		time += random_below(&random, 3000);
		size = random_record(&random, random_kind(&random), time, 3, &last, &any);
		batch_add(ret_batch, &any, size);
	}
}

static void decode(struct codec *codec, const struct store_chunk *chunk, struct batch *ret_batch)
{
	const struct clew_header *record;
	struct store_chunk_header header;
	struct store_rows rows = {0};

	memcpy(&header, chunk->data, sizeof(header));
	assert_int_equal(store_decode(codec->decoder, &header, chunk->data + sizeof(header), &rows),
			 0);
	*ret_batch = (struct batch){.bytes = malloc(header.rows * sizeof(union any_record))};
	while ((record = store_rows_next(&rows)))
		batch_add(ret_batch, record, store_record_size(record, SIZE_MAX));
	assert_int_equal(ret_batch->rows, header.rows);
	store_rows_done(&rows);
}

static struct store_chunk *columns_of(struct codec *codec, const struct batch *batch)
{
	struct store_chunk *chunk;

	assert_int_equal(store_encode(codec->encoder, batch->bytes, batch->size, batch->rows, 3, 77,
				      false, &chunk),
			 0);
	return chunk;
}

static struct store_chunk *quick_of(struct codec *codec, const struct batch *batch)
{
	struct store_chunk *chunk;

	assert_int_equal(store_quick_encode(&codec->quick, codec->schema, batch->bytes, batch->size,
					    batch->rows, 3, 77, &chunk),
			 0);
	return chunk;
}

static void expect_equal(const struct batch *one, const struct batch *other)
{
	assert_int_equal(one->rows, other->rows);
	assert_int_equal(one->size, other->size);
	assert_memory_equal(one->bytes, other->bytes, one->size);
}

static void test_is_what_columns_are(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct batch batch, of_columns, of_quick;
		struct store_chunk *columns, *quick, *late;
		struct codec codec;

		codec_open(&codec);
		make_batch(seed, seed < 10 ? seed : ROWS, &batch);
		columns = columns_of(&codec, &batch);
		quick = quick_of(&codec, &batch);
		decode(&codec, columns, &of_columns);
		decode(&codec, quick, &of_quick);
		expect_equal(&of_columns, &of_quick);
		assert_int_equal(quick->entry.first_time, columns->entry.first_time);
		assert_int_equal(quick->entry.last_time, columns->entry.last_time);
		assert_int_equal(quick->entry.kinds, columns->entry.kinds);
		for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
			assert_int_equal(quick->totals[kind].count, columns->totals[kind].count);
		/* Columns of it, later. */
		late = columns_of(&codec, &of_quick);
		assert_int_equal(late->size, columns->size);
		assert_memory_equal(late->data, columns->data, columns->size);
		free(late);
		free(quick);
		free(columns);
		free(batch.bytes);
		free(of_columns.bytes);
		free(of_quick.bytes);
		codec_close(&codec);
	}
}

/* Cut off anywhere, or changed, a quick chunk is refused or gives records. */
static void test_trusts_nothing(void **state)
{
	struct random random = {.state = 9};
	struct store_chunk_header header;
	struct store_rows rows = {0};
	struct store_chunk *chunk;
	struct codec codec;
	struct batch batch;
	uint8_t *payload;

	(void)state;
	codec_open(&codec);
	make_batch(5, 200, &batch);
	chunk = quick_of(&codec, &batch);
	memcpy(&header, chunk->data, sizeof(header));
	payload = malloc(header.size);
	for (uint32_t size = 0; size < header.size; size += 1 + size / 50) {
		struct store_chunk_header cut = header;
		/* So large that a sanitizer sees what is read behind it. */
		uint8_t *exact = malloc(size + 1);

		memcpy(exact, chunk->data + sizeof(header), size);
		cut.size = size;
		assert_int_equal(store_decode(codec.decoder, &cut, exact, &rows), -EBADMSG);
		free(exact);
	}
	for (unsigned i = 0; i < 3000; i++) {
		int r;

		memcpy(payload, chunk->data + sizeof(header), header.size);
		for (unsigned flips = 1 + random_below(&random, 3); flips; flips--)
			payload[random_below(&random, header.size)] ^= 1
								       << random_below(&random, 8);
		r = store_decode(codec.decoder, &header, payload, &rows);
		assert_true(r == 0 || r == -EBADMSG);
		while (r == 0 && store_rows_next(&rows))
			;
	}
	free(payload);
	store_rows_done(&rows);
	free(chunk);
	free(batch.bytes);
	codec_close(&codec);
}

struct quick_file {
	uint64_t quick;
	bool stays;
	uint64_t time;	  /* ns, for columns at the end */
	uint64_t reaches; /* bytes that it has before it is closed .. */
	uint64_t falls;	  /* .. and then, once CPUs are idle; 0: they are not */
};

static _Atomic bool busy = true;

/* Writes the batch to a file, each second record to the other CPU. */
static void write_batch(const char *path, const struct batch *batch, const struct quick_file *as)
{
	struct clew_writer_options options = {.size = sizeof(options),
					      .cpus = 2,
					      .quick = as->quick,
					      .quick_stays = as->stays,
					      .quick_time = as->time,
					      .quick_busy = &busy};
	struct clew_writer *writer;
	size_t at = 0;

	assert_int_equal(clew_writer_open(path, &options, &writer), 0);
	for (size_t i = 0; i < batch->rows; i++) {
		size_t size = store_record_size(batch->bytes + at, SIZE_MAX);

		assert_int_equal(clew_writer_put(writer, i % 2, batch->bytes + at, size), 0);
		at += (size + 7) & ~(size_t)7;
		if (i % 4000 == 0)
			assert_int_equal(clew_writer_flush(writer, i / 4000 % 2, 2, 0), 0);
	}
	while (clew_writer_bytes(writer) < as->reaches)
		usleep(1000);
	/* A batch of the file is the moment for columns. */
	for (unsigned i = 0; as->falls && clew_writer_bytes(writer) > as->falls; i++) {
		const struct clew_clock clock = {i, i, i};

		busy = false;
		assert_int_equal(clew_writer_clock(writer, &clock), 0);
		usleep(1000);
	}
	busy = true;
	assert_int_equal(clew_writer_close(writer), 0);
}

/* Bytes of the file's quick chunks. */
static size_t quick_bytes(const char *path)
{
	struct store_chunk_header header;
	size_t size, sum = 0;
	uint8_t *bytes;

	size = read_file(path, &bytes);
	for (size_t at = sizeof(struct store_file_header); at < size;
	     at += sizeof(header) + header.size) {
		memcpy(&header, bytes + at, sizeof(header));
		assert_int_equal(header.magic, STORE_CHUNK_MAGIC);
		if (header.kind == STORE_CHUNK_RECORDS &&
		    bytes[at + sizeof(header)] & STORE_FRONT_QUICK)
			sum += header.size;
	}
	free(bytes);
	return sum;
}

static uint64_t raw_records(const char *path)
{
	struct clew_reader *reader = open_reader(path);
	uint64_t raw;

	assert_int_equal(clew_reader_check(reader), 0);
	raw = clew_reader_info(reader)->quick_records;
	clew_reader_close(reader);
	return raw;
}

/* Two files with the same records. */
static void expect_same(const char *path, const char *other)
{
	struct clew_reader *readers[2] = {open_reader(path), open_reader(other)};
	const struct clew_header *records[2];
	int r[2];

	for (unsigned i = 0; i < 2; i++) {
		assert_true(clew_reader_info(readers[i])->complete);
		assert_int_equal(clew_reader_info(readers[i])->damaged_chunks, 0);
	}
	assert_memory_equal(clew_reader_info(readers[0])->counts,
			    clew_reader_info(readers[1])->counts,
			    sizeof(clew_reader_info(readers[0])->counts));
	for (;;) {
		size_t size;

		for (unsigned i = 0; i < 2; i++)
			r[i] = clew_reader_next(readers[i], &records[i]);
		assert_int_equal(r[0], r[1]);
		if (r[0] != 1)
			break;
		size = store_record_size(records[0], SIZE_MAX);
		assert_int_equal(store_record_size(records[1], SIZE_MAX), size);
		assert_memory_equal(records[0], records[1], size);
	}
	assert_int_equal(r[0], 0);
	clew_reader_close(readers[0]);
	clew_reader_close(readers[1]);
}

#define MANY 200000

static void test_becomes_columns(void **state)
{
	char direct[64], late[64];
	struct stat sizes[2];
	struct batch batch;

	(void)state;
	temporary_path(direct);
	temporary_path(late);
	make_batch(3, MANY, &batch);
	write_batch(direct, &batch, &(struct quick_file){0});
	assert_int_equal(stat(direct, &sizes[0]), 0);
	/* Only with quick chunks it becomes that large. */
	write_batch(
		late, &batch,
		&(struct quick_file){.quick = 1ull << 30, .reaches = sizes[0].st_size * 11 / 10});
	assert_int_equal(raw_records(direct), 0);
	assert_int_equal(raw_records(late), 0);
	expect_same(direct, late);
	/* Nothing is left of their space. */
	assert_int_equal(stat(late, &sizes[1]), 0);
	assert_true(sizes[1].st_size < sizes[0].st_size * 21 / 20);
	unlink(direct);
	unlink(late);
	free(batch.bytes);
}

/* The same before it is closed. */
static void test_becomes_columns_when_idle(void **state)
{
	char direct[64], late[64];
	struct stat size;
	struct batch batch;

	(void)state;
	temporary_path(direct);
	temporary_path(late);
	make_batch(6, MANY, &batch);
	write_batch(direct, &batch, &(struct quick_file){0});
	assert_int_equal(stat(direct, &size), 0);
	write_batch(late, &batch,
		    &(struct quick_file){.quick = 1ull << 30,
					 .reaches = size.st_size * 11 / 10,
					 .falls = size.st_size * 21 / 20});
	assert_int_equal(raw_records(late), 0);
	expect_same(direct, late);
	unlink(direct);
	unlink(late);
	free(batch.bytes);
}

/* Quick chunks that stay, up to a bound. */
static void test_stays(void **state)
{
	const uint64_t bounds[] = {1 << 20, 1ull << 30};
	char direct[64], late[64];
	struct batch batch;

	(void)state;
	temporary_path(direct);
	temporary_path(late);
	make_batch(4, MANY, &batch);
	write_batch(direct, &batch, &(struct quick_file){0});
	for (unsigned i = 0; i < 2; i++) {
		size_t quick;

		write_batch(late, &batch, &(struct quick_file){.quick = bounds[i], .stays = true});
		quick = quick_bytes(late);
		/* The last chunk may be beyond the bound. */
		assert_true(quick > 1 << 20 && quick < bounds[i] + STORE_CHUNK_BYTES);
		assert_true(raw_records(late) > 10000);
		expect_same(direct, late);
	}
	unlink(direct);
	unlink(late);
	free(batch.bytes);
}

/* Columns that take longer at the end than they may are left out. */
static void test_has_no_time(void **state)
{
	char direct[64], late[64];
	struct batch batch;

	(void)state;
	temporary_path(direct);
	temporary_path(late);
	make_batch(7, MANY, &batch);
	write_batch(direct, &batch, &(struct quick_file){0});
	for (uint64_t time = 1; time <= 100000000; time *= 100) {
		write_batch(late, &batch, &(struct quick_file){.quick = 1ull << 30, .time = time});
		assert_true(time > 1 || raw_records(late) > 10000);
		expect_same(direct, late);
	}
	unlink(direct);
	unlink(late);
	free(batch.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_what_columns_are),
		cmocka_unit_test(test_trusts_nothing),
		cmocka_unit_test(test_becomes_columns),
		cmocka_unit_test(test_becomes_columns_when_idle),
		cmocka_unit_test(test_has_no_time),
		cmocka_unit_test(test_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
