/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of the columns of each record kind. */
#ifndef CLEW_STORE_SCHEMA_TABLE_H
#define CLEW_STORE_SCHEMA_TABLE_H

#include "store/schema.h"

struct table_column {
	const char *name;
	const char *reference; /* a column of this kind, else of the common ones */
	const char *second;    /* LATEST: the other kind */
	const char *third;
	const char *context; /* NULL: flags */
	uint8_t type;
	uint8_t coding;
	uint8_t mask; /* of `flags`; 0: every row has the column */
	uint16_t offset;
	uint16_t size;
};

struct table_kind {
	const char *name;
	uint8_t id;
	uint8_t count;
	const struct table_column *columns;
};

/* The common columns, then those of each kind. */
extern const struct table_kind store_table[];
extern const size_t store_table_count;

#endif
