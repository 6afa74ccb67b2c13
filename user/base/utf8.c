/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UTF-8. See utf8.h. A sequence ends at the text's NUL, which is no part of one.
 */
#include "base/utf8.h"

size_t clew_utf8_length(const char *text, uint32_t *ret_character)
{
	const unsigned char *byte = (const unsigned char *)text;
	uint32_t character;
	size_t length;

	if (byte[0] < 0x80) {
		*ret_character = byte[0];
		return 1;
	}
	if (byte[0] >= 0xc2 && byte[0] <= 0xdf) {
		length = 2;
		character = byte[0] & 0x1f;
	} else if ((byte[0] & 0xf0) == 0xe0) {
		length = 3;
		character = byte[0] & 0x0f;
	} else if (byte[0] >= 0xf0 && byte[0] <= 0xf4) {
		length = 4;
		character = byte[0] & 0x07;
	} else {
		return 0;
	}
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (byte[i] & 0x3f);
	}
	if ((length == 3 && (character < 0x800 || (character >= 0xd800 && character <= 0xdfff))) ||
	    (length == 4 && (character < 0x10000 || character > 0x10ffff)))
		return 0;
	*ret_character = character;
	return length;
}
