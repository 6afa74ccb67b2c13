/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packs bytes as gzip does. */
#include "export/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16)

int export_gzip(const void *bytes, size_t size, uint8_t **ret_packed, size_t *ret_size)
{
	z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)size};
	size_t room;
	uint8_t *packed;
	int r;

	if (size > UINT32_MAX || deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
					      GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	room = deflateBound(&stream, size);
	packed = malloc(room);
	if (!packed) {
		deflateEnd(&stream);
		return -ENOMEM;
	}
	stream.next_out = packed;
	stream.avail_out = (uInt)room;
	r = deflate(&stream, Z_FINISH);
	*ret_packed = packed;
	*ret_size = stream.total_out;
	deflateEnd(&stream);
	if (r == Z_STREAM_END)
		return 0;
	free(packed);
	return -ENOMEM;
}
