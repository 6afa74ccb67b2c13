/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys and values of one attribute list, on their way into a maker. Functions
 * do not report that memory ran short: pairs_make() does, for all of the list.
 */
#ifndef CLEW_CONVERT_PAIRS_H
#define CLEW_CONVERT_PAIRS_H

#include "base/vector.h"
#include "convert/attributes.h"
#include <clew/model_make.h>

struct pairs {
	struct vector text;	     /* char */
	struct vector offsets;	     /* uint32_t: key, value, key, value */
	struct vector texts;	     /* const char *, filled by pairs_make() */
	enum attribute_key rows_key; /* whose rows are being written; ATTRIBUTE_COUNT: none */
	const char *form;	     /* of the fields that the row does not have yet */
	bool blank;		     /* the next field needs a blank before it */
	bool failed;		     /* memory was short */
};

void pairs_init(struct pairs *pairs);
void pairs_done(struct pairs *pairs);
void pairs_clear(struct pairs *pairs);
/* Begins a value, which the following four functions extend. */
void pairs_begin(struct pairs *pairs, const char *key);
void pairs_text(struct pairs *pairs, const char *text); /* as it is */
void pairs_word(struct pairs *pairs, const char *word); /* with backslashes where it needs them */
void pairs_number(struct pairs *pairs, uint64_t number);
void pairs_byte(struct pairs *pairs, char byte);
/* Whole values. */
void pairs_add(struct pairs *pairs, enum attribute_key key, const char *value);
void pairs_add_number(struct pairs *pairs, enum attribute_key key, uint64_t number);

/*
 * Begins a row: the first one begins the value as well. `rest` is the rest of a
 * key of which the table has the beginning, "" if the table has all of it.
 */
void pairs_row_begin(struct pairs *pairs, enum attribute_key key, const char *rest);
/* The row's next field, as the form says. */
void pairs_row_field(struct pairs *pairs, union attribute_field field);
void pairs_row_fields(struct pairs *pairs, const union attribute_field *fields, size_t count);

#define PAIRS_ROW_OF(pairs, key, rest, ...)                                                        \
	do {                                                                                       \
		pairs_row_begin(pairs, key, rest);                                                 \
		pairs_row_fields(pairs, (const union attribute_field[]){__VA_ARGS__},              \
				 sizeof((const union attribute_field[]){__VA_ARGS__}) /            \
					 sizeof(union attribute_field));                           \
	} while (0)
/* A row of these fields. */
#define PAIRS_ROW(pairs, key, ...) PAIRS_ROW_OF(pairs, key, "", __VA_ARGS__)

/* The text of the value that was begun last, valid until something is added. */
const char *pairs_value(const struct pairs *pairs);
/* Makes a list of what was added since the last clearing, and clears. 0 or
 * -ENOMEM. */
int pairs_make(struct pairs *pairs, struct clew_maker *maker, uint32_t *ret_attributes);

#endif
