/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading the values of attributes: whole rows by the table of attributes, and
 * single words and numbers.
 */
#ifndef CLEW_CONVERT_ROWS_H
#define CLEW_CONVERT_ROWS_H

#include "base/vector.h"
#include "convert/attributes.h"

/* A value that is being read. The words of a row are valid until the next
 * row_start(). */
struct row {
	enum attribute_key key;
	const char *name;    /* all of the key */
	const char *value;   /* all of it */
	const char *at;	     /* what was not read yet of it */
	void *context;	     /* for whoever takes the rows */
	size_t number;	     /* of the row, from 0 */
	size_t count;	     /* fields that it has */
	struct vector items; /* union attribute_field */
	struct vector words; /* char */
};

static inline const union attribute_field *row_fields(const struct row *row)
{
	return row->items.data;
}

void row_init(struct row *row);
void row_done(struct row *row);
/* Before the first row of a value; `name`: all of its key. 0 or -ENOMEM. */
int row_start(struct row *row, enum attribute_key key, const char *name, const char *value);
/*
 * The next row, as far as its form goes. 1: there is one; 0: the value has no
 * further one; -EINVAL: it has not enough fields of its form, and `at` is at
 * the first that is missing; -ENOMEM.
 */
int row_next(struct row *row);

/* A number at *at, and the blanks after it; false: there is none. */
bool scan_value_number(const char **at, uint64_t *ret_number);
/* A word, without its backslashes, and the blanks after it. False: the row or
 * the value ends. */
bool scan_value_word(const char **at, char *word, size_t size);
/* The comma that ends a row; false: it was the last one. */
bool scan_value_row(const char **at);
/* MAJOR:MINOR */
bool scan_value_device(const char **at, uint32_t *ret_device);

#endif
