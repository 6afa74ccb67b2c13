/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Binary data inside a page. */
#include "page/packed.h"

#include <errno.h>
#include <string.h>

#define LEVEL 6 /* 9 takes three times as long for 4 % less */

static void write_three(struct packed *packed)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned count = packed->left_count;
	uint32_t bits = 0;

	for (unsigned i = 0; i < 3; i++)
		bits = bits << 8 | (i < count ? packed->left[i] : 0);
	for (unsigned i = 0; i < 4; i++)
		fputc(i <= count ? digits[bits >> (18 - 6 * i) & 63] : '=', packed->out);
	packed->left_count = 0;
}

static void run_deflate(struct packed *packed, int flush)
{
	uint8_t buffer[16384];

	do {
		packed->stream.next_out = buffer;
		packed->stream.avail_out = sizeof(buffer);
		deflate(&packed->stream, flush);
		for (size_t i = 0; i < sizeof(buffer) - packed->stream.avail_out; i++) {
			packed->left[packed->left_count++] = buffer[i];
			if (packed->left_count == 3)
				write_three(packed);
		}
	} while (!packed->stream.avail_out);
}

int packed_begin(struct packed *packed, FILE *out)
{
	*packed = (struct packed){.out = out};
	return deflateInit2(&packed->stream, LEVEL, Z_DEFLATED, -MAX_WBITS, 9,
			    Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

void packed_put(struct packed *packed, const void *data, size_t size)
{
	packed->stream.next_in = (Bytef *)data;
	packed->stream.avail_in = (uInt)size;
	run_deflate(packed, Z_NO_FLUSH);
}

void packed_end(struct packed *packed)
{
	packed->stream.avail_in = 0;
	run_deflate(packed, Z_FINISH);
	if (packed->left_count)
		write_three(packed);
	deflateEnd(&packed->stream);
}
