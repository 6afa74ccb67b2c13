/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the chunks of a file: by its index, or by searching for them. */
#ifndef CLEW_STORE_SCAN_H
#define CLEW_STORE_SCAN_H

#include "store/chunk.h"

/* Memory for a payload, which has the one that was read last. */
struct store_payload {
	uint8_t *bytes;
	size_t capacity;
};

struct store_file {
	int fd;
	uint64_t size;
	bool complete;
	bool torn;     /* has no index, and not because of a kill: damaged, or cut within a chunk */
	bool headless; /* its header is damaged or missing */
	uint64_t damaged;
	/*
	 * Chunks of records come last, by stream, then by row; no row is in
	 * two.
	 */
	struct store_index_entry *entries;
	size_t count;
	size_t records; /* the first of these */
	size_t capacity;
	struct store_index_total totals[CLEW_KIND_COUNT];
	struct store_payload payload; /* for callers without one of their own */
};

/*
 * Opens a capture. -EINVAL: it is none, or of another version; `message` says
 * which.
 */
int store_file_open(const char *path, struct store_file *file, char *message, size_t message_size);
void store_file_close(struct store_file *file);

/*
 * Reads a chunk and checks it. -EBADMSG: damaged. Nothing in `file` changes:
 * threads with payloads of their own may do it at the same time.
 */
int store_file_read(const struct store_file *file, const struct store_index_entry *entry,
		    struct store_payload *payload, struct store_chunk_header *ret_header);

#endif
