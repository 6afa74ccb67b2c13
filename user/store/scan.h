/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding the chunks of a file: by its index, or by looking for them.
 */
#ifndef CLEW_STORE_SCAN_H
#define CLEW_STORE_SCAN_H

#include "store/chunk.h"

/* A chunk's, as read last. */
struct store_payload {
	uint8_t *bytes;
	size_t capacity;
};

struct store_file {
	int fd;
	uint64_t size;
	bool complete;
	bool torn; /* without an index, and not as a kill leaves a file: damaged, or cut within a
		      chunk */
	uint64_t damaged;
	/* The records' chunks come last, by stream, then by row; no row is twice. */
	struct store_index_entry *entries;
	size_t count;
	size_t records; /* where they begin */
	size_t capacity;
	struct store_index_total totals[CLEW_KIND_COUNT];
	struct store_payload payload; /* for who has none of his own */
};

/* -EINVAL: no capture, or one of another version; the words say which. */
int store_file_open(const char *path, struct store_file *file, char *message, size_t message_size);
void store_file_close(struct store_file *file);

/* Reads a chunk and checks it. -EBADMSG: damaged. Of the file it changes nothing: threads with
 * payloads of their own may do it at once. */
int store_file_read(const struct store_file *file, const struct store_index_entry *entry,
		    struct store_payload *payload, struct store_chunk_header *ret_header);

#endif
