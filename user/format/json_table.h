/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts of a JSON document that are written to memory first: fields that stand behind others which
 * are known only later, and tables of values that the document names by their number.
 */
#ifndef CLEW_FORMAT_JSON_TABLE_H
#define CLEW_FORMAT_JSON_TABLE_H

#include "base/map.h"
#include "base/vector.h"
#include "format/json.h"

/* Fields of an answer, or the elements of an array of it. */
struct clew_json_part {
	struct clew_json json; /* writes to it */
	char *text;
	size_t size;
};

/* `depth`: 1 for fields of the answer, 2 for elements of a field of it. 0 or -ENOMEM. */
int clew_json_part_begin(struct clew_json_part *part, unsigned depth);
/* Writes what the part has to the open object or array. 0 or -ENOMEM. */
int clew_json_part_write(struct clew_json_part *part, struct clew_json *json);
void clew_json_part_done(struct clew_json_part *part);

#define CLEW_JSON_NO_NUMBER UINT32_MAX

/* Values that are written once each, however often they are added. */
struct clew_json_table {
	struct clew_json_part part;
	struct vector places; /* struct json_table_place, of the values */
	struct map numbers;   /* by hash of the text */
	int error;	      /* -ENOMEM once memory was short; numbers mean nothing then */
};

/* 0 or -ENOMEM. */
int clew_json_table_begin(struct clew_json_table *table);
/* Where to write the next value. */
struct clew_json *clew_json_table_open(struct clew_json_table *table);
/* Ends it. Its number, from 0, which is that of an equal one; CLEW_JSON_NO_NUMBER for null. */
uint32_t clew_json_table_close(struct clew_json_table *table);
/* The array `key` of the open object. 0, or -ENOMEM also where memory was short before. */
int clew_json_table_write(struct clew_json_table *table, struct clew_json *json, const char *key);
void clew_json_table_done(struct clew_json_table *table);

/* A field that names a value; null for CLEW_JSON_NO_NUMBER. */
void clew_json_table_number(struct clew_json *json, const char *key, uint32_t number);

#endif
