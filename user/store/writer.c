/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The writer: records are collected in a buffer for each stream, become chunks
 * in the threads of encoding.c, and are written by a thread of the writer's
 * own. A thread that puts records only copies them.
 *
 * A stream's chunk is final when it is full or old. Before that, its new rows
 * are written in provisional chunks, so that a kill loses little; the final
 * chunk is larger and so compresses better.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "store/writer_state.h"

#define BUFFERS_MAX	 (64u << 20) /* approximate limit of the records in all open chunks, bytes */
#define LAST_RECORD	 (64u << 10) /* room for the record with which a chunk becomes full */
#define BUFFERS		 32 /* for rows that wait to be encoded, besides two for each stream */
#define BUFFERS_A_STREAM 2
#define ENCODE_CPUS	 8 /* CPUs that share an encoding thread .. */
#define ENCODERS_MOST	 8 /* .. or more of them: each has up to 4 MB, and its patient one, too */
#define QUICK_SHARE	 8 /* of the free space, as much at most goes to quick chunks */
#define SLOW_CPUS                                                                                  \
	8 /* with more CPUs chunks of slow streams are not larger: encoding would take too long */

/* ---- opening ---- */

static void writer_free(struct clew_writer *writer)
{
	for (unsigned i = 0; writer->streams && i <= writer->cpus; i++)
		store_buffers_give(writer->buffers, writer->streams[i].records);
	store_redo_free(writer->redo);
	store_buffers_free(writer->buffers);
	pthread_cond_destroy(&writer->filled);
	pthread_cond_destroy(&writer->drained);
	pthread_mutex_destroy(&writer->lock);
	store_chunks_free(writer->queue);
	free(writer->meta);
	free(writer->streams);
	free(writer->schema);
	for (unsigned i = 0; i < SCHEMA_COPIES; i++)
		free(writer->copies[i]);
	free(writer);
}

static int make_schema(struct clew_writer *writer)
{
	char what[STORE_NAME_MAX + 1];
	uint8_t *bytes;
	size_t size;
	int r;

	r = store_schema_write(&bytes, &size);
	if (r < 0)
		return r;
	r = store_schema_parse(bytes, size, &writer->schema, what);
	for (unsigned i = 0; i < SCHEMA_COPIES && r == 0; i++)
		r = store_chunk_new(STORE_CHUNK_SCHEMA, bytes, size, true, &writer->copies[i]);
	free(bytes);
	return r;
}

int clew_writer_begin(struct clew_writer *writer)
{
	struct store_chunk *schema = writer->copies[COPY_FIRST];
	int r = store_output_begin(writer->output);

	if (r == 0) {
		writer->copies[COPY_FIRST] = NULL;
		r = store_output_append(writer->output, schema);
	}
	if (r < 0)
		store_writer_fail(writer, r);
	writer->bytes = store_output_bytes(writer->output);
	pthread_mutex_lock(&writer->lock);
	writer->begun = true;
	pthread_cond_signal(&writer->filled);
	pthread_mutex_unlock(&writer->lock);
	return r;
}

static size_t between(size_t value, size_t low, size_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Quick chunks are made where they can be replaced. */
static int allow_quick(struct clew_writer *writer, const struct clew_writer_options *options)
{
	uint64_t room = 0;

	if (!options->quick || !writer->provisional ||
	    store_output_reads(writer->output, &room) < 0)
		return 0;
	room /= QUICK_SHARE;
	if (!options->quick_stays && !options->quick_busy && options->quick > room)
		store_encoding_grant(writer->encoding, room);
	else
		store_encoding_grant(writer->encoding, options->quick);
	writer->quick_stays = options->quick_stays;
	writer->quick_time = options->quick_time;
	writer->quick_busy = options->quick_busy;
	return store_redo_new(writer->schema, writer->buffers, writer->buffer_size, &writer->redo);
}

int clew_writer_open(const char *path, const struct clew_writer_options *options,
		     struct clew_writer **ret_writer)
{
	struct clew_writer *writer;
	pthread_condattr_t attributes;
	int r;

	if (options->size < sizeof(*options) || !options->cpus || options->cpus >= CLEW_STREAM_USER)
		return -EINVAL;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return -ENOMEM;
	store_lock_init(&writer->lock);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->filled, &attributes);
	pthread_cond_init(&writer->drained, &attributes);
	pthread_condattr_destroy(&attributes);
	writer->queue_end = &writer->queue;
	writer->cpus = options->cpus;
	writer->sync = options->sync;
	/* With many CPUs each gets a smaller share of the memory. */
	writer->chunk_bytes =
		between(BUFFERS_MAX / options->cpus, STORE_CHUNK_BYTES / 8, STORE_CHUNK_BYTES);
	writer->slow_rows = between(SLOW_CPUS * STORE_CHUNK_ROWS / options->cpus, STORE_CHUNK_ROWS,
				    STORE_SLOW_ROWS);
	writer->slow_bytes =
		between(BUFFERS_MAX / options->cpus, STORE_CHUNK_BYTES / 8, STORE_SLOW_BYTES);
	writer->buffer_size = writer->slow_bytes + LAST_RECORD;
	writer->streams = calloc(options->cpus + 1, sizeof(*writer->streams));
	r = writer->streams ? store_output_open(path, options->sync, &writer->output) : -ENOMEM;
	if (r < 0) {
		writer_free(writer);
		return r;
	}
	writer->provisional = store_output_replaces(writer->output);

	r = make_schema(writer);
	if (r == 0)
		r = store_buffers_new(BUFFERS + BUFFERS_A_STREAM * (writer->cpus + 1),
				      writer->buffer_size, &writer->buffers);
	if (r == 0)
		r = store_encoding_new(
			writer->schema, writer->buffers,
			between((writer->cpus + ENCODE_CPUS - 1) / ENCODE_CPUS, 1, ENCODERS_MOST),
			options->quick_busy, store_writer_take, writer, &writer->encoding);
	if (r == 0)
		r = allow_quick(writer, options);
	if (r == 0)
		r = store_thread_start(&writer->thread, store_writer_run, writer);
	if (r < 0) {
		store_encoding_free(writer->encoding);
		store_output_close(writer->output);
		writer_free(writer);
		return r;
	}
	r = options->waits ? 0 : clew_writer_begin(writer);
	if (r < 0)
		clew_writer_close(writer);
	else
		*ret_writer = writer;
	return r;
}

/* ---- records ---- */

/* True if there is time to make the chunk as small as possible. */
static bool is_slow(const struct stream *stream)
{
	const struct clew_header *first = (const struct clew_header *)stream->records;

	return stream->last_time - first->time >= stream->count * STORE_SLOW_NS;
}

static bool is_full(const struct clew_writer *writer, const struct stream *stream)
{
	if (stream->count < STORE_CHUNK_ROWS && stream->used < writer->chunk_bytes)
		return false;
	return !is_slow(stream) || stream->count >= writer->slow_rows ||
	       stream->used >= writer->slow_bytes;
}

/*
 * True if there are enough records for a final chunk, and they come too fast to
 * encode most of them twice.
 */
static bool is_worth(const struct stream *stream)
{
	return stream->count >= STORE_CHUNK_ROWS / 4 && stream->saved_count < stream->count / 2 &&
	       !is_slow(stream);
}

/*
 * Has a final chunk made of all records of the stream, or a provisional one of
 * those that are in no chunk yet.
 */
static int put_chunk(struct clew_writer *writer, struct stream *stream, unsigned number,
		     bool provisional)
{
	size_t from = provisional ? stream->saved_used : 0,
	       from_count = provisional ? stream->saved_count : 0;
	struct store_job_rows job = {
		.records = stream->records,
		.bytes = stream->used - from,
		.rows = stream->count - from_count,
		.row = stream->row + from_count,
		.stream = number,
		.provisional = provisional,
		.dense = !provisional && is_slow(stream) && !writer->quick_busy,
	};

	if (writer->error)
		return writer->error;
	job.quick = !job.dense;
	job.patient = job.dense && stream->saved_count == stream->count;
	if (provisional) {
		job.records = store_buffers_take(writer->buffers);
		if (!job.records)
			return -ENOMEM;
		memcpy(job.records, stream->records + from, job.bytes);
	}
	store_encoding_put(writer->encoding, &job);
	if (!provisional)
		stream->records = NULL;
	return 0;
}

/* Has a provisional chunk made of the records that are in no chunk yet. */
static void save_rows(struct clew_writer *writer, struct stream *stream, unsigned number)
{
	int r;

	if (stream->count == stream->saved_count)
		return;
	r = put_chunk(writer, stream, number, true);
	if (r < 0)
		store_writer_fail(writer, r);
	stream->saved_used = stream->used;
	stream->saved_count = stream->count;
}

static int finish_chunk(struct clew_writer *writer, struct stream *stream, unsigned number)
{
	int r = 0;

	if (stream->count)
		r = put_chunk(writer, stream, number, false);
	if (r < 0)
		store_writer_fail(writer, r);
	stream->row += stream->count;
	stream->used = stream->count = stream->saved_used = stream->saved_count = 0;
	return r;
}

static struct stream *find_stream(const struct clew_writer *writer, unsigned number)
{
	if (number == CLEW_STREAM_USER)
		return &writer->streams[writer->cpus];
	return number < writer->cpus ? &writer->streams[number] : NULL;
}

int clew_writer_put(struct clew_writer *writer, unsigned number, const void *record, size_t size)
{
	struct stream *stream = find_stream(writer, number);
	struct clew_header *header;
	size_t need, padded;

	need = store_record_size(record, size);
	if (!stream || !need)
		return -EINVAL;
	padded = (need + 7) & ~(size_t)7;
	if (!stream->records)
		stream->records = store_buffers_take(writer->buffers);
	if (!stream->records)
		return -ENOMEM;
	if (stream->used + padded > writer->buffer_size)
		return -EMSGSIZE;
	header = (struct clew_header *)(stream->records + stream->used);
	memcpy(header, record, need);
	if (number != CLEW_STREAM_USER)
		header->cpu = number;
	if (stream->count == stream->saved_count)
		stream->unsaved_time = header->time;
	stream->last_time = header->time;
	stream->used += padded;
	stream->count++;
	atomic_store_explicit(
		&stream->stored[header->kind],
		atomic_load_explicit(&stream->stored[header->kind], memory_order_relaxed) + 1,
		memory_order_relaxed);
	if (is_full(writer, stream)) {
		/* Encoding the final chunk may take long. */
		if (writer->provisional && is_slow(stream))
			save_rows(writer, stream, number);
		finish_chunk(writer, stream, number);
	}
	return atomic_load_explicit(&writer->error, memory_order_relaxed);
}

int clew_writer_flush(struct clew_writer *writer, unsigned number, uint64_t now, uint64_t age)
{
	struct stream *stream = find_stream(writer, number);
	const struct clew_header *first;
	bool final;

	if (!stream)
		return -EINVAL;
	store_encoding_look(writer->encoding, number);
	if (stream->count == stream->saved_count ||
	    (age && (now < age || stream->unsaved_time > now - age)))
		return writer->error;
	first = (const struct clew_header *)stream->records;
	final = !writer->provisional ||
		(now > STORE_CHUNK_AGE && first->time < now - STORE_CHUNK_AGE) || is_worth(stream);
	if (writer->provisional && (!final || is_slow(stream)))
		save_rows(writer, stream, number);
	if (final)
		finish_chunk(writer, stream, number);
	return writer->error;
}

int clew_writer_cut(struct clew_writer *writer, unsigned number)
{
	struct stream *stream = find_stream(writer, number);

	if (!stream)
		return -EINVAL;
	if (stream->count < STORE_CUT_ROWS || !is_slow(stream))
		return writer->error;
	if (writer->provisional)
		save_rows(writer, stream, number);
	return finish_chunk(writer, stream, number);
}

uint64_t clew_writer_stored(const struct clew_writer *writer, unsigned number, unsigned kind)
{
	const struct stream *stream = find_stream(writer, number);

	return stream && kind < CLEW_KIND_COUNT
		       ? atomic_load_explicit(&stream->stored[kind], memory_order_relaxed)
		       : 0;
}

/* ---- the rest ---- */

int clew_writer_meta(struct clew_writer *writer, const char *key, const char *value)
{
	uint32_t sizes[2] = {strlen(key), strlen(value)};
	size_t size = sizeof(sizes) + sizes[0] + sizes[1];
	uint8_t *bigger;

	pthread_mutex_lock(&writer->lock);
	bigger = realloc(writer->meta, writer->meta_size + size);
	if (bigger) {
		memcpy(bigger + writer->meta_size, sizes, sizeof(sizes));
		memcpy(bigger + writer->meta_size + sizeof(sizes), key, sizes[0]);
		memcpy(bigger + writer->meta_size + sizeof(sizes) + sizes[0], value, sizes[1]);
		writer->meta = bigger;
		writer->meta_size += size;
	}
	pthread_mutex_unlock(&writer->lock);
	return bigger ? writer->error : -ENOMEM;
}

static int put_numbers(struct clew_writer *writer, enum store_chunk_kind kind,
		       const uint64_t *numbers, size_t count)
{
	struct store_chunk *chunk;
	int r = store_chunk_new(kind, numbers, count * sizeof(*numbers), false, &chunk);

	if (r < 0)
		return r;
	store_writer_enqueue(writer, chunk);
	return writer->error;
}

int clew_writer_clock(struct clew_writer *writer, const struct clew_clock *clock)
{
	const uint64_t numbers[] = {clock->monotonic, clock->boot, clock->wall};

	return put_numbers(writer, STORE_CHUNK_CLOCK, numbers, 3);
}

int clew_writer_keyframe(struct clew_writer *writer, const struct clew_keyframe *keyframe)
{
	const uint64_t numbers[] = {keyframe->from, keyframe->until};

	return put_numbers(writer, STORE_CHUNK_KEYFRAME, numbers, 2);
}

int clew_writer_ledger(struct clew_writer *writer, const struct clew_ledger_row *rows, size_t count,
		       const struct clew_cost *cost)
{
	struct store_ledger_head head = {.user_ns = cost->user_ns,
					 .bpf_ns = cost->bpf_ns,
					 .bpf_sampled = cost->bpf_sampled,
					 .rows = count};
	struct store_chunk_header header;
	struct store_chunk *chunk;
	uint8_t *payload;
	int r;

	payload = malloc(sizeof(head) + count * sizeof(*rows));
	if (!payload)
		return -ENOMEM;
	memcpy(payload, &head, sizeof(head));
	if (count)
		memcpy(payload + sizeof(head), rows, count * sizeof(*rows));
	r = store_chunk_new(STORE_CHUNK_LEDGER, payload, sizeof(head) + count * sizeof(*rows), true,
			    &chunk);
	free(payload);
	if (r < 0)
		return r;
	memcpy(&header, chunk->data, sizeof(header));
	header.row = ++writer->ledger_version;
	memcpy(chunk->data, &header, sizeof(header));
	store_chunk_seal(chunk);
	chunk->provisional = writer->provisional;
	store_writer_enqueue(writer, chunk);
	return writer->error;
}

uint64_t clew_writer_bytes(const struct clew_writer *writer)
{
	return writer->bytes;
}

int clew_writer_error(const struct clew_writer *writer)
{
	return writer->error;
}

int clew_writer_close(struct clew_writer *writer)
{
	int r;

	if (!writer)
		return 0;
	for (unsigned i = 0; i < writer->cpus; i++)
		finish_chunk(writer, &writer->streams[i], i);
	finish_chunk(writer, &writer->streams[writer->cpus], CLEW_STREAM_USER);
	store_encoding_hurry(writer->encoding);
	store_encoding_await(writer->encoding);
	store_writer_await_columns(writer);
	store_encoding_free(writer->encoding);
	store_writer_finish(writer);
	store_thread_join(writer->thread);

	r = store_output_close(writer->output);
	if (writer->error)
		r = writer->error;
	writer_free(writer);
	return r;
}
