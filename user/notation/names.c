/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Spans by parent and name: a hash table, at most half full. */
#include "notation/names.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_NAME 28u

/* 64 bytes with short names inside: nearly all look-ups touch one cache line of
 * these. */
struct name_entry {
	uint32_t length, parent, hash, first, count;
	char name[SHORT_NAME]; /* or a pointer to it */
	uint32_t unused[4];
};

static const char *entry_name(const struct name_entry *entry)
{
	const char *name = entry->name;

	if (entry->length > SHORT_NAME)
		memcpy(&name, entry->name, sizeof(name));
	return name;
}

static uint32_t hash_of(uint32_t parent, const char *name, size_t length)
{
	uint64_t hash = parent * UINT64_C(0x9e3779b97f4a7c15) ^ length;

	for (; length >= 8; name += 8, length -= 8) {
		uint64_t word;

		memcpy(&word, name, 8);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	for (; length; name++, length--)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
	return (uint32_t)(hash * UINT64_C(0xff51afd7ed558ccd) >> 32);
}

void names_begin(struct names *names)
{
	*names = (struct names){.entries = {.item = sizeof(struct name_entry)}};
}

void names_done(struct names *names)
{
	vector_done(&names->entries);
	free(names->slots);
	arena_done(&names->texts);
	map_done(&names->later);
}

/* The slot of an entry, or the free one where it would be. There are slots. */
static uint32_t *find_slot(const struct names *names, uint32_t hash, uint32_t parent,
			   const char *name, size_t length)
{
	const struct name_entry *entries = names->entries.data;
	size_t slot = hash & (names->slot_count - 1);

	for (; names->slots[slot]; slot = (slot + 1) & (names->slot_count - 1)) {
		const struct name_entry *entry = &entries[names->slots[slot] - 1];

		if (entry->hash == hash && entry->parent == parent && entry->length == length &&
		    !memcmp(entry_name(entry), name, length))
			break;
	}
	return &names->slots[slot];
}

static int grow(struct names *names)
{
	const struct name_entry *entries = names->entries.data;
	size_t count = names->slot_count ? names->slot_count * 2 : 64;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->entries.count; i++) {
		size_t slot = entries[i].hash & (count - 1);

		while (slots[slot])
			slot = (slot + 1) & (count - 1);
		slots[slot] = i + 1;
	}
	free(names->slots);
	names->slots = slots;
	names->slot_count = count;
	return 0;
}

int names_add(struct names *names, uint32_t parent, const char *name, size_t length, uint32_t span,
	      uint32_t *ret_number)
{
	uint32_t hash = hash_of(parent, name, length), *slot;
	struct name_entry *entry;

	if ((names->entries.count + 1) * 2 > names->slot_count && grow(names) < 0)
		return -ENOMEM;
	slot = find_slot(names, hash, parent, name, length);
	if (*slot) {
		entry = (struct name_entry *)names->entries.data + *slot - 1;
		if (map_set(&names->later, *slot - 1, entry->count + 1, span) < 0)
			return -ENOMEM;
		*ret_number = ++entry->count;
		return 0;
	}
	if (vector_reserve(&names->entries, names->entries.count + 1) < 0)
		return -ENOMEM;
	entry = (struct name_entry *)names->entries.data + names->entries.count;
	*entry = (struct name_entry){
		.length = (uint32_t)length,
		.parent = parent,
		.hash = hash,
		.first = span,
		.count = 1,
	};
	if (length > SHORT_NAME) {
		const char *copy = arena_copy(&names->texts, name, length);

		if (!copy)
			return -ENOMEM;
		memcpy(entry->name, &copy, sizeof(copy));
	} else {
		memcpy(entry->name, name, length);
	}
	*slot = (uint32_t)++names->entries.count;
	*ret_number = 1;
	return 0;
}

uint32_t names_find(const struct names *names, uint32_t parent, const char *name, size_t length,
		    uint32_t number, uint32_t *ret_count)
{
	const struct name_entry *entry;
	uint32_t slot = names->slot_count ? *find_slot(names, hash_of(parent, name, length), parent,
						       name, length)
					  : 0;
	const uint64_t *span;

	*ret_count = 0;
	if (!slot)
		return CLEW_NONE;
	entry = (const struct name_entry *)names->entries.data + slot - 1;
	*ret_count = entry->count;
	if (number == 1)
		return entry->first;
	span = map_get(&names->later, slot - 1, number);
	return span ? (uint32_t)*span : CLEW_NONE;
}
