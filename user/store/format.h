/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a capture file, as docs/file-format.md specifies them, and the
 * limits that a reader checks numbers of a file against before it uses them.
 */
#ifndef CLEW_STORE_FORMAT_H
#define CLEW_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the capture file is little-endian, and so must the machine be"
#endif

#define STORE_MAGIC                                                                                \
	"\x89"                                                                                     \
	"CLEW\r\n\x1a"
#define STORE_MAGIC_SIZE    8
#define STORE_VERSION_MAJOR 4
#define STORE_VERSION_MINOR 5
#define STORE_CHUNK_MAGIC   0x6b6863c1u /* bytes c1 63 68 6b: "?chk" */
#define STORE_END_MAGIC	    "CLEWEND\n"
#define STORE_BLOCK	    4096 /* unit of writes around the page cache */

/* Limits of a writer. */
#define STORE_CHUNK_ROWS  16384
#define STORE_CHUNK_BYTES (2u << 20) /* of records before encoding */
#define STORE_CHUNK_AGE	  120000000000ull
#define STORE_SLOW_NS                                                                              \
	250000 /* a stream with more time between records is slow: its final chunks are packed ..  \
		*/
#define STORE_SLOW_ROWS	 49152 /* .. and larger, as the model learns with each row */
#define STORE_SLOW_BYTES (6u << 20)
#define STORE_CUT_ROWS	 2048 /* .. but end at a keyframe, from so many rows on */

/* Limits of a reader. */
#define STORE_PAYLOAD_MAX     (64u << 20)
#define STORE_ROWS_MAX	      (1u << 20)
#define STORE_PACKED_ROWS_MAX (1u << 16)
#define STORE_PACKED_TEXT_MAX (8u << 20)
#define STORE_IMAGE_MAX	      2048   /* bytes of a kind's image in a quick chunk */
#define STORE_NO_PLACE	      0xffff /* of a column that is not in the image */

struct store_file_header {
	uint8_t magic[STORE_MAGIC_SIZE];
	uint16_t major;
	uint16_t minor;
	uint32_t reserved;
};

enum store_chunk_kind {
	STORE_CHUNK_SCHEMA = 1,
	STORE_CHUNK_META = 2,
	STORE_CHUNK_CLOCK = 3,
	STORE_CHUNK_RECORDS = 4,
	STORE_CHUNK_LEDGER = 5,
	STORE_CHUNK_INDEX = 6,
	STORE_CHUNK_PADDING = 7,
	STORE_CHUNK_KEYFRAME = 8,
};

struct store_chunk_header {
	uint32_t magic;
	uint32_t checksum; /* CRC-32 of everything after this field, payload included */
	uint16_t kind;
	uint16_t stream;
	uint32_t size;	   /* of the payload */
	uint32_t raw_size; /* bytes that the payload's zstd frame holds, 0 no frame */
	uint32_t rows;
	uint64_t row; /* number of the first row in its stream; LEDGER: version */
	uint64_t first_time;
	uint64_t last_time;
};

#define STORE_CHECKSUM_FROM offsetof(struct store_chunk_header, kind)

struct store_index_entry {
	uint64_t offset;
	uint64_t row;
	uint64_t first_time;
	uint64_t last_time;
	uint32_t size;
	uint32_t rows;
	uint16_t kind;
	uint16_t stream;
	uint32_t kinds; /* RECORDS: store_index_kinds() of those that it has */
};

/* A mask of kinds as an index entry has it: bit 31 stands for all kinds from 31 on. */
static inline uint32_t store_index_kinds(uint64_t kinds)
{
	return (uint32_t)(kinds & 0x7fffffff) | (kinds >> 31 ? 1u << 31 : 0);
}

struct store_index_total {
	uint64_t count;
	uint64_t column_bytes;
};

struct store_trailer {
	uint64_t index;
	uint8_t magic[8];
};

struct store_ledger_head {
	uint64_t user_ns;
	uint64_t bpf_ns;
	uint32_t bpf_sampled;
	uint32_t rows;
};

_Static_assert(sizeof(struct store_file_header) == 16, "file header");
_Static_assert(sizeof(struct store_chunk_header) == 48, "chunk header");
_Static_assert(sizeof(struct store_index_entry) == 48, "index entry");
_Static_assert(sizeof(struct store_ledger_head) == 24, "ledger");

#endif
