/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encoding in the background: rows become chunks in threads that stay out of the
 * way of what is traced, until the rows have waited so long that they hurry.
 *
 * The jobs of one stream are done in the order they were given; those that can wait
 * are in an order of their own.
 */
#ifndef CLEW_STORE_ENCODING_H
#define CLEW_STORE_ENCODING_H

#include "store/buffers.h"
#include "store/chunk.h"

struct store_encoding;

struct store_job_rows {
	struct store_job_rows *next;
	uint8_t *records; /* one of the buffers, the job's own */
	size_t bytes;
	size_t rows;
	uint64_t row;	/* number of the first */
	uint64_t given; /* ns, CLOCK_MONOTONIC: set by store_encoding_put() */
	unsigned stream;
	bool provisional;
	bool dense;   /* there is time to make it as small as it gets */
	bool patient; /* the file has the rows already */
};

/*
 * Starts `threads` threads, and as many for patient jobs. Each chunk goes to `deliver`, which owns
 * it then; an error (-errno) comes as a NULL chunk. `buffers` stay the caller's. 0 or -errno.
 */
int store_encoding_new(const struct store_schema *schema, struct store_buffers *buffers,
		       unsigned threads,
		       void (*deliver)(void *context, struct store_chunk *chunk, int error),
		       void *context, struct store_encoding **ret_encoding);

/* Gives a job, whose buffer is the encoding's from then on. Waits while too much is waiting. */
void store_encoding_put(struct store_encoding *encoding, const struct store_job_rows *job);

/* If a stream's thread has a job that waits for too long, it is given the CPU before others. To be
 * called every few ms. */
void store_encoding_look(struct store_encoding *encoding, unsigned stream);

/* Does what is left, ends the threads and frees all. NULL is nothing. */
void store_encoding_free(struct store_encoding *encoding);

#endif
