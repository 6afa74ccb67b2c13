/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Binary data inside a page: raw deflate (RFC 1951) in base64, written as it comes. */
#ifndef CLEW_PAGE_PACKED_H
#define CLEW_PAGE_PACKED_H

#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

struct packed {
	FILE *out; /* errors stay on it */
	z_stream stream;
	uint8_t left[3]; /* bytes that are not yet written */
	unsigned left_count;
};

/* 0 or -ENOMEM. After success it takes packed_end() to free it. */
int packed_begin(struct packed *packed, FILE *out);
void packed_put(struct packed *packed, const void *data, size_t size);
void packed_end(struct packed *packed);

#endif
