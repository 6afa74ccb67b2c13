/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks to the file. Chunks begin and end inside blocks: the part of a block
 * that is in the file already is kept in memory and written again with what
 * follows it. With sync, padding chunks fill each block instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/output_state.h"
#include "store/target.h"

#define COMPACT_MIN   (64u << 10) /* fewer dead bytes do not trigger compaction */
#define COMPACT_SHARE 8		  /* and they have to be at least this part of the live ones */
#define TAIL_MAX      (8u << 20)  /* a longer tail is settled as it is */

/* ---- blocks ---- */

void store_block_push(uint8_t *block, uint64_t at, const uint8_t *bytes, size_t size)
{
	uint64_t start = (at + size) & ~STORE_BLOCK_MASK;

	if (start <= at)
		memcpy(block + (at & STORE_BLOCK_MASK), bytes, size);
	else
		memcpy(block, bytes + (start - at), at + size - start);
}

static int image_reserve(struct store_output *output, size_t size)
{
	size_t capacity = (2 * size + STORE_BLOCK_MASK) & ~STORE_BLOCK_MASK;
	uint8_t *image;

	if (size <= output->image_capacity)
		return 0;
	image = aligned_alloc(STORE_BLOCK, capacity);
	if (!image)
		return -ENOMEM;
	if (output->image_size)
		memcpy(image, output->image, output->image_size);
	free(output->image);
	output->image = image;
	output->image_capacity = capacity;
	return 0;
}

int store_image_add(struct store_output *output, const void *bytes, size_t size)
{
	int r;

	/* Room for the zeros that fill the last block. */
	r = image_reserve(output, output->image_size + size + STORE_BLOCK);
	if (r < 0)
		return r;
	memcpy(output->image + output->image_size, bytes, size);
	output->image_size += size;
	return 0;
}

int store_image_start(struct store_output *output, const uint8_t *block, uint64_t at)
{
	output->image_size = 0;
	return output->regular ? store_image_add(output, block, at & STORE_BLOCK_MASK) : 0;
}

static int leave_direct(struct store_output *output)
{
	int flags = fcntl(output->fd, F_GETFL);

	output->direct = false;
	return flags < 0 || fcntl(output->fd, F_SETFL, flags & ~O_DIRECT) < 0 ? -errno : 0;
}

static int write_all(struct store_output *output, const uint8_t *bytes, size_t size,
		     uint64_t offset)
{
	int r;

	while (size) {
		ssize_t n = output->regular ? pwrite(output->fd, bytes, size, offset)
					    : write(output->fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && output->direct && (errno == EINVAL || errno == EOPNOTSUPP)) {
			r = leave_direct(output);
			if (r < 0)
				return r;
			continue;
		}
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= n;
		offset += n;
		/*
		 * The rest of a short write may not be aligned: without
		 * O_DIRECT the next write reports the error.
		 */
		if (size && output->direct && (n & STORE_BLOCK_MASK)) {
			r = leave_direct(output);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int store_image_write(struct store_output *output, uint64_t at)
{
	size_t size = output->image_size;
	uint64_t offset = at;
	int r;

	if (output->regular) {
		size = (size + STORE_BLOCK_MASK) & ~STORE_BLOCK_MASK;
		offset = at & ~STORE_BLOCK_MASK;
		memset(output->image + output->image_size, 0, size - output->image_size);
	}
	r = write_all(output, output->image, size, offset);
	if (r == 0 && output->regular && !output->direct) {
		sync_file_range(output->fd, offset, size,
				SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					SYNC_FILE_RANGE_WAIT_AFTER);
		posix_fadvise(output->fd, offset, size, POSIX_FADV_DONTNEED);
	}
	return r;
}

int store_output_trim(struct store_output *output, uint64_t size)
{
	return output->regular && ftruncate(output->fd, size) < 0 ? -errno : 0;
}

/* ---- the tail ---- */

/* Adds a chunk that is settled to the index. */
static int add_entry(struct store_output *output, const struct store_chunk *chunk)
{
	if (chunk->entry.kind == STORE_CHUNK_PADDING)
		return 0;
	if (output->entry_count == output->entry_capacity) {
		size_t capacity = output->entry_capacity ? 2 * output->entry_capacity : 64;
		struct store_index_entry *bigger =
			realloc(output->entries, capacity * sizeof(*bigger));
		bool *quick;

		if (!bigger)
			return -ENOMEM;
		output->entries = bigger;
		quick = realloc(output->quick, capacity * sizeof(*quick));
		if (!quick)
			return -ENOMEM;
		output->quick = quick;
		output->entry_capacity = capacity;
	}
	output->quick[output->entry_count] = chunk->quick && !chunk->provisional;
	output->quick_left += output->quick[output->entry_count];
	output->entries[output->entry_count++] = chunk->entry;
	return 0;
}

static int settle_first(struct store_output *output)
{
	struct store_chunk *chunk = output->tail;

	if (!chunk->dead) {
		if (add_entry(output, chunk) < 0)
			return -ENOMEM;
		output->live -= chunk->size;
	} else {
		output->dead -= chunk->size;
	}
	store_block_push(output->settled_block, output->settled, chunk->data, chunk->size);
	output->settled += chunk->size;
	output->tail = chunk->next;
	if (!output->tail)
		output->tail_end = &output->tail;
	free(chunk);
	return 0;
}

/*
 * Settles the tail up to the first chunk that may still be replaced, or all of
 * it.
 */
static int settle(struct store_output *output, bool all)
{
	int r = 0;

	while (output->tail && r == 0 &&
	       (all || (!output->tail->provisional && !output->tail->dead)))
		r = settle_first(output);
	return r;
}

static int image_add_live(struct store_output *output)
{
	int r = 0;

	for (int provisional = 0; provisional < 2; provisional++)
		for (struct store_chunk *chunk = output->tail; chunk && r == 0; chunk = chunk->next)
			if (!chunk->dead && chunk->provisional == provisional)
				r = store_image_add(output, chunk->data, chunk->size);
	return r;
}

/*
 * Removes dead chunks from the list of the tail and moves provisional ones to
 * its end.
 */
static void sort_tail(struct store_output *output)
{
	struct store_chunk *final = NULL, **final_end = &final, *open = NULL, **open_end = &open,
			   *next;

	for (struct store_chunk *chunk = output->tail; chunk; chunk = next) {
		next = chunk->next;
		chunk->next = NULL;
		if (chunk->dead) {
			free(chunk);
		} else if (chunk->provisional) {
			*open_end = chunk;
			open_end = &chunk->next;
		} else {
			*final_end = chunk;
			final_end = &chunk->next;
		}
	}
	*final_end = open;
	output->tail = final;
	output->tail_end = open ? open_end : final ? final_end : &output->tail;

	output->dead = 0;
	output->end = output->settled;
	memcpy(output->end_block, output->settled_block, STORE_BLOCK);
	for (struct store_chunk *chunk = output->tail; chunk; chunk = chunk->next) {
		chunk->entry.offset = output->end;
		store_block_push(output->end_block, output->end, chunk->data, chunk->size);
		output->end += chunk->size;
	}
}

int store_output_rewrite(struct store_output *output)
{
	int r = store_image_start(output, output->settled_block, output->settled);

	if (r == 0)
		r = image_add_live(output);
	if (r == 0)
		r = store_image_write(output, output->settled);
	if (r < 0)
		return r;
	sort_tail(output);
	return store_output_trim(output, (output->end + STORE_BLOCK_MASK) & ~STORE_BLOCK_MASK);
}

static int compact(struct store_output *output)
{
	int r;

	r = store_image_start(output, output->end_block, output->end);
	if (r == 0)
		r = image_add_live(output);
	if (r == 0)
		r = store_image_write(output, output->end);
	if (r == -ENOSPC) {
		/* There is no space for a second copy: the dead chunks stay. */
		output->compacts = false;
		return store_output_trim(output, output->end);
	}
	return r < 0 ? r : store_output_rewrite(output);
}

/* Marks the chunks that this one replaces. */
static void supersede(struct store_output *output, const struct store_chunk *by)
{
	for (struct store_chunk *chunk = output->tail; chunk; chunk = chunk->next) {
		const struct store_index_entry *old = &chunk->entry;

		if (!chunk->provisional || chunk->dead || old->kind != by->entry.kind ||
		    old->stream != by->entry.stream)
			continue;
		if (old->kind == STORE_CHUNK_RECORDS &&
		    (by->provisional || old->row + old->rows > by->entry.row + by->entry.rows))
			continue;
		chunk->dead = true;
		output->live -= chunk->size;
		output->dead += chunk->size;
	}
}

static void push(struct store_output *output, struct store_chunk *chunk)
{
	supersede(output, chunk);
	if (chunk->redoes) {
		output->entries[chunk->redoes - 1].kind = STORE_CHUNK_PADDING;
		output->quick[chunk->redoes - 1] = false;
		output->quick_left--;
		output->quick_gone++;
	}
	chunk->next = NULL;
	chunk->entry.offset = output->end;
	*output->tail_end = chunk;
	output->tail_end = &chunk->next;
	output->live += chunk->size;
	store_block_push(output->end_block, output->end, chunk->data, chunk->size);
	output->end += chunk->size;
}

/* ---- interface ---- */

bool store_output_replaces(const struct store_output *output)
{
	return output->regular && !output->sync;
}

uint64_t store_output_bytes(const struct store_output *output)
{
	return output->end;
}

/* Adds a padding chunk to the image, so that the next chunk begins a block. */
static int pad(struct store_output *output, uint64_t *end)
{
	static const uint8_t zeros[STORE_BLOCK + sizeof(struct store_chunk_header)];
	struct store_chunk *chunk;
	size_t size = -*end & STORE_BLOCK_MASK;
	int r;

	if (!size)
		return 0;
	if (size < sizeof(struct store_chunk_header))
		size += STORE_BLOCK;
	r = store_chunk_new(STORE_CHUNK_PADDING, zeros, size - sizeof(struct store_chunk_header),
			    false, &chunk);
	if (r < 0)
		return r;
	r = store_image_add(output, chunk->data, chunk->size);
	*end += chunk->size;
	free(chunk);
	return r;
}

/*
 * Writes chunks behind the end of the file; they belong to the output only if
 * that succeeds.
 */
static int append_together(struct store_output *output, struct store_chunk *chunks, bool padded)
{
	uint64_t end = output->end;
	int r;

	r = store_image_start(output, output->end_block, output->end);
	for (struct store_chunk *chunk = chunks; chunk && r == 0; chunk = chunk->next) {
		r = store_image_add(output, chunk->data, chunk->size);
		end += chunk->size;
	}
	if (padded && r == 0)
		r = pad(output, &end);
	if (r == 0)
		r = store_image_write(output, output->end);
	if (r < 0) {
		/* The chunks written before remain the end of the file. */
		(void)store_output_trim(output, output->end);
		return r;
	}
	for (struct store_chunk *next; chunks; chunks = next) {
		next = chunks->next;
		push(output, chunks);
	}
	if (padded) {
		r = settle(output, true);
		output->end = output->settled = end;
	}
	return r;
}

static int append_each(struct store_output *output, struct store_chunk *chunks, bool padded)
{
	int r = 0;

	for (struct store_chunk *next; chunks && r == 0; chunks = next) {
		next = chunks->next;
		chunks->next = NULL;
		r = append_together(output, chunks, padded);
		if (r < 0) {
			chunks->next = next;
			break;
		}
	}
	store_chunks_free(chunks);
	return r;
}

int store_output_append(struct store_output *output, struct store_chunk *chunks)
{
	int r;

	if (output->sync && output->regular)
		return append_each(output, chunks, true);
	r = append_together(output, chunks, false);
	if (r < 0) {
		/* There may be space for some of them. The error remains. */
		(void)append_each(output, chunks, false);
		return r;
	}
	r = settle(output, !output->regular);
	if (r == 0 && output->compacts && output->dead >= COMPACT_MIN &&
	    output->dead >= output->live / COMPACT_SHARE) {
		r = compact(output);
		if (r == 0)
			r = settle(output, false);
	}
	if (r == 0 && output->live + output->dead > TAIL_MAX)
		r = settle(output, true);
	return r;
}

/* Takes those out of the index whose rows are in another chunk. */
static void drop_replaced(struct store_output *output)
{
	size_t kept = 0;

	for (size_t i = 0; i < output->entry_count; i++)
		if (output->entries[i].kind != STORE_CHUNK_PADDING)
			output->entries[kept++] = output->entries[i];
	output->entry_count = kept;
}

static int write_index(struct store_output *output, const struct store_index_total *totals,
		       unsigned total_count)
{
	size_t totals_size = total_count * sizeof(*totals),
	       entries_size = output->entry_count * sizeof(*output->entries);
	size_t size = 8 + totals_size + entries_size;
	struct store_trailer trailer = {.index = output->end};
	uint32_t counts[2] = {total_count, output->entry_count};
	struct store_chunk *chunk;
	uint8_t *payload;
	int r;

	/* With that many chunks the file gets no index: readers rebuild it. */
	if (size > STORE_PAYLOAD_MAX)
		return 0;
	payload = malloc(size);
	if (!payload)
		return -ENOMEM;
	memcpy(payload, counts, 8);
	memcpy(payload + 8, totals, totals_size);
	if (entries_size)
		memcpy(payload + 8 + totals_size, output->entries, entries_size);
	memcpy(trailer.magic, STORE_END_MAGIC, sizeof(trailer.magic));
	r = store_chunk_new(STORE_CHUNK_INDEX, payload, size, true, &chunk);
	free(payload);
	if (r == 0)
		r = store_chunk_extend(&chunk, &trailer, sizeof(trailer));
	return r < 0 ? r : append_each(output, chunk, false);
}

int store_output_settle_final(struct store_output *output)
{
	/* Provisional chunks go behind the others. */
	int r = output->tail && output->compacts ? compact(output) : 0;

	return r < 0 ? r : settle(output, false);
}

int store_output_finish(struct store_output *output, const struct store_index_total *totals,
			unsigned total_count)
{
	int r = 0;

	if (output->dead && output->compacts)
		r = compact(output);
	if (r == 0)
		r = settle(output, true);
	drop_replaced(output);
	if (r == 0)
		r = write_index(output, totals, total_count);
	if (r == 0)
		r = store_output_trim(output, output->end);
	return r;
}

/* The file's header; it reaches a regular file with its first block. */
static int put_file_header(struct store_output *output)
{
	struct store_file_header header = {.major = STORE_VERSION_MAJOR,
					   .minor = STORE_VERSION_MINOR};

	memcpy(header.magic, STORE_MAGIC, STORE_MAGIC_SIZE);
	memcpy(output->settled_block, &header, sizeof(header));
	memcpy(output->end_block, &header, sizeof(header));
	output->settled = output->end = sizeof(header);
	return output->regular ? 0 : write_all(output, (const uint8_t *)&header, sizeof(header), 0);
}

/* Opens the file without changing it. */
static int open_file(struct store_output *output, const char *path)
{
	bool made;
	int r = store_target_open(path, output->sync ? O_DSYNC : 0, &output->fd, &made);

	if (r < 0 || !made)
		return r;
	output->made = strdup(path);
	return output->made ? 0 : -ENOMEM;
}

/*
 * Two recordings into one file would destroy both. Where files cannot be locked
 * this goes undetected.
 */
static int lock_file(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EBUSY : 0;
}

/*
 * O_NONBLOCK was only for opening a pipe without a reader; O_DIRECT would turn
 * its bytes into packets.
 */
static int set_flags(struct store_output *output)
{
	int flags = fcntl(output->fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags &= ~(O_NONBLOCK | O_DIRECT);
	output->direct = output->regular && fcntl(output->fd, F_SETFL, flags | O_DIRECT) == 0;
	return !output->direct && fcntl(output->fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int store_output_open(const char *path, bool sync, struct store_output **ret_output)
{
	struct store_output *output = calloc(1, sizeof(*output));
	struct stat stat;
	int r;

	if (!output)
		return -ENOMEM;
	output->fd = output->reading = -1;
	output->sync = sync;
	output->tail_end = &output->tail;
	r = open_file(output, path);
	if (r == 0 && fstat(output->fd, &stat) < 0)
		r = -errno;
	if (r == 0) {
		output->regular = output->compacts = S_ISREG(stat.st_mode);
		r = output->regular ? lock_file(output->fd) : 0;
	}
	if (r == 0)
		r = set_flags(output);
	if (r == 0)
		r = image_reserve(output, 1u << 20);
	if (r < 0) {
		store_output_close(output);
		return r;
	}
	*ret_output = output;
	return 0;
}

int store_output_begin(struct store_output *output)
{
	free(output->made);
	output->made = NULL;
	if (output->regular && ftruncate(output->fd, 0) < 0)
		return -errno;
	return put_file_header(output);
}

int store_output_close(struct store_output *output)
{
	int r;

	if (!output)
		return 0;
	if (output->made)
		unlink(output->made);
	r = output->fd >= 0 && close(output->fd) < 0 && errno != EINTR ? -errno : 0;
	if (output->reading >= 0)
		close(output->reading);
	store_chunks_free(output->tail);
	free(output->made);
	free(output->image);
	free(output->entries);
	free(output->quick);
	free(output);
	return r;
}
