/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Quick chunks that the file has: their rows come back into memory, and once columns have them all,
 * the chunks behind are moved to where they were.
 *
 * Invariant: a chunk is moved only where its copy ends before it begins, so that at any moment one
 * of the two is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/output_state.h"

int store_output_reads(struct store_output *output, uint64_t *ret_room)
{
	struct statfs status;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", output->fd);
	output->reading = open(path, O_RDONLY | O_CLOEXEC);
	if (output->reading < 0 || fstatfs(output->reading, &status) < 0)
		return -errno;
	*ret_room = status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC
			    ? 0
			    : (uint64_t)status.f_bavail * status.f_bsize;
	return 0;
}

static int read_all(const struct store_output *output, uint8_t *to, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pread(output->reading, to, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		to += n;
		size -= n;
		offset += n;
	}
	return 0;
}

/* The bytes of a settled chunk; they are the caller's to free. */
static int read_chunk(const struct store_output *output, const struct store_index_entry *entry,
		      uint8_t **ret_bytes)
{
	size_t size = sizeof(struct store_chunk_header) + entry->size;
	int r;

	*ret_bytes = malloc(size);
	if (!*ret_bytes)
		return -ENOMEM;
	r = read_all(output, *ret_bytes, size, entry->offset);
	/* The rest of the machine has a better use for the memory. */
	posix_fadvise(output->reading, entry->offset, size, POSIX_FADV_DONTNEED);
	if (r < 0)
		free(*ret_bytes);
	return r;
}

/* True if the tail has quick chunks that no other will replace. */
static bool tail_has_quick(const struct store_output *output)
{
	const struct store_chunk *chunk = output->tail;

	while (chunk && (!chunk->quick || chunk->provisional || chunk->dead))
		chunk = chunk->next;
	return chunk;
}

static size_t find_quick(const struct store_output *output)
{
	size_t at = output->quick_next;

	while (at < output->entry_count && !output->quick[at])
		at++;
	return at;
}

int store_output_next_quick(struct store_output *output, uint8_t **ret_bytes, size_t *ret_redoes)
{
	int r = 0;

	output->quick_next = find_quick(output);
	if (output->quick_next == output->entry_count && tail_has_quick(output)) {
		r = store_output_settle_final(output);
		output->quick_next = find_quick(output);
	}
	if (r < 0 || output->quick_next == output->entry_count)
		return r;
	r = read_chunk(output, &output->entries[output->quick_next], ret_bytes);
	if (r < 0)
		return r;
	output->quick_next++;
	*ret_redoes = output->quick_next;
	return 1;
}

/* Puts a chunk at `to`, whose block is in settled_block. */
static int move(struct store_output *output, struct store_index_entry *entry, uint64_t to)
{
	size_t size = sizeof(struct store_chunk_header) + entry->size;
	uint8_t *bytes;
	int r = read_chunk(output, entry, &bytes);

	if (r < 0)
		return r;
	r = store_image_start(output, output->settled_block, to);
	if (r == 0)
		r = store_image_add(output, bytes, size);
	if (r == 0)
		r = store_image_write(output, to);
	if (r == 0) {
		store_block_push(output->settled_block, to, bytes, size);
		entry->offset = to;
	}
	free(bytes);
	return r;
}

static uint64_t end_of(const struct store_index_entry *entry)
{
	return entry->offset + sizeof(struct store_chunk_header) + entry->size;
}

/* Loads the block at `at`, up to there. */
static int load_block(struct store_output *output, uint64_t at)
{
	return read_all(output, output->settled_block, at & STORE_BLOCK_MASK,
			at & ~STORE_BLOCK_MASK);
}

/* Moves the chunks from the first one on whose rows others have. */
static int move_all(struct store_output *output, uint64_t *ret_end)
{
	struct store_index_entry *entries = output->entries;
	uint64_t end = 0;
	size_t first = 0, kept;
	int r;

	while (first < output->entry_count && entries[first].kind != STORE_CHUNK_PADDING)
		first++;
	*ret_end = output->settled;
	if (first == output->entry_count)
		return 0;
	end = entries[first].offset;
	r = load_block(output, end);
	kept = first;
	for (size_t i = first; i < output->entry_count && r == 0; i++) {
		struct store_index_entry entry = entries[i];
		uint64_t moved = end + end_of(&entry) - entry.offset;

		if (entry.kind == STORE_CHUNK_PADDING)
			continue;
		if (((moved + STORE_BLOCK_MASK) & ~STORE_BLOCK_MASK) <= entry.offset)
			r = move(output, &entry, end);
		else
			r = load_block(output, end_of(&entry));
		if (r == 0)
			end = end_of(&entry);
		entries[kept++] = entry;
	}
	if (r < 0)
		return r;
	output->entry_count = kept;
	*ret_end = end;
	return 0;
}

int store_output_squeeze(struct store_output *output)
{
	uint64_t end, tail_end;
	int r;

	if (output->quick_left || !output->quick_gone)
		return 0;
	/* There may be quick chunks in the tail. */
	r = store_output_settle_final(output);
	if (r < 0 || output->quick_left)
		return r;
	output->quick_gone = 0;
	r = move_all(output, &end);
	if (r < 0)
		return r;
	output->quick_next = output->entry_count;
	memset(output->quick, 0, output->entry_count * sizeof(*output->quick));
	/* The tail moves as the chunks do. */
	tail_end = (end + output->live + STORE_BLOCK_MASK) & ~STORE_BLOCK_MASK;
	if (tail_end > output->settled)
		return load_block(output, output->settled);
	output->settled = end;
	return store_output_rewrite(output);
}
