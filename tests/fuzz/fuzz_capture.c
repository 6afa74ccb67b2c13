/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the capture reader. The first byte says what the rest is:
 *
 *   0  a file; its chunks' checksums are put right, so that what they hold is reached
 *   1  u16 size of a schema, the schema, then as for 2
 *   2  u16 rows, u16 size of a RECORDS payload's front, the front, what the frame holds;
 *      with this clew's own schema
 *   3  u16 rows, a RECORDS payload without a frame; with this clew's own schema
 *
 * Whatever it is: no crash, no endless loop, no memory beyond what the file's size
 * allows, and a second pass gives as many records as the first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "store/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
};

static void add(struct file *file, const void *bytes, size_t size)
{
	if (file->size + size > file->capacity) {
		file->capacity = 2 * (file->size + size);
		file->bytes = realloc(file->bytes, file->capacity);
		if (!file->bytes)
			abort();
	}
	if (size)
		memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static void add_sealed(struct file *file, struct store_chunk_header *header, const uint8_t *payload)
{
	header->checksum = store_checksum(header, payload);
	add(file, header, sizeof(*header));
	add(file, payload, header->size);
}

/* A chunk of a front that stays as it is and a frame's contents. */
static void add_chunk(struct file *file, unsigned kind, unsigned rows, const uint8_t *front,
		      size_t front_size, const uint8_t *raw, size_t raw_size)
{
	struct store_chunk_header header = {.magic = STORE_CHUNK_MAGIC,
					    .kind = kind,
					    .rows = rows,
					    .raw_size = raw_size,
					    .first_time = 1000};
	size_t bound = ZSTD_compressBound(raw_size), packed;
	uint8_t *payload = malloc(front_size + bound);

	if (!payload)
		abort();
	if (front_size)
		memcpy(payload, front, front_size);
	packed = ZSTD_compress(payload + front_size, bound, raw, raw_size, 1);
	header.size = front_size + packed;
	add_sealed(file, &header, payload);
	free(payload);
}

static void add_frameless(struct file *file, unsigned rows, const uint8_t *payload, size_t size)
{
	struct store_chunk_header header = {.magic = STORE_CHUNK_MAGIC,
					    .kind = STORE_CHUNK_RECORDS,
					    .rows = rows,
					    .size = size,
					    .first_time = 1000};

	add_sealed(file, &header, payload);
}

static void add_file_header(struct file *file)
{
	struct store_file_header header = {.major = STORE_VERSION_MAJOR};

	memcpy(header.magic, STORE_MAGIC, STORE_MAGIC_SIZE);
	add(file, &header, sizeof(header));
}

static void mend_checksums(struct file *file)
{
	static const uint32_t magic = STORE_CHUNK_MAGIC;
	uint8_t *at = file->bytes, *end = file->bytes + file->size;

	while ((at = memmem(at, end - at, &magic, sizeof(magic)))) {
		struct store_chunk_header header;

		if ((size_t)(end - at) < sizeof(header))
			break;
		memcpy(&header, at, sizeof(header));
		if (header.size > (size_t)(end - at) - sizeof(header)) {
			at++;
			continue;
		}
		header.checksum = store_checksum(&header, at + sizeof(header));
		memcpy(at, &header, sizeof(header));
		at += sizeof(header) + header.size;
	}
}

static uint16_t take_number(const uint8_t **data, size_t *size)
{
	uint16_t number;

	if (*size < sizeof(number)) {
		*size = 0;
		return 0;
	}
	memcpy(&number, *data, sizeof(number));
	*data += sizeof(number);
	*size -= sizeof(number);
	return number;
}

static void add_schema(struct file *file, const uint8_t **data, size_t *size)
{
	size_t schema_size = take_number(data, size);

	if (schema_size > *size)
		schema_size = *size;
	add_chunk(file, STORE_CHUNK_SCHEMA, 0, NULL, 0, *data, schema_size);
	*data += schema_size;
	*size -= schema_size;
}

static void add_own_schema(struct file *file)
{
	uint8_t *schema;
	size_t schema_size;

	if (store_schema_write(&schema, &schema_size) < 0)
		abort();
	add_chunk(file, STORE_CHUNK_SCHEMA, 0, NULL, 0, schema, schema_size);
	free(schema);
}

/* Reads all records and touches each of their bytes. */
static size_t read_all(struct clew_reader *reader, uint64_t *sum)
{
	const struct clew_header *record;
	size_t count = 0;

	while (clew_reader_next(reader, &record) == 1) {
		size_t size = store_record_size(record, SIZE_MAX);

		if (!size)
			abort();
		for (size_t i = 0; i < size; i++)
			*sum += ((const uint8_t *)record)[i];
		count++;
	}
	return count;
}

static void try_file(const struct file *file)
{
	struct clew_reader *reader;
	char path[32], message[200] = "";
	uint64_t sum = 0;
	int fd, r;

	fd = memfd_create("capture", MFD_CLOEXEC);
	if (fd < 0 || write(fd, file->bytes, file->size) != (ssize_t)file->size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = clew_reader_open(path, &reader, message, sizeof(message));
	if (r < 0) {
		if (!message[0])
			abort();
	} else {
		size_t count = read_all(reader, &sum);

		if (clew_reader_rewind(reader) < 0 || read_all(reader, &sum) != count)
			abort();
		clew_reader_close(reader);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file file = {0};
	unsigned mode;

	if (size < 2)
		return 0;
	mode = *data % 4;
	data++;
	size--;
	if (mode == 0) {
		add(&file, data, size);
		mend_checksums(&file);
	} else {
		unsigned rows;
		size_t front;

		add_file_header(&file);
		if (mode == 1)
			add_schema(&file, &data, &size);
		else
			add_own_schema(&file);
		rows = take_number(&data, &size);
		front = mode == 3 ? size : take_number(&data, &size);
		if (front > size)
			front = size;
		if (mode == 3)
			add_frameless(&file, rows, data, size);
		else
			add_chunk(&file, STORE_CHUNK_RECORDS, rows, data, front, data + front,
				  size - front);
	}
	if (file.size)
		try_file(&file);
	free(file.bytes);
	return 0;
}
