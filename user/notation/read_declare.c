/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads declarations: units, hierarchies, types, categories; and the categories
 * of root spans.
 */
#include "notation/read.h"
#include <errno.h>
#include <string.h>

int read_unit(struct reader *reader)
{
	static const struct read_word units[] = {
		{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};
	struct scanner *scanner = &reader->scanner;
	const struct read_word *unit = units;
	const char *where;
	int r;

	scan_blanks(scanner);
	where = scanner->at;
	r = scan_name(scanner, 0, "the unit");
	if (r < 0)
		return r;
	while (unit->word && strcmp(unit->word, scanner->word))
		unit++;
	if (!unit->word)
		return scan_fail(scanner, where, "no such unit: ns, us, ms or s");
	scanner->unit = unit->bit;
	clew_maker_set_unit(reader->maker, unit->bit);
	return read_end(reader);
}

int read_hierarchies(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;

	do {
		const char *where, *text;
		uint32_t hierarchy;
		int r;

		scan_blanks(scanner);
		where = scanner->at;
		r = scan_name(scanner, 0, "the name of a hierarchy");
		if (r == 0)
			r = read_result(
				reader, where,
				clew_maker_hierarchy(reader->maker, scanner->word, &hierarchy));
		if (r < 0)
			return r;
		text = arena_copy(&reader->texts, scanner->word, scanner->word_length);
		if (!text || vector_reserve(&reader->hierarchies, hierarchy + 1) < 0)
			return -ENOMEM;
		((const char **)reader->hierarchies.data)[hierarchy] = text;
		reader->hierarchies.count = hierarchy + 1;
	} while (!scan_line_is_over(scanner));
	return 0;
}

int read_type(struct reader *reader, const char *where, uint32_t *ret_type)
{
	struct scanner *scanner = &reader->scanner;
	struct read_known_type *known = reader->types;
	int r;

	for (uint32_t i = 0; i < reader->type_count; i++, known++)
		if (known->length == scanner->word_length &&
		    !memcmp(known->name, scanner->word, known->length)) {
			*ret_type = known->type;
			return 0;
		}
	r = read_result(reader, where, clew_maker_type(reader->maker, scanner->word, ret_type));
	if (r == 0 && reader->type_count < READ_TYPES && scanner->word_length <= READ_SHORT) {
		known->type = *ret_type;
		known->length = (uint8_t)scanner->word_length;
		memcpy(known->name, scanner->word, scanner->word_length);
		reader->type_count++;
	}
	return r;
}

/* Types of dependencies whose order is not that of their first use. */
int read_types(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;

	do {
		const char *where;
		uint32_t type;
		int r;

		scan_blanks(scanner);
		where = scanner->at;
		r = scan_name(scanner, 0, "the name of a type");
		if (r == 0)
			r = read_type(reader, where, &type);
		if (r < 0)
			return r;
	} while (!scan_line_is_over(scanner));
	return 0;
}

static int find_hierarchy(struct reader *reader, const char *where, uint32_t *ret_hierarchy)
{
	struct scanner *scanner = &reader->scanner;

	for (uint32_t i = 0; i < reader->hierarchies.count; i++)
		if (!strcmp(((const char *const *)reader->hierarchies.data)[i], scanner->word)) {
			*ret_hierarchy = i;
			return 0;
		}
	return scan_fail(scanner, where,
			 "there is no hierarchy '%s' so far: a line `hierarchy NAME` declares one",
			 scanner->word);
}

static int read_category_path(struct reader *reader, uint32_t hierarchy, uint32_t *ret_category)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t category = CLEW_NONE;

	do {
		const char *where = scanner->at;
		int r = scan_name(scanner, 0, "the name of a category");

		if (r == 0)
			r = read_result(reader, where,
					clew_maker_category(reader->maker, hierarchy, category,
							    scanner->word, &category));
		if (r < 0)
			return r;
	} while (scan_if(scanner, '/'));
	*ret_category = category;
	return 0;
}

int read_category(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t hierarchy, category;
	const char *where;
	int r;

	scan_blanks(scanner);
	where = scanner->at;
	r = scan_name(scanner, 0, "the name of a hierarchy");
	if (r == 0)
		r = find_hierarchy(reader, where, &hierarchy);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	r = read_category_path(reader, hierarchy, &category);
	return r < 0 ? r : read_end(reader);
}

/* True if the next word is HIERARCHY:PATH, not key=value. */
static bool is_placement(const struct scanner *scanner)
{
	for (const char *at = scanner->at;
	     at < scanner->end && !scan_is(*at, SCAN_BLANK | SCAN_END); at++) {
		if (*at == ':' || *at == '=')
			return *at == ':';
		if (*at == '\\' && ++at == scanner->end)
			break;
	}
	return false;
}

int read_placements(struct reader *reader, uint32_t span)
{
	struct scanner *scanner = &reader->scanner;

	scan_blanks(scanner);
	do {
		const char *where = scanner->at;
		uint32_t hierarchy, category;
		int r;

		if (!is_placement(scanner))
			return scan_fail(scanner, where,
					 "a category is missing here, as HIERARCHY:PATH");
		r = scan_name(scanner, ':', "the name of a hierarchy");
		if (r == 0)
			r = find_hierarchy(reader, where, &hierarchy);
		if (r == 0)
			r = scan_byte(scanner, ':');
		if (r == 0)
			r = read_category_path(reader, hierarchy, &category);
		if (r == 0)
			r = read_result(reader, where,
					clew_maker_place(reader->maker, span, category));
		if (r < 0)
			return r;
	} while (!scan_line_is_over(scanner) && is_placement(scanner));
	return 0;
}
