/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The columns of each record kind and their codings. A file has its own schema;
 * encoding and decoding use a parsed one, whose columns are bound by name to
 * the members of the records in include/clew/kernel/records.h.
 *
 * Invariant of a parsed schema: a reference or condition is to a column that
 * comes earlier (or, for PREVIOUS and RECENT, to the column itself).
 */
#ifndef CLEW_STORE_SCHEMA_H
#define CLEW_STORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/kinds.h"

enum store_type {
	STORE_U8 = 1,
	STORE_U16 = 2,
	STORE_U32 = 3,
	STORE_U64 = 4,
	STORE_I32 = 5,
	STORE_BYTES = 6,
};

enum store_coding {
	STORE_PLAIN = 0,    /* the value */
	STORE_PREVIOUS = 1, /* difference to a column's value in the row before */
	STORE_SAME = 2,	    /* difference to another column of this row */
	STORE_BEFORE = 3,   /* that column less this one, without sign */
	STORE_TIME = 4,	  /* difference to the row before, without sign; first: to the chunk's first
			     time */
	STORE_STREAM = 5, /* difference to the chunk's stream */
	STORE_KEYED = 6,  /* difference to this column in the last row with the same key, or two */
	STORE_RECENT = 7, /* place in a list of recent values */
	STORE_TRIMMED = 8, /* bytes without the zeros at their end */
	STORE_TAIL = 9,	   /* bytes whose length is another column */
	STORE_LATEST = 10, /* no value of its own: the last value of a column of another kind */
	STORE_OFFSET =
		11,	 /* difference to another column, minus that difference in the row before */
	STORE_NEAR = 12, /* difference to another column, except for the last value with the same
			    key, or 0 */
	STORE_NEXT = 13, /* KEYED, for ranges that continue where the last one ended: the third
			    column is the length */
	STORE_CODING_COUNT = 14,
};

#define STORE_NONE	   0xff
#define STORE_COMMON	   0x80 /* in a reference: the column is one of kind 0 */
#define STORE_COLUMNS_MAX  64
#define STORE_KINDS_MAX	   CLEW_KINDS_MAX
#define STORE_FOLLOWED_MAX 8
#define STORE_NAME_MAX	   31
#define STORE_TAIL_MAX	   65535

struct store_column {
	char name[STORE_NAME_MAX + 1];
	uint8_t type;
	uint8_t coding;
	uint8_t reference; /* a column's number, maybe with STORE_COMMON, or STORE_NONE */
	uint8_t second;	 /* KEYED, NEAR: another key, as reference; LATEST: the number of the other
			    kind */
	uint8_t third;	 /* KEYED: predicts what is new, as reference */
	uint8_t context; /* a column that predicts much of this one, as reference */
	uint8_t condition; /* a column's number or STORE_NONE: rows whose value there has a bit of
			      `mask` */
	uint32_t mask;
	uint16_t size; /* of TRIMMED bytes */
	/* not in the file: */
	bool known;	  /* bound to a member */
	bool referenced;  /* by columns of its kind, or of any if it is a common one */
	uint8_t followed; /* by LATEST columns of other kinds: 1 + its number among these; 0 no */
	uint8_t member_size;
	uint16_t offset;   /* of the member */
	uint16_t pull;	   /* by how many bytes the member is at a lower offset .. */
	uint8_t pull_mask; /* .. in records whose header.flags have none of these */
};

struct store_kind {
	char name[STORE_NAME_MAX + 1];
	uint8_t id;
	uint8_t count;
	bool known;
	uint16_t stride; /* bytes of a decoded row without its tail */
	struct store_column columns[STORE_COLUMNS_MAX];
};

/* kinds[0] has the common columns of all rows. */
struct store_schema {
	unsigned count;
	unsigned followed_count;
	uint8_t by_id[256]; /* index in kinds, STORE_NONE unknown */
	struct store_kind kinds[STORE_KINDS_MAX];
};

/* Bytes of a value's type; 0 for bytes and unknown types. */
static inline unsigned store_type_size(unsigned type)
{
	static const uint8_t sizes[] = {0, 1, 2, 4, 8, 4};

	return type < sizeof(sizes) ? sizes[type] : 0;
}

/*
 * The schema that this program writes, as the bytes of a SCHEMA chunk. The
 * caller frees them.
 */
int store_schema_write(uint8_t **ret_bytes, size_t *ret_size);

/*
 * Parses a SCHEMA chunk and binds its columns. -EINVAL: malformed.
 * -EPROTONOSUPPORT: a column that is needed has an unknown coding; ret_what is
 * its name.
 */
int store_schema_parse(const uint8_t *bytes, size_t size, struct store_schema **ret_schema,
		       char ret_what[STORE_NAME_MAX + 1]);

/*
 * True if this program knows records of this kind; it does 0, the common
 * columns.
 */
bool store_kind_known(unsigned id);

/*
 * Binds a parsed column to the member of the same name, if there is one and it
 * fits.
 */
void store_bind(const struct store_kind *kind, struct store_column *column);

#endif
