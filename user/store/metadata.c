/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Metadata: reads the chunks of a file that are not records. */
#include "store/metadata.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/grow.h"

static int add_pair(struct store_metadata *metadata, const uint8_t *key, uint32_t key_size,
		    const uint8_t *value, uint32_t value_size)
{
	struct store_pair *pairs, pair = {strndup((const char *)key, key_size),
					  strndup((const char *)value, value_size)};

	pairs = store_one_more(metadata->pairs, metadata->pair_count, sizeof(*pairs));
	if (pairs)
		metadata->pairs = pairs;
	if (!pairs || !pair.key || !pair.value) {
		free(pair.key);
		free(pair.value);
		return -ENOMEM;
	}
	metadata->pairs[metadata->pair_count++] = pair;
	return 0;
}

static int read_meta(struct store_metadata *metadata, const uint8_t *payload, size_t size)
{
	while (size) {
		uint32_t sizes[2];
		int r;

		if (size < sizeof(sizes))
			return -EBADMSG;
		memcpy(sizes, payload, sizeof(sizes));
		payload += sizeof(sizes);
		size -= sizeof(sizes);
		if (sizes[0] > size || sizes[1] > size - sizes[0])
			return -EBADMSG;
		r = add_pair(metadata, payload, sizes[0], payload + sizes[0], sizes[1]);
		if (r < 0)
			return r;
		payload += sizes[0] + sizes[1];
		size -= sizes[0] + sizes[1];
	}
	return 0;
}

static int read_clocks(struct store_metadata *metadata, const uint8_t *payload, size_t size)
{
	struct clew_clock *clocks;

	if (size % 24)
		return -EBADMSG;
	for (; size; size -= 24, payload += 24) {
		uint64_t values[3];

		clocks = store_one_more(metadata->clocks, metadata->clock_count, sizeof(*clocks));
		if (!clocks)
			return -ENOMEM;
		metadata->clocks = clocks;
		memcpy(values, payload, sizeof(values));
		clocks[metadata->clock_count++] =
			(struct clew_clock){values[0], values[1], values[2]};
	}
	return 0;
}

static int compare_keyframes(const void *a, const void *b)
{
	const struct clew_keyframe *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Puts them in order of time, and drops those that overlap. */
static void sort_keyframes(struct store_metadata *metadata)
{
	struct clew_keyframe *keyframes = metadata->keyframes;
	size_t kept = 0;

	if (metadata->keyframe_count)
		qsort(keyframes, metadata->keyframe_count, sizeof(*keyframes), compare_keyframes);
	for (size_t i = 0; i < metadata->keyframe_count; i++)
		if (keyframes[i].from <= keyframes[i].until &&
		    (!kept || keyframes[i].from > keyframes[kept - 1].until))
			keyframes[kept++] = keyframes[i];
	metadata->keyframe_count = kept;
}

static int read_keyframes(struct store_metadata *metadata, const uint8_t *payload, size_t size)
{
	if (size % 16)
		return -EBADMSG;
	for (; size; size -= 16, payload += 16) {
		struct clew_keyframe *keyframes = store_one_more(
			metadata->keyframes, metadata->keyframe_count, sizeof(*keyframes));
		uint64_t values[2];

		if (!keyframes)
			return -ENOMEM;
		metadata->keyframes = keyframes;
		memcpy(values, payload, sizeof(values));
		keyframes[metadata->keyframe_count++] =
			(struct clew_keyframe){values[0], values[1]};
	}
	return 0;
}

static int read_ledger(struct store_metadata *metadata, const struct store_chunk_header *header,
		       const uint8_t *payload)
{
	struct store_ledger_head head;
	struct clew_ledger_row *rows;
	uint8_t *bytes;
	int r;

	if (metadata->ledger_version && header->row <= metadata->ledger_version)
		return 0;
	r = store_unframe(header, payload, &bytes);
	if (r < 0)
		return r;
	if (header->raw_size < sizeof(head)) {
		free(bytes);
		return -EBADMSG;
	}
	memcpy(&head, bytes, sizeof(head));
	if (header->raw_size - sizeof(head) != (uint64_t)head.rows * sizeof(*rows)) {
		free(bytes);
		return -EBADMSG;
	}
	rows = malloc(head.rows * sizeof(*rows) + 1);
	if (!rows) {
		free(bytes);
		return -ENOMEM;
	}
	memcpy(rows, bytes + sizeof(head), head.rows * sizeof(*rows));
	free(bytes);
	free(metadata->ledger);
	metadata->ledger = rows;
	metadata->ledger_version = header->row;
	metadata->ledger_count = head.rows;
	metadata->cost = (struct clew_cost){head.user_ns, head.bpf_ns, head.bpf_sampled};
	return 0;
}

static int read_schema(struct store_metadata *metadata, const struct store_chunk_header *header,
		       const uint8_t *payload, char *message, size_t message_size)
{
	char what[STORE_NAME_MAX + 1] = "";
	uint8_t *bytes;
	int r;

	if (metadata->schema)
		return 0;
	r = store_unframe(header, payload, &bytes);
	if (r < 0)
		return r;
	r = store_schema_parse(bytes, header->raw_size, &metadata->schema, what);
	free(bytes);
	if (r == -EPROTONOSUPPORT) {
		snprintf(message, message_size,
			 "written by a newer clew: its column %s is coded in a way not known here",
			 what);
		return -EINVAL;
	}
	return r == -EINVAL ? -EBADMSG : r;
}

int store_metadata_read(struct store_metadata *metadata, struct store_file *file, char *message,
			size_t message_size)
{
	for (size_t i = 0; i < file->records; i++) {
		struct store_chunk_header header;
		int r;

		r = store_file_read(file, &file->entries[i], &file->payload, &header);
		if (r == 0) {
			switch (header.kind) {
			case STORE_CHUNK_SCHEMA:
				r = read_schema(metadata, &header, file->payload.bytes, message,
						message_size);
				break;
			case STORE_CHUNK_META:
				r = read_meta(metadata, file->payload.bytes, header.size);
				break;
			case STORE_CHUNK_CLOCK:
				r = read_clocks(metadata, file->payload.bytes, header.size);
				break;
			case STORE_CHUNK_KEYFRAME:
				r = read_keyframes(metadata, file->payload.bytes, header.size);
				break;
			case STORE_CHUNK_LEDGER:
				r = read_ledger(metadata, &header, file->payload.bytes);
				break;
			}
		}
		if (r == -EBADMSG)
			file->damaged++;
		else if (r < 0)
			return r;
	}
	sort_keyframes(metadata);
	return 0;
}

const char *store_metadata_value(const struct store_metadata *metadata, const char *key)
{
	/* The last value of a key is valid. */
	for (size_t i = metadata->pair_count; i-- > 0;)
		if (strcmp(metadata->pairs[i].key, key) == 0)
			return metadata->pairs[i].value;
	return NULL;
}

uint64_t store_metadata_number(const struct store_metadata *metadata, const char *key,
			       uint64_t otherwise)
{
	const char *value = store_metadata_value(metadata, key);
	char *end;
	uint64_t number;

	if (!value || *value < '0' || *value > '9')
		return otherwise;
	number = strtoull(value, &end, 10);
	return *end ? otherwise : number;
}

void store_metadata_done(struct store_metadata *metadata)
{
	for (size_t i = 0; i < metadata->pair_count; i++) {
		free(metadata->pairs[i].key);
		free(metadata->pairs[i].value);
	}
	free(metadata->pairs);
	free(metadata->schema);
	free(metadata->clocks);
	free(metadata->keyframes);
	free(metadata->ledger);
}
