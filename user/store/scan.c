/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture's chunks. A complete file has an index. In any other each chunk
 * begins where the one before ends or, after damage, at the next position that
 * looks like a chunk and has the right checksum.
 *
 * The file is read, not mapped: it may be truncated while it is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/scan.h"

#define WINDOW	(64u << 10)
#define ROW_MAX (1ull << 62)

/* Reads exactly `size` bytes; -EBADMSG: the file ends before. */
static int read_at(const struct store_file *file, void *to, size_t size, uint64_t offset)
{
	uint8_t *at = to;

	while (size) {
		ssize_t n = pread(file->fd, at, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EBADMSG;
		at += n;
		size -= n;
		offset += n;
	}
	return 0;
}

/* Reads the chunk at `offset` if it is whole. */
static int read_chunk(const struct store_file *file, uint64_t offset, struct store_payload *payload,
		      struct store_chunk_header *header)
{
	int r;

	if (offset > file->size || file->size - offset < sizeof(*header))
		return -EBADMSG;
	r = read_at(file, header, sizeof(*header), offset);
	if (r < 0)
		return r;
	if (header->magic != STORE_CHUNK_MAGIC || header->size > STORE_PAYLOAD_MAX ||
	    header->size > file->size - offset - sizeof(*header))
		return -EBADMSG;
	if (header->size > payload->capacity) {
		free(payload->bytes);
		payload->bytes = malloc(header->size);
		payload->capacity = payload->bytes ? header->size : 0;
		if (!payload->bytes)
			return -ENOMEM;
	}
	r = read_at(file, payload->bytes, header->size, offset + sizeof(*header));
	if (r < 0)
		return r;
	return store_checksum(header, payload->bytes) == header->checksum ? 0 : -EBADMSG;
}

int store_file_read(const struct store_file *file, const struct store_index_entry *entry,
		    struct store_payload *payload, struct store_chunk_header *ret_header)
{
	int r;

	r = read_chunk(file, entry->offset, payload, ret_header);
	if (r < 0)
		return r;
	if (ret_header->kind != entry->kind || ret_header->stream != entry->stream ||
	    ret_header->rows != entry->rows || ret_header->row != entry->row)
		return -EBADMSG;
	return 0;
}

static int add_entry(struct store_file *file, const struct store_index_entry *entry)
{
	if (file->count == file->capacity) {
		size_t capacity = file->capacity ? 2 * file->capacity : 64;
		struct store_index_entry *bigger =
			realloc(file->entries, capacity * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		file->entries = bigger;
		file->capacity = capacity;
	}
	file->entries[file->count++] = *entry;
	return 0;
}

/* ---- with an index ---- */

static int take_index(struct store_file *file, const uint8_t *bytes, size_t size)
{
	uint32_t counts[2];
	uint64_t need;
	int r = 0;

	if (size < sizeof(counts))
		return -EBADMSG;
	memcpy(counts, bytes, sizeof(counts));
	need = 8 + (uint64_t)counts[0] * sizeof(struct store_index_total) +
	       (uint64_t)counts[1] * sizeof(struct store_index_entry);
	if (need != size)
		return -EBADMSG;
	memcpy(file->totals, bytes + 8,
	       (counts[0] < CLEW_KIND_COUNT ? counts[0] : CLEW_KIND_COUNT) *
		       sizeof(struct store_index_total));
	bytes += 8 + (size_t)counts[0] * sizeof(struct store_index_total);
	for (uint32_t i = 0; i < counts[1] && r == 0;
	     i++, bytes += sizeof(struct store_index_entry)) {
		struct store_index_entry entry;

		memcpy(&entry, bytes, sizeof(entry));
		r = add_entry(file, &entry);
	}
	return r;
}

/*
 * Returns 0 if the file has an index, which was taken, -EBADMSG if it has none.
 */
static int read_index(struct store_file *file)
{
	struct store_trailer trailer;
	struct store_chunk_header header;
	uint8_t *bytes = NULL;
	int r;

	if (file->size < sizeof(struct store_file_header) + sizeof(header) + sizeof(trailer))
		return -EBADMSG;
	r = read_at(file, &trailer, sizeof(trailer), file->size - sizeof(trailer));
	if (r < 0)
		return r;
	if (memcmp(trailer.magic, STORE_END_MAGIC, sizeof(trailer.magic)) != 0)
		return -EBADMSG;
	r = read_chunk(file, trailer.index, &file->payload, &header);
	if (r < 0)
		return r;
	if (header.kind != STORE_CHUNK_INDEX ||
	    trailer.index + sizeof(header) + header.size != file->size ||
	    header.size < sizeof(trailer))
		return -EBADMSG;
	header.size -= sizeof(trailer);
	r = store_unframe(&header, file->payload.bytes, &bytes);
	if (r == 0)
		r = take_index(file, bytes, header.raw_size);
	free(bytes);
	return r;
}

/* ---- without ---- */

static struct store_index_entry entry_of(const struct store_file *file,
					 const struct store_chunk_header *header, uint64_t offset)
{
	struct store_index_entry entry = {
		.offset = offset,
		.row = header->row,
		.first_time = header->first_time,
		.last_time = header->last_time,
		.size = header->size,
		.rows = header->rows,
		.kind = header->kind,
		.stream = header->stream,
	};
	struct store_front front;

	if (header->kind != STORE_CHUNK_RECORDS ||
	    store_front_parse(file->payload.bytes, header->size, &front) < 0)
		return entry;
	for (unsigned i = 0; i < front.count; i++)
		entry.kinds |= store_index_kinds(clew_kind_bit(front.entries[i].kind));
	return entry;
}

/*
 * The next position from `offset` on with a chunk's magic number, or the file's
 * size.
 */
static int find_magic(struct store_file *file, uint64_t offset, uint64_t *ret_offset)
{
	static const uint32_t magic = STORE_CHUNK_MAGIC;
	uint8_t *window = malloc(WINDOW);
	int r = 0;

	if (!window)
		return -ENOMEM;
	*ret_offset = file->size;
	while (file->size - offset >= sizeof(struct store_chunk_header)) {
		size_t size = file->size - offset < WINDOW ? file->size - offset : WINDOW;
		uint8_t *found;

		r = read_at(file, window, size, offset);
		if (r < 0)
			break;
		found = memmem(window, size, &magic, sizeof(magic));
		if (found) {
			*ret_offset = offset + (found - window);
			break;
		}
		offset += size - (sizeof(magic) - 1);
	}
	free(window);
	return r;
}

/* True if a range is zeros that fill a block: neither a chunk nor damage. */
static bool all_zero(struct store_file *file, uint64_t from, uint64_t to)
{
	uint8_t bytes[4096];

	if (to - from > sizeof(bytes) || read_at(file, bytes, to - from, from) < 0)
		return false;
	for (size_t i = 0; i < to - from; i++)
		if (bytes[i])
			return false;
	return true;
}

/*
 * True if the index of a complete file, read last, is at another position than
 * it says: something before it is missing or was inserted.
 */
static bool was_moved(const struct store_file *file, const struct store_chunk_header *header,
		      uint64_t offset)
{
	struct store_trailer trailer;

	if (header->size < sizeof(trailer))
		return true;
	memcpy(&trailer, file->payload.bytes + header->size - sizeof(trailer), sizeof(trailer));
	return trailer.index != offset;
}

static int rebuild_index(struct store_file *file)
{
	/*
	 * A file made of nothing but beginnings of chunks must not take
	 * forever.
	 */
	uint64_t offset = file->headless ? 0 : sizeof(struct store_file_header);
	uint64_t budget = 8 * file->size + (64u << 20);
	uint64_t lost = 0;

	file->count = 0;
	file->torn = true;
	while (offset < file->size) {
		struct store_chunk_header header;
		int r;

		r = read_chunk(file, offset, &file->payload, &header);
		if (r == -EBADMSG) {
			uint64_t cost = sizeof(header);

			if (file->size - offset >= sizeof(header) &&
			    header.magic == STORE_CHUNK_MAGIC &&
			    header.size <= file->size - offset - sizeof(header))
				cost += header.size <= STORE_PAYLOAD_MAX ? header.size : 0;
			if (cost > budget)
				return 0;
			budget -= cost;
			if (!lost)
				lost = offset;
			r = find_magic(file, offset + 1, &offset);
			if (r == -EBADMSG)
				return 0;
			if (r < 0)
				return r;
			continue;
		}
		if (r == 0 && header.kind != STORE_CHUNK_PADDING &&
		    header.kind != STORE_CHUNK_INDEX) {
			struct store_index_entry entry = entry_of(file, &header, offset);

			r = add_entry(file, &entry);
		}
		if (r < 0)
			return r;
		file->damaged +=
			header.kind == STORE_CHUNK_INDEX && was_moved(file, &header, offset);
		/*
		 * The unreadable end of the file was being written when the
		 * recording died.
		 */
		if (lost)
			file->damaged += !all_zero(file, lost, offset);
		lost = 0;
		offset += sizeof(header) + header.size;
	}
	file->torn = file->damaged || (lost && !all_zero(file, lost, file->size));
	return 0;
}

/* ---- both ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct store_index_entry *x = a, *y = b;
	bool x_records = x->kind == STORE_CHUNK_RECORDS, y_records = y->kind == STORE_CHUNK_RECORDS;

	if (x_records != y_records)
		return x_records ? 1 : -1;
	if (x_records) {
		if (x->stream != y->stream)
			return x->stream < y->stream ? -1 : 1;
		if (x->row != y->row)
			return x->row < y->row ? -1 : 1;
		if (x->rows != y->rows)
			return x->rows > y->rows ? -1 : 1;
	}
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/*
 * Moves chunks of records to the end, by stream and row, and drops those whose
 * rows a larger one has.
 */
static void sort_entries(struct store_file *file)
{
	const struct store_index_entry *before = NULL;
	size_t kept = 0;

	if (file->count)
		qsort(file->entries, file->count, sizeof(*file->entries), compare_entries);
	file->records = 0;
	for (size_t i = 0; i < file->count; i++) {
		const struct store_index_entry *entry = &file->entries[i];

		if (entry->kind == STORE_CHUNK_RECORDS) {
			if (entry->row > ROW_MAX || !entry->rows || entry->rows > STORE_ROWS_MAX) {
				file->damaged++;
				continue;
			}
			if (before && before->stream == entry->stream &&
			    entry->row < before->row + before->rows)
				continue;
		}
		file->entries[kept] = *entry;
		if (entry->kind == STORE_CHUNK_RECORDS)
			before = &file->entries[kept];
		else
			file->records++;
		kept++;
	}
	file->count = kept;
}

/* Sums up the totals in the heads of all chunks of records. */
static int rebuild_totals(struct store_file *file)
{
	memset(file->totals, 0, sizeof(file->totals));
	for (size_t i = file->records; i < file->count; i++) {
		const struct store_index_entry *entry = &file->entries[i];
		uint8_t bytes[1 + 9 * STORE_KINDS_MAX];
		struct store_front front;
		size_t size = entry->size < sizeof(bytes) ? entry->size : sizeof(bytes);
		int r;

		r = read_at(file, bytes, size, entry->offset + sizeof(struct store_chunk_header));
		if (r == 0)
			r = store_front_parse(bytes, size, &front);
		if (r < 0 && r != -EBADMSG)
			return r;
		for (unsigned j = 0; r == 0 && j < front.count; j++) {
			if (front.entries[j].kind >= CLEW_KIND_COUNT)
				continue;
			file->totals[front.entries[j].kind].count += front.entries[j].rows;
			file->totals[front.entries[j].kind].column_bytes +=
				front.entries[j].column_bytes;
		}
	}
	return 0;
}

/* True if a file's beginning has zeros, which no text has. */
static bool is_binary(const struct store_file *file)
{
	uint8_t bytes[4096];
	size_t size = file->size < sizeof(bytes) ? file->size : sizeof(bytes);

	if (read_at(file, bytes, size, 0) < 0)
		return false;
	return memchr(bytes, 0, size) != NULL;
}

/*
 * Finds a whole SCHEMA chunk: without a file header it proves that the file was a
 * capture. 1: there is one.
 */
static int find_schema(struct store_file *file)
{
	uint64_t offset = 0, budget = 2 * file->size + (64u << 20);
	int r = 0;

	while (offset < file->size && r >= 0) {
		struct store_chunk_header header = {0};

		r = read_chunk(file, offset, &file->payload, &header);
		if (r == 0 && header.kind == STORE_CHUNK_SCHEMA)
			return 1;
		if (r == 0) {
			offset += sizeof(header) + header.size;
		} else if (r == -EBADMSG) {
			uint64_t cost = sizeof(header);

			if (header.magic == STORE_CHUNK_MAGIC && header.size <= STORE_PAYLOAD_MAX)
				cost += header.size;
			if (cost > budget)
				return 0;
			budget -= cost;
			r = find_magic(file, offset + 1, &offset);
		}
	}
	return r == -EBADMSG ? 0 : r;
}

static int check_header(struct store_file *file, char *message, size_t message_size)
{
	struct store_file_header header;
	bool known;
	int r;

	r = read_at(file, &header, sizeof(header), 0);
	if (r < 0 && r != -EBADMSG)
		return r;
	known = r == 0 && memcmp(header.magic, STORE_MAGIC, STORE_MAGIC_SIZE) == 0;
	if (!known && is_binary(file)) {
		r = find_schema(file);
		if (r < 0)
			return r;
		file->headless = r;
		if (r > 0)
			return 0;
	}
	if (!known) {
		snprintf(message, message_size,
			 file->size ? "not a clew capture" : "empty, not a clew capture");
		return file->size ? -EINVAL : -ENODATA;
	}
	if (header.major != STORE_VERSION_MAJOR) {
		snprintf(message, message_size,
			 "a capture of format %u.%u, and this clew reads format %u", header.major,
			 header.minor, STORE_VERSION_MAJOR);
		return -EINVAL;
	}
	return 0;
}

int clew_capture_probe(const char *path)
{
	struct store_file file = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	uint8_t magic[STORE_MAGIC_SIZE];
	struct stat stat;
	int r;

	if (file.fd < 0)
		return -errno;
	r = read_at(&file, magic, sizeof(magic), 0);
	r = r == 0 ? memcmp(magic, STORE_MAGIC, sizeof(magic)) == 0 : r;
	if (r == 0 && fstat(file.fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		file.size = stat.st_size;
		r = is_binary(&file) ? find_schema(&file) : 0;
	}
	store_file_close(&file);
	/*
	 * A pipe cannot be read at a position: captures are not read from
	 * pipes.
	 */
	if (r == -EBADMSG || r == -ESPIPE)
		return 0;
	return r;
}

int store_file_open(const char *path, struct store_file *file, char *message, size_t message_size)
{
	struct stat stat;
	int r;

	memset(file, 0, sizeof(*file));
	/* O_NONBLOCK: opening a pipe must not wait for its writer. */
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return -errno;
	if (fstat(file->fd, &stat) < 0) {
		r = -errno;
	} else if (!S_ISREG(stat.st_mode)) {
		snprintf(message, message_size, "not a regular file");
		r = S_ISDIR(stat.st_mode) ? -EISDIR : -EINVAL;
	} else {
		file->size = stat.st_size;
		r = check_header(file, message, message_size);
	}
	if (r == 0) {
		r = read_index(file);
		file->complete = r == 0;
		if (r == -EBADMSG)
			r = rebuild_index(file);
	}
	if (r == 0)
		sort_entries(file);
	if (r == 0 && !file->complete)
		r = rebuild_totals(file);
	file->damaged += file->headless;
	if (r < 0)
		store_file_close(file);
	return r;
}

void store_file_close(struct store_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	free(file->entries);
	free(file->payload.bytes);
	file->entries = NULL;
	file->payload.bytes = NULL;
}
