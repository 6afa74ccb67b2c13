/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The strings of strings.h. Invariant: no slot is free between a text's home
 * slot and the slot that holds it.
 */
#include "model/strings.h"
#include <clew/model.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 32u

void strings_begin(struct strings *strings)
{
	*strings = (struct strings){
		.text.item = 1, .offsets.item = sizeof(uint32_t), .hashes.item = sizeof(uint32_t)};
}

void strings_done(struct strings *strings)
{
	vector_done(&strings->text);
	vector_done(&strings->offsets);
	vector_done(&strings->hashes);
	free(strings->slots);
	strings->slots = NULL;
	strings->slot_count = 0;
}

static uint32_t hash_of(const char *text, size_t length)
{
	uint64_t hash = length * 0x9e3779b97f4a7c15ull, word;

	for (; length >= 8; text += 8, length -= 8) {
		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0xd6e8feb86659fd93ull;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, length);
	hash = (hash ^ word) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(hash >> 32);
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t slot_of(const struct strings *strings, const char *text, uint32_t hash)
{
	const uint32_t *hashes = strings->hashes.data;
	uint32_t at = hash & (strings->slot_count - 1);

	for (; strings->slots[at]; at = (at + 1) & (strings->slot_count - 1)) {
		uint32_t string = strings->slots[at] - 1;

		if (hashes[string] == hash && strcmp(strings_get(strings, string), text) == 0)
			break;
	}
	return at;
}

static int grow_slots(struct strings *strings)
{
	uint32_t count = strings->slot_count ? strings->slot_count * 2 : FIRST_SLOTS;
	const uint32_t *hashes = strings->hashes.data;
	uint32_t *slots;

	if (count == 0)
		return -E2BIG;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < strings->offsets.count; i++) {
		uint32_t at = hashes[i] & (count - 1);

		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = i + 1;
	}
	free(strings->slots);
	strings->slots = slots;
	strings->slot_count = count;
	return 0;
}

int strings_add(struct strings *strings, const char *text, uint32_t *ret_string)
{
	size_t length = strlen(text), count = strings->offsets.count;
	uint32_t hash = hash_of(text, length), slot;

	if ((count + 1) * 2 > strings->slot_count) {
		int r = grow_slots(strings);

		if (r < 0)
			return r;
	}
	slot = slot_of(strings, text, hash);
	if (strings->slots[slot]) {
		*ret_string = strings->slots[slot] - 1;
		return 0;
	}
	if (length >= UINT32_MAX - strings->text.count)
		return -E2BIG;
	if (vector_reserve(&strings->text, strings->text.count + length + 1) < 0 ||
	    vector_reserve(&strings->offsets, count + 1) < 0 ||
	    vector_reserve(&strings->hashes, count + 1) < 0)
		return -ENOMEM;
	memcpy((char *)strings->text.data + strings->text.count, text, length + 1);
	((uint32_t *)strings->offsets.data)[count] = (uint32_t)strings->text.count;
	((uint32_t *)strings->hashes.data)[count] = hash;
	strings->text.count += length + 1;
	strings->offsets.count = strings->hashes.count = count + 1;
	strings->slots[slot] = (uint32_t)count + 1;
	*ret_string = (uint32_t)count;
	return 0;
}

uint32_t strings_find(const struct strings *strings, const char *text)
{
	uint32_t slot;

	if (strings->slot_count == 0)
		return CLEW_NONE;
	slot = slot_of(strings, text, hash_of(text, strlen(text)));
	return strings->slots[slot] ? strings->slots[slot] - 1 : CLEW_NONE;
}

static int copy_vector(struct vector *to, const struct vector *from)
{
	if (vector_reserve(to, from->count) < 0)
		return -ENOMEM;
	if (from->count)
		memcpy(to->data, from->data, from->count * from->item);
	to->count = from->count;
	return 0;
}

int strings_copy(struct strings *to, const struct strings *from)
{
	strings_begin(to);
	if (copy_vector(&to->text, &from->text) < 0 ||
	    copy_vector(&to->offsets, &from->offsets) < 0 ||
	    copy_vector(&to->hashes, &from->hashes) < 0)
		goto no_memory;
	if (from->slot_count) {
		to->slots = malloc(from->slot_count * sizeof(*to->slots));
		if (!to->slots)
			goto no_memory;
		memcpy(to->slots, from->slots, from->slot_count * sizeof(*to->slots));
		to->slot_count = from->slot_count;
	}
	return 0;
no_memory:
	strings_done(to);
	return -ENOMEM;
}

size_t strings_memory(const struct strings *strings)
{
	return strings->text.count +
	       (strings->offsets.count + strings->hashes.count + (size_t)strings->slot_count) *
		       sizeof(uint32_t);
}
