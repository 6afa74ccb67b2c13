/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The writer's state, and its queue of chunks, which a thread of its own writes. */
#ifndef CLEW_STORE_WRITER_STATE_H
#define CLEW_STORE_WRITER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/encoding.h"
#include "store/output.h"
#include "store/redo.h"

struct stream {
	uint8_t *records;
	size_t used;
	size_t count;
	size_t saved_used; /* bytes of these that are in provisional chunks */
	size_t saved_count;
	uint64_t row;	       /* number of the first record in the buffer */
	uint64_t unsaved_time; /* of the first record not in any chunk */
	uint64_t last_time;    /* of the last record */
	_Atomic uint64_t stored[CLEW_KIND_COUNT];
};

/*
 * Copies of the schema: as the first chunk, behind the first rows until the
 * last copy is there, and at the end.
 */
enum { COPY_FIRST, COPY_EARLY, COPY_LAST, SCHEMA_COPIES };

struct clew_writer {
	struct store_output *output;
	struct store_schema *schema;
	struct store_chunk *copies[SCHEMA_COPIES]; /* copies that are not queued yet */
	struct store_encoding *encoding;
	struct store_buffers *buffers;
	size_t buffer_size;
	struct stream *streams; /* CPUs, then the user stream */
	unsigned cpus;
	size_t chunk_bytes; /* bytes of records that make a chunk full .. */
	size_t slow_rows;   /* .. and rows that make one of a slow stream full */
	size_t slow_bytes;
	bool sync;
	bool provisional;
	bool quick_stays;
	uint64_t quick_time;
	const _Atomic bool *quick_busy; /* for tests */
	struct store_redo *redo;
	unsigned redoing; /* quick chunks whose rows are on their way; for the writing thread */
	pthread_t thread;
	uint64_t ledger_version;

	pthread_mutex_t lock; /* for all members below */
	pthread_cond_t filled;
	pthread_cond_t drained;
	struct store_chunk *queue;
	struct store_chunk **queue_end;
	size_t queued;	     /* bytes, including those being written */
	bool begun;	     /* false: chunks are kept back, and the file is unchanged */
	bool finishing;	     /* no record comes any more: the last quick chunks become columns .. */
	bool redone;	     /* .. and have */
	uint64_t redo_until; /* ns, CLOCK_MONOTONIC: .. or stay, 0: they all do */
	bool closing;
	uint8_t *meta; /* pairs that are not in a chunk yet */
	size_t meta_size;
	struct store_index_total totals[CLEW_KIND_COUNT];
	_Atomic int error;
	_Atomic uint64_t bytes;
};

/* The first error is the writer's. */
void store_writer_fail(struct clew_writer *writer, int error);

/* Puts a chunk into the queue. Waits while there is too much. */
void store_writer_enqueue(struct clew_writer *writer, struct store_chunk *chunk);
/* The same for what an encoding thread made. */
void store_writer_take(void *writer, struct store_chunk *chunk, int error);

/* The thread. It ends the file and itself after store_writer_finish(). */
void *store_writer_run(void *writer);
/* Waits until the last quick chunks are columns, unless they stay. All other chunks are queued. */
void store_writer_await_columns(struct clew_writer *writer);
/* Nothing more will be queued. */
void store_writer_finish(struct clew_writer *writer);

#endif
