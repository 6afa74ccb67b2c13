/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encoding in the background: threads turn rows into chunks at low priority, so
 * that they do not disturb what is traced, until the rows have waited too long.
 *
 * The jobs of one stream are done in the order in which they were given,
 * patient jobs in an order of their own.
 */
#ifndef CLEW_STORE_ENCODING_H
#define CLEW_STORE_ENCODING_H

#include "store/buffers.h"
#include "store/chunk.h"

struct store_encoding;

struct store_job_rows {
	struct store_job_rows *next;
	uint8_t *records; /* one of the buffers; it belongs to the job */
	size_t bytes;
	size_t rows;
	uint64_t row;	/* number of the first */
	uint64_t given; /* ns, CLOCK_MONOTONIC: set by store_encoding_put() */
	unsigned stream;
	bool provisional;
	bool dense;    /* there is time to make the chunk as small as possible */
	bool patient;  /* the file has the rows already: the job can wait */
	bool quick;    /* it may become a quick chunk while CPUs are busy */
	size_t redoes; /* see struct store_chunk */
};

/*
 * Starts `threads` threads, and as many for patient jobs. Each chunk is passed
 * to `deliver`, which owns it from then on; an error (-errno) is passed with a
 * NULL chunk. `buffers` remain the caller's. `busy`, for tests: whether CPUs are,
 * or NULL. Returns 0 or -errno.
 */
int store_encoding_new(const struct store_schema *schema, struct store_buffers *buffers,
		       unsigned threads, const _Atomic bool *busy,
		       void (*deliver)(void *context, struct store_chunk *chunk, int error),
		       void *context, struct store_encoding **ret_encoding);

/*
 * Adds a job, whose buffer belongs to the encoding from then on. Blocks while
 * too much is waiting.
 */
void store_encoding_put(struct store_encoding *encoding, const struct store_job_rows *job);

/*
 * Raises the priority of a stream's thread if its job has waited too long. To
 * be called every few ms.
 */
void store_encoding_look(struct store_encoding *encoding, unsigned stream);

/* So many more bytes of the file may be rows of quick chunks; none at first. */
void store_encoding_grant(struct store_encoding *encoding, uint64_t bytes);

/*
 * True if jobs had to hurry lately, as the CPUs were not idle. Jobs that may become quick chunks do
 * then.
 */
bool store_encoding_busy(const struct store_encoding *encoding);

/* From now on no job waits for idle CPUs. It becomes a quick chunk only if `busy` says so. */
void store_encoding_hurry(struct store_encoding *encoding);
/* Waits until all jobs are done that were put before. */
void store_encoding_await(struct store_encoding *encoding);

/*
 * Does the remaining jobs, ends the threads and frees everything. NULL is
 * ignored.
 */
void store_encoding_free(struct store_encoding *encoding);

#endif
