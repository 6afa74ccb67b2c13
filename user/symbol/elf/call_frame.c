/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads .eh_frame and .debug_frame: entries of a length each. One whose second word is 0, in
 * .debug_frame all ones, is common to others (CIE). The others (FDE) name it by that word: a
 * distance back, in .debug_frame its place in the section.
 */
#include "symbol/elf/call_frame.h"

#include <dwarf.h>
#include <string.h>

#define ENCODING_SIZE 0x0f
#define ENCODING_ADD  0x70
#define ENCODING_MASK (ENCODING_SIZE | ENCODING_ADD)

struct frames {
	const struct call_frame_section *section;
	uint64_t at; /* of the common entry that was read last */
	bool known;  /* it could be read */
	struct call_frame_common common;
};

uint64_t call_frame_fixed(struct call_frame_cursor *cursor, size_t size, bool is_signed)
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

/* Seven bits a byte; *ret_bits: how many there were. */
static uint64_t take_bits(struct call_frame_cursor *cursor, unsigned *ret_bits)
{
	uint64_t value = 0, byte = 0x80;
	unsigned shift = 0;

	for (; byte & 0x80 && !cursor->bad; shift += 7) {
		byte = call_frame_fixed(cursor, 1, false);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	*ret_bits = shift;
	return value;
}

uint64_t call_frame_unsigned(struct call_frame_cursor *cursor)
{
	unsigned bits;

	return take_bits(cursor, &bits);
}

int64_t call_frame_signed(struct call_frame_cursor *cursor)
{
	unsigned bits;
	uint64_t value = take_bits(cursor, &bits);

	if (bits && bits < 64 && value >> (bits - 1) & 1)
		value |= ~0ull << bits;
	return (int64_t)value;
}

uint64_t call_frame_encoded(struct call_frame_cursor *cursor, uint8_t encoding)
{
	switch (encoding & ENCODING_SIZE) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return call_frame_fixed(cursor, 8, false);
	case DW_EH_PE_udata2:
		return call_frame_fixed(cursor, 2, false);
	case DW_EH_PE_udata4:
		return call_frame_fixed(cursor, 4, false);
	case DW_EH_PE_sdata2:
		return call_frame_fixed(cursor, 2, true);
	case DW_EH_PE_sdata4:
		return call_frame_fixed(cursor, 4, true);
	case DW_EH_PE_uleb128:
		return call_frame_unsigned(cursor);
	case DW_EH_PE_sleb128:
		return (uint64_t)call_frame_signed(cursor);
	default:
		cursor->bad = true;
		return 0;
	}
}

const uint8_t *call_frame_skip(struct call_frame_cursor *cursor, uint64_t size)
{
	const uint8_t *at = cursor->at;

	if ((uint64_t)(cursor->end - at) < size) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += size;
	return at;
}

/* The letters of an augmentation, and the bytes that belong to them. False: one is not known. */
static bool take_augmentation(struct call_frame_cursor *cursor, const char *letters,
			      struct call_frame_common *common)
{
	uint64_t size;
	const uint8_t *bytes;
	struct call_frame_cursor own;

	if (*letters == '\0')
		return true;
	if (*letters++ != 'z')
		return false;
	common->has_augmentation = true;
	size = call_frame_unsigned(cursor);
	bytes = call_frame_skip(cursor, size);
	if (!bytes)
		return false;
	own = (struct call_frame_cursor){.at = bytes, .end = bytes + size};
	for (; *letters && !own.bad; letters++) {
		switch (*letters) {
		case 'R':
			common->encoding = (uint8_t)call_frame_fixed(&own, 1, false);
			break;
		case 'L':
			call_frame_fixed(&own, 1, false);
			break;
		case 'P':
			call_frame_encoded(&own, (uint8_t)call_frame_fixed(&own, 1, false));
			break;
		case 'S':
			common->is_signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	}
	return !own.bad;
}

/* Reads a common entry from behind its second word. */
static bool read_common(struct call_frame_cursor cursor, struct call_frame_common *ret)
{
	uint64_t version = call_frame_fixed(&cursor, 1, false), address_size = 8, segment_size = 0;
	const char *letters = (const char *)cursor.at;
	size_t length = strnlen(letters, (size_t)(cursor.end - cursor.at));

	*ret = (struct call_frame_common){.encoding = DW_EH_PE_absptr};
	/* Its NUL may be missing. */
	if (!call_frame_skip(&cursor, length + 1) || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4) {
		address_size = call_frame_fixed(&cursor, 1, false);
		segment_size = call_frame_fixed(&cursor, 1, false);
	}
	ret->code_factor = call_frame_unsigned(&cursor);
	ret->data_factor = call_frame_signed(&cursor);
	ret->return_register =
		version == 1 ? call_frame_fixed(&cursor, 1, false) : call_frame_unsigned(&cursor);
	if (cursor.bad || address_size != 8 || segment_size ||
	    !take_augmentation(&cursor, letters, ret))
		return false;
	if ((ret->encoding & ENCODING_ADD) && (ret->encoding & ENCODING_ADD) != DW_EH_PE_pcrel)
		return false;
	ret->program = cursor.at;
	ret->program_end = cursor.end;
	return !cursor.bad && !(ret->encoding & ~ENCODING_MASK);
}

/* The entry's contents; false: there is no more. */
static bool take_entry(struct call_frame_cursor *cursor, struct call_frame_cursor *ret_entry)
{
	uint64_t length = call_frame_fixed(cursor, 4, false);

	if (length == UINT32_MAX)
		length = call_frame_fixed(cursor, 8, false);
	if (cursor->bad || !length || length > (uint64_t)(cursor->end - cursor->at))
		return false;
	*ret_entry = (struct call_frame_cursor){.at = cursor->at, .end = cursor->at + length};
	cursor->at += length;
	return true;
}

static bool is_common(const struct call_frame_section *section, uint64_t word)
{
	return word == (section->is_debug ? UINT32_MAX : 0);
}

static const struct call_frame_common *common_at(struct frames *frames, uint64_t at)
{
	const struct call_frame_section *section = frames->section;
	struct call_frame_cursor cursor, entry;

	if (at != frames->at && at < section->size) {
		cursor = (struct call_frame_cursor){.at = section->data + at,
						    .end = section->data + section->size};
		frames->at = at;
		frames->known = take_entry(&cursor, &entry) &&
				is_common(section, call_frame_fixed(&entry, 4, false)) &&
				!entry.bad && read_common(entry, &frames->common);
	}
	return at == frames->at && frames->known ? &frames->common : NULL;
}

/* Reads a range from behind its second word. */
static bool read_range(const struct call_frame_section *section, struct call_frame_cursor entry,
		       const struct call_frame_common *common, struct call_frame_range *ret)
{
	uint64_t here = section->address + (uint64_t)(entry.at - section->data);

	*ret = (struct call_frame_range){.common = common};
	ret->start = call_frame_encoded(&entry, common->encoding);
	if ((common->encoding & ENCODING_ADD) == DW_EH_PE_pcrel)
		ret->start += here;
	ret->size = call_frame_encoded(&entry, common->encoding);
	if (entry.bad || !ret->size)
		return false;
	if (common->has_augmentation)
		call_frame_skip(&entry, call_frame_unsigned(&entry));
	if (!entry.bad) {
		ret->program = entry.at;
		ret->program_end = entry.end;
	}
	return true;
}

int call_frame_walk(const struct call_frame_section *section,
		    int (*found)(void *context, const struct call_frame_range *range),
		    void *context)
{
	struct frames frames = {.section = section, .at = UINT64_MAX};
	struct call_frame_cursor cursor = {.at = section->data,
					   .end = section->data + section->size},
				 entry;
	int r = 0;

	while (r >= 0 && take_entry(&cursor, &entry)) {
		uint64_t here = (uint64_t)(entry.at - section->data),
			 word = call_frame_fixed(&entry, 4, false);
		const struct call_frame_common *common;
		struct call_frame_range range;

		if (entry.bad || is_common(section, word) || (!section->is_debug && word > here))
			continue;
		common = common_at(&frames, section->is_debug ? word : here - word);
		if (common && read_range(section, entry, common, &range))
			r = found(context, &range);
	}
	return r;
}
