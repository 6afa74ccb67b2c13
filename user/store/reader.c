/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reader: what a capture says of itself, and its records, all streams
 * merged by time. One decoded chunk a stream is in memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

/* Decoded chunks may take that much, and that often the file's size. */
#define MEMORY_MIN   (256ull << 20)
#define MEMORY_RATIO 256

struct cursor {
	uint16_t stream;
	uint32_t order; /* of streams at the same time */
	size_t first;	/* its entries in the file's */
	size_t end;
	size_t at; /* the entry to load next */
	struct store_rows rows;
	const struct clew_header *record;
};

struct pair {
	char *key;
	char *value;
};

struct clew_reader {
	struct store_file file;
	struct store_schema *schema;
	struct store_decoder *decoder;
	struct clew_capture_info info;
	struct clew_ledger_row *ledger;
	uint64_t ledger_version;
	struct clew_gap *gaps;
	struct clew_clock *clocks;
	struct pair *pairs;
	size_t pair_count;
	struct cursor *cursors;
	size_t cursor_count;
	struct cursor **heap; /* the earliest record first */
	size_t heap_count;
	bool taken; /* the first record of the heap was handed out */
};

/* Makes room for one more element; arrays double at powers of two. */
static void *one_more(void *array, size_t count, size_t size)
{
	if (count & (count - 1) || count == 0)
		return count ? array : realloc(array, size);
	return realloc(array, 2 * count * size);
}

/* ---- what the file says of itself ---- */

static int add_pair(struct clew_reader *reader, const uint8_t *key, uint32_t key_size, const uint8_t *value, uint32_t value_size)
{
	struct pair *pairs, pair = {strndup((const char *)key, key_size), strndup((const char *)value, value_size)};

	pairs = one_more(reader->pairs, reader->pair_count, sizeof(*pairs));
	if (pairs)
		reader->pairs = pairs;
	if (!pairs || !pair.key || !pair.value) {
		free(pair.key);
		free(pair.value);
		return -ENOMEM;
	}
	reader->pairs[reader->pair_count++] = pair;
	return 0;
}

static int read_meta(struct clew_reader *reader, const uint8_t *payload, size_t size)
{
	while (size) {
		uint32_t sizes[2];
		int r;

		if (size < sizeof(sizes))
			return -EBADMSG;
		memcpy(sizes, payload, sizeof(sizes));
		payload += sizeof(sizes);
		size -= sizeof(sizes);
		if (sizes[0] > size || sizes[1] > size - sizes[0])
			return -EBADMSG;
		r = add_pair(reader, payload, sizes[0], payload + sizes[0], sizes[1]);
		if (r < 0)
			return r;
		payload += sizes[0] + sizes[1];
		size -= sizes[0] + sizes[1];
	}
	return 0;
}

static int read_clocks(struct clew_reader *reader, const uint8_t *payload, size_t size)
{
	struct clew_clock *clocks;

	if (size % 24)
		return -EBADMSG;
	for (; size; size -= 24, payload += 24) {
		uint64_t values[3];

		clocks = one_more(reader->clocks, reader->info.clock_count, sizeof(*clocks));
		if (!clocks)
			return -ENOMEM;
		reader->clocks = clocks;
		memcpy(values, payload, sizeof(values));
		clocks[reader->info.clock_count++] = (struct clew_clock){values[0], values[1], values[2]};
	}
	return 0;
}

static int read_ledger(struct clew_reader *reader, const struct store_chunk_header *header, const uint8_t *payload)
{
	struct store_ledger_head head;
	struct clew_ledger_row *rows;
	uint8_t *bytes;
	int r;

	if (reader->ledger_version && header->row <= reader->ledger_version)
		return 0;
	r = store_unframe(header, payload, &bytes);
	if (r < 0)
		return r;
	if (header->raw_size < sizeof(head)) {
		free(bytes);
		return -EBADMSG;
	}
	memcpy(&head, bytes, sizeof(head));
	if (header->raw_size - sizeof(head) != (uint64_t)head.rows * sizeof(*rows)) {
		free(bytes);
		return -EBADMSG;
	}
	rows = malloc(head.rows * sizeof(*rows) + 1);
	if (!rows) {
		free(bytes);
		return -ENOMEM;
	}
	memcpy(rows, bytes + sizeof(head), head.rows * sizeof(*rows));
	free(bytes);
	free(reader->ledger);
	reader->ledger = rows;
	reader->ledger_version = header->row;
	reader->info.ledger_count = head.rows;
	reader->info.cost = (struct clew_cost){head.user_ns, head.bpf_ns, head.bpf_sampled};
	return 0;
}

static int read_schema(struct clew_reader *reader, const struct store_chunk_header *header, const uint8_t *payload, char *message,
		       size_t message_size)
{
	char what[STORE_NAME_MAX + 1] = "";
	uint8_t *bytes;
	int r;

	if (reader->schema)
		return 0;
	r = store_unframe(header, payload, &bytes);
	if (r < 0)
		return r;
	r = store_schema_parse(bytes, header->raw_size, &reader->schema, what);
	free(bytes);
	if (r == -EPROTONOSUPPORT) {
		snprintf(message, message_size, "written by a newer clew: its column %s is coded in a way not known here", what);
		return -EINVAL;
	}
	return r == -EINVAL ? -EBADMSG : r;
}

static int read_plain_chunks(struct clew_reader *reader, char *message, size_t message_size)
{
	struct store_file *file = &reader->file;

	for (size_t i = 0; i < file->records; i++) {
		struct store_chunk_header header;
		int r;

		r = store_file_read(file, &file->entries[i], &header);
		if (r == 0) {
			switch (header.kind) {
			case STORE_CHUNK_SCHEMA:
				r = read_schema(reader, &header, file->payload, message, message_size);
				break;
			case STORE_CHUNK_META:
				r = read_meta(reader, file->payload, header.size);
				break;
			case STORE_CHUNK_CLOCK:
				r = read_clocks(reader, file->payload, header.size);
				break;
			case STORE_CHUNK_LEDGER:
				r = read_ledger(reader, &header, file->payload);
				break;
			}
		}
		if (r == -EBADMSG)
			file->damaged++;
		else if (r < 0)
			return r;
	}
	return 0;
}

/* ---- streams ---- */

/* Loads the cursor's next chunk that can be; without one its record is NULL. */
static int load(struct clew_reader *reader, struct cursor *cursor, bool count_damage)
{
	cursor->record = NULL;
	while (cursor->at < cursor->end && !cursor->record) {
		struct store_chunk_header header;
		int r;

		r = store_file_read(&reader->file, &reader->file.entries[cursor->at++], &header);
		if (r == 0)
			r = store_decode(reader->decoder, &header, reader->file.payload, &cursor->rows);
		if (r == -EBADMSG) {
			reader->info.damaged_chunks += count_damage;
			continue;
		}
		if (r < 0)
			return r;
		cursor->record = store_rows_next(&cursor->rows);
	}
	return 0;
}

static int make_cursors(struct clew_reader *reader, char *message, size_t message_size)
{
	struct store_file *file = &reader->file;
	uint64_t most = MEMORY_MIN + MEMORY_RATIO * file->size, need = 0;
	struct cursor *cursors;

	for (size_t i = file->records, end; i < file->count; i = end) {
		uint16_t stream = file->entries[i].stream;
		uint32_t rows = 0;

		for (end = i; end < file->count && file->entries[end].stream == stream; end++)
			if (file->entries[end].rows > rows)
				rows = file->entries[end].rows;
		need += rows * sizeof(struct clew_socket_record);
		if (need > most) {
			snprintf(message, message_size, "claims more records than a capture of its size can have");
			return -EINVAL;
		}
		cursors = one_more(reader->cursors, reader->cursor_count, sizeof(*cursors));
		if (!cursors)
			return -ENOMEM;
		reader->cursors = cursors;
		cursors[reader->cursor_count++] = (struct cursor){
			.stream = stream,
			.order = stream == CLEW_STREAM_USER ? 0 : stream + 1u,
			.first = i,
			.end = end,
			.at = i,
		};
	}
	reader->heap = malloc((reader->cursor_count + 1) * sizeof(*reader->heap));
	return reader->heap ? 0 : -ENOMEM;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct clew_gap *x = a, *y = b;

	return x->header.time < y->header.time ? -1 : x->header.time > y->header.time;
}

/* Collects the GAP records from the chunks that have any. */
static int collect_gaps(struct clew_reader *reader)
{
	for (size_t i = 0; i < reader->cursor_count; i++) {
		struct cursor *cursor = &reader->cursors[i];

		for (size_t at = cursor->first; at < cursor->end; at++) {
			struct cursor one = {.at = at, .end = at + 1, .rows = cursor->rows};
			int r;

			if (!(reader->file.entries[at].kinds & (1u << CLEW_KIND_GAP)))
				continue;
			r = load(reader, &one, false);
			cursor->rows = one.rows;
			if (r < 0)
				return r;
			for (const struct clew_header *record = one.record; record; record = store_rows_next(&cursor->rows)) {
				struct clew_gap *gaps;

				if (record->kind != CLEW_KIND_GAP)
					continue;
				gaps = one_more(reader->gaps, reader->info.gap_count, sizeof(*gaps));
				if (!gaps)
					return -ENOMEM;
				reader->gaps = gaps;
				memcpy(&gaps[reader->info.gap_count++], record, sizeof(*gaps));
			}
		}
	}
	if (reader->info.gap_count)
		qsort(reader->gaps, reader->info.gap_count, sizeof(*reader->gaps), compare_gaps);
	return 0;
}

/* ---- the merge ---- */

static inline bool earlier(const struct cursor *a, const struct cursor *b)
{
	return a->record->time != b->record->time ? a->record->time < b->record->time : a->order < b->order;
}

/* Lets the element at `at` sink to its place. */
static void sink(struct clew_reader *reader, size_t at)
{
	struct cursor **heap = reader->heap, *cursor = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= reader->heap_count)
			break;
		if (child + 1 < reader->heap_count && earlier(heap[child + 1], heap[child]))
			child++;
		if (!earlier(heap[child], cursor))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = cursor;
}

int clew_reader_rewind(struct clew_reader *reader)
{
	reader->heap_count = 0;
	reader->taken = false;
	/* Damage that reading meets is counted once a pass. */
	reader->info.damaged_chunks = reader->file.damaged;
	for (size_t i = 0; i < reader->cursor_count; i++) {
		struct cursor *cursor = &reader->cursors[i];
		int r;

		cursor->at = cursor->first;
		r = load(reader, cursor, true);
		if (r < 0)
			return r;
		if (cursor->record)
			reader->heap[reader->heap_count++] = cursor;
	}
	for (size_t i = reader->heap_count / 2; i-- > 0;)
		sink(reader, i);
	return 0;
}

int clew_reader_next(struct clew_reader *reader, const struct clew_header **ret_record)
{
	if (reader->taken && reader->heap_count) {
		struct cursor *cursor = reader->heap[0];
		int r;

		cursor->record = store_rows_next(&cursor->rows);
		if (!cursor->record) {
			r = load(reader, cursor, true);
			if (r < 0)
				return r;
		}
		if (!cursor->record)
			reader->heap[0] = reader->heap[--reader->heap_count];
		if (reader->heap_count)
			sink(reader, 0);
	}
	if (!reader->heap_count) {
		reader->taken = false;
		return 0;
	}
	reader->taken = true;
	*ret_record = reader->heap[0]->record;
	return 1;
}

/* ---- opening ---- */

static uint64_t meta_number(const struct clew_reader *reader, const char *key, uint64_t otherwise)
{
	const char *value = clew_reader_meta(reader, key);
	char *end;
	uint64_t number;

	if (!value || *value < '0' || *value > '9')
		return otherwise;
	number = strtoull(value, &end, 10);
	return *end ? otherwise : number;
}

static void fill_info(struct clew_reader *reader)
{
	struct clew_capture_info *info = &reader->info;
	const struct store_file *file = &reader->file;
	uint64_t start = UINT64_MAX, end = 0;
	unsigned cpus = 0;

	for (size_t i = file->records; i < file->count; i++) {
		if (file->entries[i].first_time < start)
			start = file->entries[i].first_time;
		if (file->entries[i].last_time > end)
			end = file->entries[i].last_time;
		if (file->entries[i].stream != CLEW_STREAM_USER && file->entries[i].stream + 1u > cpus)
			cpus = file->entries[i].stream + 1u;
	}
	info->bytes = file->size;
	info->complete = file->complete;
	info->damaged_chunks = file->damaged;
	info->start = meta_number(reader, "start", start);
	info->end = meta_number(reader, "end", end);
	info->cpus = meta_number(reader, "cpus", cpus);
	info->ledger = reader->ledger;
	info->gaps = reader->gaps;
	info->clocks = reader->clocks;
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++) {
		info->counts[kind] = file->totals[kind].count;
		info->column_bytes[kind] = file->totals[kind].column_bytes;
	}
}

int clew_reader_open(const char *path, struct clew_reader **ret_reader, char *message, size_t message_size)
{
	struct clew_reader *reader = calloc(1, sizeof(*reader));
	char words[160] = "";
	int r;

	if (!reader) {
		snprintf(message, message_size, "out of memory");
		return -ENOMEM;
	}
	r = store_file_open(path, &reader->file, words, sizeof(words));
	if (r == 0)
		r = read_plain_chunks(reader, words, sizeof(words));
	if (r == 0 && reader->file.records == reader->file.count) {
		snprintf(words, sizeof(words), "the capture has not one whole chunk of records");
		r = -ENODATA;
	}
	if (r == 0 && !reader->schema) {
		snprintf(words, sizeof(words), "the capture's schema is damaged");
		r = -EINVAL;
	}
	if (r == 0)
		r = store_decoder_new(reader->schema, &reader->decoder);
	if (r == 0)
		r = make_cursors(reader, words, sizeof(words));
	if (r == 0)
		r = collect_gaps(reader);
	if (r == 0) {
		fill_info(reader);
		r = clew_reader_rewind(reader);
	}
	if (r < 0) {
		if (message_size)
			snprintf(message, message_size, "%s", words[0] ? words : strerror(-r));
		clew_reader_close(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

const struct clew_capture_info *clew_reader_info(const struct clew_reader *reader)
{
	return &reader->info;
}

const char *clew_reader_meta(const struct clew_reader *reader, const char *key)
{
	/* What was said last holds. */
	for (size_t i = reader->pair_count; i-- > 0;)
		if (strcmp(reader->pairs[i].key, key) == 0)
			return reader->pairs[i].value;
	return NULL;
}

void clew_reader_close(struct clew_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->cursor_count; i++)
		store_rows_done(&reader->cursors[i].rows);
	for (size_t i = 0; i < reader->pair_count; i++) {
		free(reader->pairs[i].key);
		free(reader->pairs[i].value);
	}
	store_decoder_free(reader->decoder);
	store_file_close(&reader->file);
	free(reader->schema);
	free(reader->cursors);
	free(reader->heap);
	free(reader->pairs);
	free(reader->clocks);
	free(reader->gaps);
	free(reader->ledger);
	free(reader);
}
