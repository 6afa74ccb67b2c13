/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads .eh_frame as far as ranges of code need it: entries of a length each. One
 * whose second word is 0 (CIE) says how those that point back at it (FDE) write theirs.
 */
#include "symbol/eh_frame.h"

#include <stdbool.h>
#include <string.h>

/* Encodings of addresses: a size, and what is added. */
#define ENCODING_SIZE	  0x0f
#define ENCODING_ADD	  0xf0
#define ENCODING_RELATIVE 0x10 /* to where it is written */
#define ENCODING_NONE	  0xff

struct cursor {
	const uint8_t *at, *end;
	bool bad; /* something was not there */
};

struct frames {
	const uint8_t *section;
	size_t size;
	uint64_t cie; /* that was read last, and its encoding */
	uint8_t encoding;
};

static uint64_t take_fixed(struct cursor *cursor, size_t size, bool is_signed)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->bad = true;
		return 0;
	}
	memcpy(&value, cursor->at, size);
	cursor->at += size;
	if (is_signed && size < sizeof(value) && value >> (8 * size - 1))
		value |= ~0ull << 8 * size;
	return value;
}

static uint64_t take_leb(struct cursor *cursor)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && !cursor->bad; shift += 7) {
		byte = take_fixed(cursor, 1, false);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	return value;
}

/* A number in an encoding, without what is added. */
static uint64_t take_encoded(struct cursor *cursor, uint8_t encoding)
{
	switch (encoding & ENCODING_SIZE) {
	case 0x0:
	case 0x4:
	case 0xc:
		return take_fixed(cursor, 8, false);
	case 0x2:
		return take_fixed(cursor, 2, false);
	case 0x3:
		return take_fixed(cursor, 4, false);
	case 0xa:
		return take_fixed(cursor, 2, true);
	case 0xb:
		return take_fixed(cursor, 4, true);
	default:
		cursor->bad = true;
		return 0;
	}
}

/* How a CIE's ranges are written; ENCODING_NONE: it says so in a way that is not known. */
static uint8_t encoding_of(struct cursor cursor)
{
	const char *augmentation;
	size_t length;
	unsigned version = (unsigned)take_fixed(&cursor, 1, false);

	augmentation = (const char *)cursor.at;
	length = strnlen(augmentation, (size_t)(cursor.end - cursor.at));
	/* Its NUL may be missing. */
	if (length == (size_t)(cursor.end - cursor.at))
		return ENCODING_NONE;
	cursor.at += length + 1;
	if (cursor.bad || (version != 1 && version != 3))
		return ENCODING_NONE;
	take_leb(&cursor);
	take_leb(&cursor);
	if (version == 1)
		take_fixed(&cursor, 1, false);
	else
		take_leb(&cursor);
	if (*augmentation == '\0')
		return 0;
	if (*augmentation++ != 'z')
		return ENCODING_NONE;
	take_leb(&cursor);
	for (; *augmentation && !cursor.bad; augmentation++) {
		uint8_t encoding;

		if (*augmentation == 'S' || *augmentation == 'B')
			continue;
		if (!strchr("RPL", *augmentation))
			return ENCODING_NONE;
		encoding = (uint8_t)take_fixed(&cursor, 1, false);
		if (*augmentation == 'R')
			return cursor.bad ? ENCODING_NONE : encoding;
		if (*augmentation == 'P')
			take_encoded(&cursor, encoding);
	}
	return cursor.bad ? ENCODING_NONE : 0;
}

/* The entry's contents; false: there is no more. */
static bool take_entry(struct cursor *cursor, struct cursor *ret_entry)
{
	uint64_t length = take_fixed(cursor, 4, false);

	if (length == UINT32_MAX)
		length = take_fixed(cursor, 8, false);
	if (cursor->bad || !length || length > (uint64_t)(cursor->end - cursor->at))
		return false;
	*ret_entry = (struct cursor){.at = cursor->at, .end = cursor->at + length};
	cursor->at += length;
	return true;
}

static uint8_t encoding_at(struct frames *frames, uint64_t cie)
{
	struct cursor cursor, entry;

	if (cie == frames->cie)
		return frames->encoding;
	if (cie >= frames->size)
		return ENCODING_NONE;
	cursor =
		(struct cursor){.at = frames->section + cie, .end = frames->section + frames->size};
	frames->cie = cie;
	frames->encoding = ENCODING_NONE;
	if (take_entry(&cursor, &entry) && take_fixed(&entry, 4, false) == 0 && !entry.bad)
		frames->encoding = encoding_of(entry);
	return frames->encoding;
}

int eh_frame_walk(const uint8_t *section, size_t size, uint64_t address,
		  int (*found)(void *context, uint64_t start, uint64_t size), void *context)
{
	struct frames frames = {.section = section, .size = size, .cie = UINT64_MAX};
	struct cursor cursor = {.at = section, .end = section + size}, entry;
	int r = 0;

	while (r >= 0 && take_entry(&cursor, &entry)) {
		uint64_t here = (uint64_t)(entry.at - section), back = take_fixed(&entry, 4, false),
			 start, length;
		uint8_t encoding, add;

		if (entry.bad || !back || back > here)
			continue;
		encoding = encoding_at(&frames, here - back);
		add = encoding & ENCODING_ADD;
		if (encoding == ENCODING_NONE || (add && add != ENCODING_RELATIVE))
			continue;
		start = add ? address + (uint64_t)(entry.at - section) : 0;
		start += take_encoded(&entry, encoding);
		length = take_encoded(&entry, encoding);
		if (!entry.bad && length)
			r = found(context, start, length);
	}
	return r;
}
