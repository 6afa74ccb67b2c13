/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding the chunks of a file: by its index, or by looking for them.
 */
#ifndef CLEW_STORE_SCAN_H
#define CLEW_STORE_SCAN_H

#include "chunk.h"

struct store_file {
	int fd;
	uint64_t size;
	bool complete;
	bool torn; /* without an index, and not as a kill leaves a file: damaged, or cut within a chunk */
	uint64_t damaged;
	/* The records' chunks come last, by stream, then by row; no row is twice. */
	struct store_index_entry *entries;
	size_t count;
	size_t records; /* where they begin */
	size_t capacity;
	struct store_index_total totals[CLEW_KIND_COUNT];
	uint8_t *payload; /* of the chunk read last */
	size_t payload_capacity;
};

/* -EINVAL: no capture, or one of another version; the words say which. */
int store_file_open(const char *path, struct store_file *file, char *message, size_t message_size);
void store_file_close(struct store_file *file);

/* Reads a chunk into file->payload and checks it. -EBADMSG: damaged. */
int store_file_read(struct store_file *file, const struct store_index_entry *entry, struct store_chunk_header *ret_header);

#endif
