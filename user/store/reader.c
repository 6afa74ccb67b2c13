/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reader: a capture's metadata, and the records of all streams, merged by
 * time.
 *
 * One decoded chunk of each stream is in memory. For large captures there are a
 * few more, which a thread decodes ahead (ahead.c). Where rows of a stream are
 * missing from the file, the reader emits a GAP record of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "store/ahead.h"
#include "store/divide.h"
#include "store/grow.h"
#include "store/keyframe.h"
#include "store/merge.h"
#include "store/metadata.h"
#include "store/reader.h"
#include "store/scan.h"

/*
 * The memory of decoded chunks is limited to MEMORY_MIN and MEMORY_RATIO times
 * the file's size, added.
 */
#define MEMORY_MIN   (256ull << 20)
#define MEMORY_RATIO 256

/* From so many rows on a thread decodes ahead. They take at least 20 ms. */
#define AHEAD_ROWS 131072

/*
 * ns: a recording that was killed lacks no row that is older than its latest
 * row by more. The writer keeps rows back for less than half of this.
 */
#define KILL_LACKS 2000000000ull

struct cursor {
	uint16_t stream;
	size_t first; /* its chunks: entries first .. end - 1 of the file's index */
	size_t end;
	size_t at; /* the entry of the chunk to load next */
	struct store_rows rows;
	const struct clew_header *record;
	bool absent;			/* it stands for the CPUs that have no stream */
	bool skips;			/* its rows are older than where reading begins */
	uint64_t row;			/* number of its next row if none is missing */
	uint64_t missing;		/* rows that are missing since the last one that was read */
	uint64_t last_time;		/* of that row, or when recording began */
	uint64_t lost_from;		/* first time of the damaged chunks since then, 0: none */
	uint64_t lost_until;		/* and their last time */
	struct clew_gap gap;		/* the record emitted for missing rows */
	const struct clew_header *held; /* the record that follows `gap` */
};

struct clew_reader {
	struct store_file file;
	struct store_metadata metadata;
	struct store_decoder *decoder;
	struct clew_capture_info info;
	struct clew_gap *gaps;
	struct clew_gap *stored; /* the gaps that are records of the file */
	size_t stored_count;
	struct cursor *cursors;
	size_t cursor_count;
	struct store_heads heads; /* of the cursors that have a record */
	bool begun;  /* each stream's first chunk was loaded, or all chunks are checked */
	bool taken;  /* the first record of the heap was emitted */
	bool checks; /* chunks are only checked, and not decoded */
	const struct clew_keyframe *begins; /* where reading does; NULL: at the first records */
	struct store_ahead *ahead;	    /* NULL: no thread decodes ahead */
	uint64_t ahead_rows;		    /* from so many rows on one does */
};

/* ---- streams ---- */

/*
 * Reads a chunk and decodes it, unless chunks are only checked. -EBADMSG: it is
 * damaged.
 */
static int read_rows(struct clew_reader *reader, const struct store_index_entry *entry,
		     struct store_rows *rows)
{
	struct store_chunk_header header;
	struct store_file *file = &reader->file;
	int r;

	if (reader->ahead && store_ahead_take(reader->ahead, entry, rows, &r))
		return r;
	r = store_file_read(file, entry, &file->payload, &header);
	if (r == 0 && !header.size)
		return -EBADMSG;
	return r < 0 || reader->checks
		       ? r
		       : store_decode(reader->decoder, &header, file->payload.bytes, rows);
}

static int add_gap(struct clew_reader *reader, const struct clew_gap *gap)
{
	struct clew_gap *gaps = store_one_more(reader->gaps, reader->info.gap_count, sizeof(*gaps));

	if (!gaps)
		return -ENOMEM;
	reader->info.gaps = reader->gaps = gaps;
	gaps[reader->info.gap_count++] = *gap;
	return 0;
}

/* Puts a GAP before the cursor's record. */
static int put_gap(struct clew_reader *reader, struct cursor *cursor, uint64_t from, uint64_t to,
		   uint64_t count)
{
	cursor->gap = (struct clew_gap){
		.header = {.time = to,
			   .cpu = cursor->stream,
			   .kind = CLEW_KIND_GAP,
			   .flags = CLEW_GAP_IN_FILE},
		.from = from < to ? from : to,
		.count = count,
	};
	cursor->held = cursor->record;
	cursor->record = &cursor->gap.header;
	cursor->missing = cursor->lost_from = cursor->lost_until = 0;
	return add_gap(reader, &cursor->gap);
}

/*
 * The user stream has no records for most of the time, so that a gap since its
 * last row would be too long. Only for damaged chunks are the times of missing
 * rows known, from the index.
 */
static int put_gap_between(struct clew_reader *reader, struct cursor *cursor, uint64_t next)
{
	if (cursor->stream == CLEW_STREAM_USER && cursor->lost_from)
		return put_gap(reader, cursor, cursor->lost_from,
			       cursor->lost_until < next ? cursor->lost_until : next,
			       cursor->missing);
	return put_gap(reader, cursor, cursor->last_time, next, cursor->missing);
}

/*
 * Puts a GAP for what may be missing after a stream's last row.
 *
 * If the recording did not end regularly, a stream's rows end because its CPU
 * was idle, or because the last rows were not written. The time from the last
 * row to the capture's end is then a gap, so that the CPU's last state is not
 * taken to continue. The gap is no longer than what a kill can cost, so that
 * one idle CPU does not make findings about the others doubtful for long. A
 * file that is torn besides, such as a truncated copy, may lack anything.
 *
 * The stream that ends last has a gap of no length: a task that sleeps at the
 * end may have been woken before, as a wake is recorded when the task runs.
 */
static int put_gap_at_end(struct clew_reader *reader, struct cursor *cursor)
{
	uint64_t from = cursor->last_time, end = reader->info.end;

	if (cursor->at > cursor->first) {
		const struct store_index_entry *last = &reader->file.entries[cursor->end - 1];

		cursor->missing += last->row + last->rows - cursor->row;
	}
	if (cursor->stream == CLEW_STREAM_USER && !cursor->absent)
		return cursor->missing ? put_gap_between(reader, cursor, end) : 0;
	if (reader->file.complete)
		return cursor->missing ? put_gap(reader, cursor, from, from < end ? end : from,
						 cursor->missing)
				       : 0;
	if (!reader->file.torn && !cursor->missing && end > KILL_LACKS && from < end - KILL_LACKS)
		from = end - KILL_LACKS;
	return put_gap(reader, cursor, from, from < end ? end : from, CLEW_GAP_UNCOUNTED);
}

/*
 * Adds a damaged chunk to the range that is lost. Its first time may be after
 * its last: the user stream's last records have the time at which recording
 * ended, and follow later ones.
 */
static void add_lost(struct cursor *cursor, const struct store_index_entry *entry)
{
	uint64_t from = entry->first_time, until = entry->last_time;

	if (from > until) {
		from = entry->last_time;
		until = entry->first_time;
	}
	if (!cursor->lost_from || from < cursor->lost_from)
		cursor->lost_from = from;
	if (until > cursor->lost_until)
		cursor->lost_until = until;
}

/* The first row of the chunk from where reading begins on, or NULL. */
static const struct clew_header *first_row(const struct clew_reader *reader, struct cursor *cursor)
{
	const struct clew_header *record = store_rows_next(&cursor->rows);

	while (cursor->skips && record && record->time < reader->begins->from)
		record = store_rows_next(&cursor->rows);
	cursor->skips &= !record;
	return record;
}

/*
 * Loads the cursor's next chunk that is not damaged, and puts a GAP for rows
 * that are missing before it. At the stream's end the cursor's record is NULL,
 * or a last GAP.
 */
static int load(struct clew_reader *reader, struct cursor *cursor)
{
	const struct store_index_entry *entry;
	int r;

	cursor->record = NULL;
	while (cursor->at < cursor->end) {
		entry = &reader->file.entries[cursor->at++];
		r = read_rows(reader, entry, &cursor->rows);
		if (r == -EBADMSG) {
			reader->info.damaged_chunks++;
			add_lost(cursor, entry);
			continue;
		}
		if (r < 0)
			return r;
		if (reader->checks && reader->file.payload.bytes[0] & STORE_FRONT_QUICK)
			reader->info.quick_records += entry->rows;
		cursor->missing += entry->row - cursor->row;
		cursor->row = entry->row + entry->rows;
		cursor->record = reader->checks ? NULL : first_row(reader, cursor);
		if (cursor->missing && (cursor->record || reader->checks))
			r = put_gap_between(reader, cursor,
					    reader->checks ? entry->first_time
							   : cursor->record->time);
		if (!cursor->missing)
			cursor->last_time = entry->last_time;
		if (r < 0 || (cursor->record && !reader->checks))
			return r;
	}
	return put_gap_at_end(reader, cursor);
}

static int advance(struct clew_reader *reader, struct cursor *cursor)
{
	if (cursor->record == &cursor->gap.header) {
		cursor->record = cursor->held;
		return 0;
	}
	cursor->record = store_rows_next(&cursor->rows);
	return cursor->record ? 0 : load(reader, cursor);
}

static struct cursor *add_cursor(struct clew_reader *reader, const struct cursor *cursor)
{
	struct cursor *cursors =
		store_one_more(reader->cursors, reader->cursor_count, sizeof(*cursors));

	if (!cursors)
		return NULL;
	reader->cursors = cursors;
	cursors[reader->cursor_count] = *cursor;
	return &cursors[reader->cursor_count++];
}

static int make_cursors(struct clew_reader *reader, char *message, size_t message_size)
{
	struct store_file *file = &reader->file;
	uint64_t most = MEMORY_MIN + MEMORY_RATIO * file->size, need = 0;

	for (size_t i = file->records, end; i < file->count; i = end) {
		uint16_t stream = file->entries[i].stream;
		uint32_t rows = 0;

		for (end = i; end < file->count && file->entries[end].stream == stream; end++)
			if (file->entries[end].rows > rows)
				rows = file->entries[end].rows;
		need += rows * sizeof(struct clew_socket_record);
		if (need > most) {
			snprintf(message, message_size,
				 "claims more records than a capture of its size can have");
			return -EINVAL;
		}
		if (!add_cursor(reader, &(struct cursor){
						.stream = stream,
						.first = i,
						.end = end,
						.at = i,
					}))
			return -ENOMEM;
	}
	/* One more, for the CPUs without a stream. */
	reader->heads.heads = malloc((reader->cursor_count + 1) * sizeof(*reader->heads.heads));
	return reader->heads.heads ? 0 : -ENOMEM;
}

/*
 * The number of CPUs that were online. The others have no core in the topology.
 */
static unsigned count_online(const struct clew_reader *reader)
{
	const char *at = clew_reader_meta(reader, "topology");
	unsigned online = 0;
	int core, size = 0;

	for (; at && sscanf(at, "%*u %*d %*d %d%n", &core, &size) == 1; at += size)
		online += core >= 0;
	return online ? online : reader->info.cpus;
}

/* An incomplete capture may lack the rows of CPUs that have no stream. */
static int make_absent_cursor(struct clew_reader *reader)
{
	unsigned streams = 0;

	for (size_t i = 0; i < reader->cursor_count; i++)
		streams += reader->cursors[i].stream != CLEW_STREAM_USER;
	if (reader->file.complete || streams >= count_online(reader))
		return 0;
	return add_cursor(reader, &(struct cursor){.stream = CLEW_STREAM_USER, .absent = true})
		       ? 0
		       : -ENOMEM;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct clew_gap *x = a, *y = b;

	if (x->header.time != y->header.time)
		return x->header.time < y->header.time ? -1 : 1;
	/* The user stream's number becomes 0 and comes first. */
	return (uint16_t)(x->header.cpu + 1) - (uint16_t)(y->header.cpu + 1);
}

static void sort_gaps(struct clew_reader *reader)
{
	if (reader->info.gap_count)
		qsort(reader->gaps, reader->info.gap_count, sizeof(*reader->gaps), compare_gaps);
}

/* Keeps the gaps that there are. Reading adds its own to them. */
static int store_gaps(struct clew_reader *reader)
{
	size_t size = reader->info.gap_count * sizeof(*reader->gaps);

	if (!size)
		return 0;
	reader->stored = malloc(size);
	if (!reader->stored)
		return -ENOMEM;
	memcpy(reader->stored, reader->gaps, size);
	reader->stored_count = reader->info.gap_count;
	return 0;
}

/*
 * Collects the GAP records of all chunks. Joined segments have some of CLEW_GAP_IN_FILE, for what
 * a segment lacked.
 */
static int collect_gaps(struct clew_reader *reader)
{
	const uint32_t gaps = store_index_kinds(clew_kind_bit(CLEW_KIND_GAP));

	for (size_t i = 0; i < reader->cursor_count; i++) {
		struct cursor *cursor = &reader->cursors[i];

		for (size_t at = cursor->first; at < cursor->end; at++) {
			const struct clew_header *record;
			int r;

			if (!(reader->file.entries[at].kinds & gaps))
				continue;
			r = read_rows(reader, &reader->file.entries[at], &cursor->rows);
			if (r == -EBADMSG)
				continue;
			if (r < 0)
				return r;
			while ((record = store_rows_next(&cursor->rows))) {
				struct clew_gap gap;

				if (record->kind != CLEW_KIND_GAP)
					continue;
				memcpy(&gap, record, sizeof(gap));
				gap.header.flags &= CLEW_GAP_IN_FILE;
				r = add_gap(reader, &gap);
				if (r < 0)
					return r;
			}
		}
	}
	sort_gaps(reader);
	return store_gaps(reader);
}

/* Forgets the reader's own gaps. */
static void forget_own_gaps(struct clew_reader *reader)
{
	if (reader->stored_count)
		memcpy(reader->gaps, reader->stored, reader->stored_count * sizeof(*reader->gaps));
	reader->info.gap_count = reader->stored_count;
}

/* ---- records ---- */

static void stop_ahead(struct clew_reader *reader)
{
	store_ahead_free(reader->ahead);
	reader->ahead = NULL;
}

/* Puts a cursor before its stream's first chunk, or the first one with records of the keyframe. */
static void place(const struct clew_reader *reader, struct cursor *cursor)
{
	const struct store_index_entry *entries = reader->file.entries;
	uint64_t from = reader->begins ? reader->begins->from : 0;

	cursor->at = cursor->first;
	while (cursor->at < cursor->end && entries[cursor->at].last_time < from)
		cursor->at++;
	cursor->row = 0;
	if (cursor->at > cursor->first)
		cursor->row = entries[cursor->at - 1].row + entries[cursor->at - 1].rows;
	cursor->skips = reader->begins;
	cursor->missing = cursor->lost_from = cursor->lost_until = 0;
	cursor->last_time = reader->begins ? from : reader->info.start;
}

/* Puts every cursor where reading begins. */
static void start_over(struct clew_reader *reader, const struct clew_keyframe *begins)
{
	reader->begins = begins;
	stop_ahead(reader);
	reader->heads.count = 0;
	reader->begun = reader->taken = reader->checks = false;
	/* Damage that is found while reading is counted once a pass. */
	reader->info.damaged_chunks = reader->file.damaged;
	reader->info.quick_records = 0;
	forget_own_gaps(reader);
	for (size_t i = 0; i < reader->cursor_count; i++)
		place(reader, &reader->cursors[i]);
}

/* Loads the first chunk of each stream, or checks all chunks. */
static int load_all(struct clew_reader *reader)
{
	reader->begun = true;
	for (size_t i = 0; i < reader->cursor_count; i++) {
		struct cursor *cursor = &reader->cursors[i];
		int r = load(reader, cursor);

		if (r < 0)
			return r;
		if (cursor->record && !reader->checks)
			reader->heads.heads[reader->heads.count++] = (struct store_head){
				.time = cursor->record->time,
				.order = store_stream_order(cursor->stream),
				.input = i,
			};
	}
	return 0;
}

int clew_reader_check(struct clew_reader *reader)
{
	int r;

	start_over(reader, NULL);
	reader->checks = true;
	r = load_all(reader);
	sort_gaps(reader);
	return r;
}

/*
 * Starts to decode ahead if the capture is large. Without the thread reading
 * works too.
 */
static void start_ahead(struct clew_reader *reader)
{
	const struct store_file *file = &reader->file;
	uint64_t rows = 0;

	for (size_t i = file->records; i < file->count; i++)
		rows += file->entries[i].rows;
	if (rows >= reader->ahead_rows &&
	    store_ahead_new(file, reader->metadata.schema,
			    reader->begins ? reader->begins->from : 0, &reader->ahead) < 0)
		reader->ahead = NULL;
}

void store_reader_ahead(struct clew_reader *reader, uint64_t rows)
{
	reader->ahead_rows = rows;
}

void clew_reader_alone(struct clew_reader *reader)
{
	store_reader_ahead(reader, UINT64_MAX);
}

int clew_reader_divide(const struct clew_reader *reader, uint64_t rows, uint64_t **ret_ends,
		       size_t *ret_count)
{
	return store_divide(&reader->file, rows, ret_ends, ret_count);
}

int clew_reader_rewind(struct clew_reader *reader)
{
	start_over(reader, NULL);
	return 0;
}

const struct clew_keyframe *clew_reader_seek(struct clew_reader *reader, uint64_t time,
					     uint64_t rows)
{
	uint64_t end = reader->info.end, whole_until = end;

	if (!reader->file.complete)
		whole_until = end > KILL_LACKS ? end - KILL_LACKS : 0;
	start_over(reader, store_keyframe_choose(&reader->metadata, &reader->file, whole_until,
						 time, rows));
	return reader->begins;
}

bool clew_reader_is_again(const struct clew_reader *reader, const struct clew_header *record)
{
	const struct clew_keyframe *keyframe;

	if (record->cpu != CLEW_STREAM_USER ||
	    (record->kind != CLEW_KIND_STATE && record->kind != CLEW_KIND_END &&
	     record->kind != CLEW_KIND_MESSAGE))
		return false;
	keyframe = store_keyframe_at(&reader->metadata, record->time);
	return keyframe && keyframe != reader->begins;
}

/* Prepares for the first record, which is not necessary for the info. */
static int begin(struct clew_reader *reader)
{
	int r;

	start_ahead(reader);
	r = load_all(reader);
	store_heads_order(&reader->heads);
	return r;
}

int clew_reader_next(struct clew_reader *reader, const struct clew_header **ret_record)
{
	struct store_head *first = reader->heads.heads;
	int r = 0;

	if (!reader->begun)
		r = begin(reader);
	if (r < 0)
		return r;
	if (reader->taken && reader->heads.count) {
		struct cursor *cursor = &reader->cursors[first->input];

		r = advance(reader, cursor);
		if (r < 0)
			return r;
		if (cursor->record) {
			first->time = cursor->record->time;
			store_heads_sink(&reader->heads, 0);
		} else {
			store_heads_drop(&reader->heads);
		}
	}
	if (!reader->heads.count) {
		reader->taken = false;
		stop_ahead(reader);
		sort_gaps(reader);
		return 0;
	}
	reader->taken = true;
	*ret_record = reader->cursors[first->input].record;
	return 1;
}

/* ---- opening ---- */

static void fill_info(struct clew_reader *reader)
{
	const struct store_metadata *metadata = &reader->metadata;
	struct clew_capture_info *info = &reader->info;
	const struct store_file *file = &reader->file;
	uint64_t start = UINT64_MAX, end = 0;
	unsigned cpus = 0;

	for (size_t i = file->records; i < file->count; i++) {
		if (file->entries[i].first_time < start)
			start = file->entries[i].first_time;
		if (file->entries[i].last_time > end)
			end = file->entries[i].last_time;
		if (file->entries[i].stream != CLEW_STREAM_USER &&
		    file->entries[i].stream + 1u > cpus)
			cpus = file->entries[i].stream + 1u;
	}
	info->bytes = file->size;
	info->complete = file->complete && !clew_reader_meta(reader, "cut_off");
	info->imported = clew_reader_meta(reader, "imported") != NULL;
	info->damaged_chunks = file->damaged;
	info->start = store_metadata_number(metadata, "start", start);
	info->end = store_metadata_number(metadata, "end", end);
	info->cpus = store_metadata_number(metadata, "cpus", cpus);
	info->ledger = metadata->ledger;
	info->ledger_count = metadata->ledger_count;
	info->cost = metadata->cost;
	info->gaps = reader->gaps;
	info->clocks = metadata->clocks;
	info->clock_count = metadata->clock_count;
	info->keyframes = metadata->keyframes;
	info->keyframe_count = metadata->keyframe_count;
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++) {
		info->counts[kind] = file->totals[kind].count;
		info->column_bytes[kind] = file->totals[kind].column_bytes;
	}
}

int clew_reader_open(const char *path, struct clew_reader **ret_reader, char *message,
		     size_t message_size)
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
		r = store_metadata_read(&reader->metadata, &reader->file, words, sizeof(words));
	if (r == 0 && reader->file.records == reader->file.count) {
		snprintf(words, sizeof(words), "the capture has not one whole chunk of records");
		r = -ENODATA;
	}
	if (r == 0 && !reader->metadata.schema) {
		snprintf(words, sizeof(words), "the capture's schema is damaged");
		r = -EINVAL;
	}
	if (r == 0)
		r = store_decoder_new(reader->metadata.schema, &reader->decoder);
	if (r == 0)
		r = make_cursors(reader, words, sizeof(words));
	if (r == 0)
		r = collect_gaps(reader);
	if (r == 0) {
		fill_info(reader);
		r = make_absent_cursor(reader);
	}
	if (r == 0) {
		reader->ahead_rows = store_thread_pays() ? AHEAD_ROWS : UINT64_MAX;
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
	return store_metadata_value(&reader->metadata, key);
}

const char *clew_reader_meta_at(const struct clew_reader *reader, size_t number,
				const char **ret_value)
{
	if (number >= reader->metadata.pair_count)
		return NULL;
	*ret_value = reader->metadata.pairs[number].value;
	return reader->metadata.pairs[number].key;
}

void clew_reader_close(struct clew_reader *reader)
{
	if (!reader)
		return;
	stop_ahead(reader);
	for (size_t i = 0; i < reader->cursor_count; i++)
		store_rows_done(&reader->cursors[i].rows);
	store_decoder_free(reader->decoder);
	store_file_close(&reader->file);
	store_metadata_done(&reader->metadata);
	free(reader->cursors);
	free(reader->heads.heads);
	free(reader->gaps);
	free(reader->stored);
	free(reader);
}
