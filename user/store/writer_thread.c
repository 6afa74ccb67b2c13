/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread that writes: it takes chunks from the queue to the file, in batches, and has columns
 * made of quick chunks, once CPUs are idle and at the end.
 */
#include "store/writer_state.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

#define QUEUE_MAX                                                                                  \
	(64u << 20) /* bytes of chunks not yet written; threads that make more have to wait */
#define BATCH_BYTES   (256u << 10) /* size from which on a batch is written at once .. */
#define BATCH_WAIT_NS 150000000ull /* .. and the time after which a smaller one is */
#define REDO_MOST     4		   /* quick chunks whose rows become columns at a time */

void store_writer_fail(struct clew_writer *writer, int error)
{
	int none = 0;

	atomic_compare_exchange_strong(&writer->error, &none, error);
}

static void write_batch(struct clew_writer *writer, struct store_chunk *chunks)
{
	int r;

	if (writer->error) {
		store_chunks_free(chunks);
		return;
	}
	r = store_output_append(writer->output, chunks);
	if (r < 0)
		store_writer_fail(writer, r);
	writer->bytes = store_output_bytes(writer->output);
}

/* Waits a moment for a small batch to grow. */
static void gather_batch(struct clew_writer *writer)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += BATCH_WAIT_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (writer->queued < BATCH_BYTES && !writer->closing && !writer->finishing)
		if (pthread_cond_timedwait(&writer->filled, &writer->lock, &until) == ETIMEDOUT)
			break;
}

/* Takes what is in the queue to the file. With the lock held. */
static void write_queue(struct clew_writer *writer)
{
	struct store_chunk *chunks = writer->queue;
	size_t size = writer->queued;

	writer->queue = NULL;
	writer->queue_end = &writer->queue;
	for (const struct store_chunk *chunk = chunks; chunk; chunk = chunk->next)
		writer->redoing -= chunk->redoes > 0;
	pthread_mutex_unlock(&writer->lock);

	write_batch(writer, chunks);

	pthread_mutex_lock(&writer->lock);
	writer->queued -= size;
	pthread_cond_broadcast(&writer->drained);
}

/* The rows of a quick chunk will be counted with their columns. */
static void uncount(struct clew_writer *writer, const struct store_front *front)
{
	pthread_mutex_lock(&writer->lock);
	for (unsigned i = 0; i < front->count; i++) {
		struct store_index_total *total = &writer->totals[front->entries[i].kind];

		total->count -= front->entries[i].rows;
		total->column_bytes -= front->entries[i].column_bytes;
		store_encoding_grant(writer->encoding, front->entries[i].column_bytes);
	}
	pthread_mutex_unlock(&writer->lock);
}

/* Has columns made of some quick chunks. Returns 1 if there were any, 0 or -errno. */
static int redo_some(struct clew_writer *writer)
{
	struct store_front front;
	int r = 1;

	while (r > 0 && writer->redoing < REDO_MOST) {
		r = store_redo_next(writer->redo, writer->output, writer->encoding, &front);
		if (r > 0) {
			writer->redoing++;
			uncount(writer, &front);
		}
	}
	if (r < 0)
		return r;
	if (writer->redoing)
		return 1;
	r = store_output_squeeze(writer->output);
	if (r < 0)
		store_writer_fail(writer, r);
	writer->bytes = store_output_bytes(writer->output);
	return r;
}

/* True if quick chunks stay, as there is no more time for them. With the lock held. */
static bool is_too_late(const struct clew_writer *writer)
{
	return writer->redo_until && clock_read(CLOCK_MONOTONIC) >= writer->redo_until;
}

/* True if there is no reason to make columns of quick chunks now. With the lock held. */
static bool leaves_quick(const struct clew_writer *writer)
{
	return !writer->redo || writer->quick_stays || writer->error || is_too_late(writer) ||
	       (!writer->finishing && store_encoding_busy(writer->encoding));
}

/* Has columns made of quick chunks, if it is time for that. With the lock held. */
static void redo(struct clew_writer *writer)
{
	bool finishing = writer->finishing && !writer->queue;
	/* The rows that are on their way are still to come. */
	int r = writer->redoing && !writer->error;

	if (!leaves_quick(writer)) {
		pthread_mutex_unlock(&writer->lock);
		r = redo_some(writer);
		/* The file is whole nevertheless: rows that did not become columns are in it. */
		pthread_mutex_lock(&writer->lock);
	}
	if (finishing && r <= 0) {
		writer->redone = true;
		pthread_cond_broadcast(&writer->drained);
	}
}

static bool has_work(const struct clew_writer *writer)
{
	bool last = writer->finishing && !writer->redone && (!writer->redoing || writer->error);

	return writer->begun && (writer->queue || last);
}

void *store_writer_run(void *context)
{
	struct clew_writer *writer = context;

	pthread_mutex_lock(&writer->lock);
	for (;;) {
		while (!has_work(writer) && !writer->closing)
			pthread_cond_wait(&writer->filled, &writer->lock);
		if (!has_work(writer))
			break;
		if (writer->queue && !writer->sync)
			gather_batch(writer);
		if (writer->queue)
			write_queue(writer);
		redo(writer);
	}
	pthread_mutex_unlock(&writer->lock);
	if (!writer->error && writer->begun) {
		int r = store_output_finish(writer->output, writer->totals, CLEW_KIND_COUNT);

		if (r < 0)
			store_writer_fail(writer, r);
	}
	return NULL;
}

static void append(struct clew_writer *writer, struct store_chunk *chunk)
{
	for (unsigned kind = 0; kind < CLEW_KIND_COUNT && !chunk->provisional; kind++) {
		writer->totals[kind].count += chunk->totals[kind].count;
		writer->totals[kind].column_bytes += chunk->totals[kind].column_bytes;
	}
	chunk->next = NULL;
	*writer->queue_end = chunk;
	writer->queue_end = &chunk->next;
	writer->queued += chunk->size;
	pthread_cond_signal(&writer->filled);
}

/*
 * A capture without a schema is useless, so damage to one copy must not matter.
 */
static void append_schema(struct clew_writer *writer, unsigned copy)
{
	struct store_chunk *chunk = writer->copies[copy];

	if (!chunk)
		return;
	writer->copies[copy] = NULL;
	chunk->provisional = copy == COPY_EARLY && writer->provisional;
	append(writer, chunk);
}

/*
 * Collects the pairs of the META chunk, so that those added together are in one
 * chunk.
 */
static void append_meta(struct clew_writer *writer)
{
	struct store_chunk *chunk;
	int r;

	if (!writer->meta_size)
		return;
	r = store_chunk_new(STORE_CHUNK_META, writer->meta, writer->meta_size, false, &chunk);
	if (r < 0)
		store_writer_fail(writer, r);
	else
		append(writer, chunk);
	writer->meta_size = 0;
}

void store_writer_enqueue(struct clew_writer *writer, struct store_chunk *chunk)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->queued > QUEUE_MAX && writer->begun)
		pthread_cond_wait(&writer->drained, &writer->lock);
	append_meta(writer);
	append(writer, chunk);
	if (chunk->entry.kind == STORE_CHUNK_RECORDS)
		append_schema(writer, COPY_EARLY);
	pthread_mutex_unlock(&writer->lock);
}

void store_writer_take(void *context, struct store_chunk *chunk, int error)
{
	struct clew_writer *writer = context;

	if (chunk) {
		store_writer_enqueue(writer, chunk);
		return;
	}
	store_writer_fail(writer, error);
	/* The thread that writes may wait for the chunk. */
	pthread_mutex_lock(&writer->lock);
	pthread_cond_signal(&writer->filled);
	pthread_mutex_unlock(&writer->lock);
}

void store_writer_await_columns(struct clew_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->finishing = true;
	if (writer->quick_time)
		writer->redo_until = clock_read(CLOCK_MONOTONIC) + writer->quick_time;
	pthread_cond_signal(&writer->filled);
	while (writer->begun && !writer->redone)
		pthread_cond_wait(&writer->drained, &writer->lock);
	pthread_mutex_unlock(&writer->lock);
}

void store_writer_finish(struct clew_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	append_meta(writer);
	append_schema(writer, COPY_LAST);
	writer->closing = true;
	pthread_cond_signal(&writer->filled);
	pthread_mutex_unlock(&writer->lock);
}
