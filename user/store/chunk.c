/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chunks of plain bytes, and the heads of others. Nothing in a file's chunk is trusted. */
#include "store/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define SMALL 65536 /* up to that size the higher level is used in any case */

uint32_t store_checksum(const struct store_chunk_header *header, const void *payload)
{
	uLong sum = crc32(0, (const Bytef *)header + STORE_CHECKSUM_FROM,
			  sizeof(*header) - STORE_CHECKSUM_FROM);

	return header->size ? crc32(sum, payload, header->size) : sum;
}

void store_chunk_seal(struct store_chunk *chunk)
{
	struct store_chunk_header header;

	memcpy(&header, chunk->data, sizeof(header));
	header.magic = STORE_CHUNK_MAGIC;
	header.size = chunk->size - sizeof(header);
	header.checksum = store_checksum(&header, chunk->data + sizeof(header));
	memcpy(chunk->data, &header, sizeof(header));
	chunk->entry.row = header.row;
	chunk->entry.first_time = header.first_time;
	chunk->entry.last_time = header.last_time;
	chunk->entry.size = header.size;
	chunk->entry.rows = header.rows;
	chunk->entry.kind = header.kind;
	chunk->entry.stream = header.stream;
}

void store_chunks_free(struct store_chunk *chunks)
{
	for (struct store_chunk *next; chunks; chunks = next) {
		next = chunks->next;
		free(chunks);
	}
}

int store_chunk_new(unsigned kind, const void *payload, size_t size, bool compress,
		    struct store_chunk **ret_chunk)
{
	struct store_chunk_header header = {.kind = kind, .stream = CLEW_STREAM_USER};
	size_t bound = compress ? ZSTD_compressBound(size) : size;
	struct store_chunk *chunk;

	if (size > STORE_PAYLOAD_MAX)
		return -EMSGSIZE;
	chunk = calloc(1, sizeof(*chunk) + sizeof(header) + bound);
	if (!chunk)
		return -ENOMEM;
	if (compress) {
		size_t packed = ZSTD_compress(chunk->data + sizeof(header), bound, payload, size,
					      size < SMALL ? STORE_LEVEL_DENSE : STORE_LEVEL);

		if (ZSTD_isError(packed)) {
			free(chunk);
			return -ENOMEM;
		}
		header.raw_size = size;
		size = packed;
	} else if (size) {
		memcpy(chunk->data + sizeof(header), payload, size);
	}
	memcpy(chunk->data, &header, sizeof(header));
	chunk->size = sizeof(header) + size;
	store_chunk_seal(chunk);
	*ret_chunk = chunk;
	return 0;
}

int store_chunk_extend(struct store_chunk **chunk, const void *bytes, size_t size)
{
	struct store_chunk *bigger = realloc(*chunk, sizeof(*bigger) + (*chunk)->size + size);

	if (!bigger) {
		free(*chunk);
		return -ENOMEM;
	}
	memcpy(bigger->data + bigger->size, bytes, size);
	bigger->size += size;
	store_chunk_seal(bigger);
	*chunk = bigger;
	return 0;
}

int store_unframe(const struct store_chunk_header *header, const uint8_t *payload,
		  uint8_t **ret_bytes)
{
	uint8_t *bytes;
	size_t size;

	if (!header->raw_size || header->raw_size > STORE_PAYLOAD_MAX)
		return -EBADMSG;
	bytes = malloc(header->raw_size);
	if (!bytes)
		return -ENOMEM;
	size = ZSTD_decompress(bytes, header->raw_size, payload, header->size);
	if (ZSTD_isError(size) || size != header->raw_size) {
		free(bytes);
		return -EBADMSG;
	}
	*ret_bytes = bytes;
	return 0;
}

int store_front_parse(const uint8_t *payload, size_t size, struct store_front *ret_front)
{
	struct store_front front = {0};

	if (!size)
		return -EBADMSG;
	front.count = payload[0] & ~(STORE_FRONT_PACKED | STORE_FRONT_QUICK);
	front.packed = payload[0] & STORE_FRONT_PACKED;
	front.quick = payload[0] & STORE_FRONT_QUICK;
	front.size = 1 + 9 * (size_t)front.count;
	if ((front.packed && front.quick) || size < front.size)
		return -EBADMSG;
	for (unsigned i = 0; i < front.count; i++) {
		const uint8_t *entry = payload + 1 + 9 * (size_t)i;

		front.entries[i].kind = entry[0];
		memcpy(&front.entries[i].rows, entry + 1, 4);
		memcpy(&front.entries[i].column_bytes, entry + 5, 4);
		if (!entry[0] || (i && entry[0] <= front.entries[i - 1].kind))
			return -EBADMSG;
	}
	if (front.packed) {
		if (size - front.size < sizeof(front.stream_size))
			return -EBADMSG;
		memcpy(&front.stream_size, payload + front.size, sizeof(front.stream_size));
		front.size += sizeof(front.stream_size);
		if (front.stream_size > size - front.size)
			return -EBADMSG;
	}
	*ret_front = front;
	return 0;
}
