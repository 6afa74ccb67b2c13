/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts of documents in memory, and tables in them. A value of a table is written behind those
 * that it has; if one of these is equal, the stream goes back to where it began.
 */
#include "format/json_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Where the text of a value is. */
struct json_table_place {
	size_t at;
	size_t length;
};

int clew_json_part_begin(struct clew_json_part *part, unsigned depth)
{
	*part = (struct clew_json_part){.json.depth = depth};
	part->json.out = open_memstream(&part->text, &part->size);
	return part->json.out ? 0 : -ENOMEM;
}

int clew_json_part_write(struct clew_json_part *part, struct clew_json *json)
{
	if (fflush(part->json.out) != 0 || ferror(part->json.out))
		return -ENOMEM;
	if (part->size)
		clew_json_written(json, part->text);
	return 0;
}

void clew_json_part_done(struct clew_json_part *part)
{
	if (part->json.out)
		fclose(part->json.out);
	free(part->text);
	*part = (struct clew_json_part){};
}

int clew_json_table_begin(struct clew_json_table *table)
{
	*table = (struct clew_json_table){.places.item = sizeof(struct json_table_place)};
	return clew_json_part_begin(&table->part, 2);
}

/* Behind the values that the table has; there may be one that was written and is not new. */
static size_t end_of(const struct clew_json_table *table)
{
	const struct json_table_place *places = table->places.data;
	size_t count = table->places.count;

	return count ? places[count - 1].at + places[count - 1].length : 0;
}

struct clew_json *clew_json_table_open(struct clew_json_table *table)
{
	fseeko(table->part.json.out, (off_t)end_of(table), SEEK_SET);
	table->part.json.follows = table->places.count > 0;
	return &table->part.json;
}

/* The value that was written last, without the comma and the line feed before it. */
static struct json_table_place last_place(const struct clew_json_table *table)
{
	size_t at = table->places.count ? end_of(table) + strlen(",\n") : 0;

	return (struct json_table_place){.at = at,
					 .length = (size_t)ftello(table->part.json.out) - at};
}

static uint32_t add_place(struct clew_json_table *table, struct json_table_place place,
			  uint64_t hash, uint32_t part)
{
	size_t number = table->places.count;

	if (number == CLEW_JSON_NO_NUMBER || vector_reserve(&table->places, number + 1) < 0 ||
	    map_set(&table->numbers, hash, part, number) < 0) {
		table->error = -ENOMEM;
		return CLEW_JSON_NO_NUMBER;
	}
	((struct json_table_place *)table->places.data)[number] = place;
	table->places.count++;
	return (uint32_t)number;
}

uint32_t clew_json_table_close(struct clew_json_table *table)
{
	const struct json_table_place *places = table->places.data;
	struct json_table_place place;
	const char *text;
	uint64_t hash;

	if (fflush(table->part.json.out) != 0) {
		table->error = -ENOMEM;
		return CLEW_JSON_NO_NUMBER;
	}
	place = last_place(table);
	text = table->part.text + place.at;
	if (place.length == strlen("null") && !memcmp(text, "null", place.length))
		return CLEW_JSON_NO_NUMBER;
	hash = hash_bytes(HASH_SEED, text, place.length);
	for (uint32_t part = 0;; part++) {
		const uint64_t *number = map_get(&table->numbers, hash, part);
		const struct json_table_place *other = number ? &places[*number] : NULL;

		if (!other)
			return add_place(table, place, hash, part);
		if (other->length == place.length &&
		    !memcmp(table->part.text + other->at, text, place.length))
			return (uint32_t)*number;
	}
}

int clew_json_table_write(struct clew_json_table *table, struct clew_json *json, const char *key)
{
	if (table->error < 0 || fflush(table->part.json.out) != 0)
		return -ENOMEM;
	clew_json_array(json, key);
	if (table->places.count) {
		table->part.text[end_of(table)] = '\0';
		clew_json_written(json, table->part.text);
	}
	clew_json_array_end(json);
	return 0;
}

void clew_json_table_done(struct clew_json_table *table)
{
	clew_json_part_done(&table->part);
	vector_done(&table->places);
	map_done(&table->numbers);
}

void clew_json_table_number(struct clew_json *json, const char *key, uint32_t number)
{
	clew_json_known(json, key, number, CLEW_JSON_NO_NUMBER);
}
