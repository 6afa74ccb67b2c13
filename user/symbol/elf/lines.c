/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads lines and inlined functions by libdw. The units of a file are listed at first by the
 * addresses that they say they have; not every compiler makes the table of them that libdw goes by
 * (.debug_aranges). A unit's functions are listed when the first address in it is asked for.
 */
#include "symbol/elf/lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"

#define DEPTH_MOST  64
#define NESTED_MOST 64 /* ranges that are looked at for an address */

/* Addresses of a unit or of a function: begin, and what follows the end. */
struct range {
	uint64_t begin, end;
	size_t of; /* a unit's index, a function's offset */
};

struct unit {
	Dwarf_Off die;
	struct vector functions; /* struct range, by begin */
	bool read;
};

struct clew_lines {
	struct debug_file file;
	struct vector units;  /* struct unit */
	struct vector ranges; /* struct range of units, by begin */
	struct map paths;     /* those that libdw gives, by address: whole ones */
	struct arena arena;
};

static int by_begin(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static void sort_ranges(struct vector *ranges)
{
	if (ranges->count > 1)
		qsort(ranges->data, ranges->count, ranges->item, by_begin);
}

static int add_ranges(struct vector *ranges, Dwarf_Die *die, size_t of)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		if (begin >= end)
			continue;
		if (vector_reserve(ranges, ranges->count + 1) < 0)
			return -ENOMEM;
		((struct range *)ranges->data)[ranges->count++] =
			(struct range){.begin = begin, .end = end, .of = of};
	}
	return 0;
}

/* The smallest one with the address; NULL: none has it. */
static const struct range *range_at(const struct vector *ranges, uint64_t address)
{
	const struct range *all = ranges->data, *best = NULL;
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t looked = 0; low-- > 0 && looked < NESTED_MOST; looked++)
		if (address < all[low].end &&
		    (!best || all[low].end - all[low].begin < best->end - best->begin))
			best = &all[low];
	return best;
}

static int read_units(struct clew_lines *lines)
{
	Dwarf_CU *next = NULL;
	Dwarf_Die die;
	int r = 0;

	while (r >= 0 &&
	       dwarf_get_units(lines->file.main.dwarf, next, &next, NULL, NULL, &die, NULL) == 0) {
		if (vector_reserve(&lines->units, lines->units.count + 1) < 0)
			return -ENOMEM;
		((struct unit *)lines->units.data)[lines->units.count] = (struct unit){
			.die = dwarf_dieoffset(&die), .functions.item = sizeof(struct range)};
		r = add_ranges(&lines->ranges, &die, lines->units.count++);
	}
	sort_ranges(&lines->ranges);
	return r < 0 ? r : lines->ranges.count ? 0 : -ENODATA;
}

int clew_lines_open(int object, const uint8_t *id, size_t id_size, struct debug_servers *servers,
		    struct clew_lines **ret_lines, enum debug_missing *ret_missing)
{
	struct clew_lines *lines = calloc(1, sizeof(*lines));
	int r;

	*ret_lines = NULL;
	if (!lines)
		return -ENOMEM;
	lines->units.item = sizeof(struct unit);
	lines->ranges.item = sizeof(struct range);
	r = debug_file_open(object, NULL, id, id_size, servers, &lines->file, ret_missing);
	if (r >= 0) {
		r = read_units(lines);
		if (r == -ENODATA)
			*ret_missing = DEBUG_UNREADABLE;
	}
	if (r >= 0)
		*ret_lines = lines;
	else
		clew_lines_close(lines);
	return r;
}

void clew_lines_close(struct clew_lines *lines)
{
	struct unit *units;

	if (!lines)
		return;
	units = lines->units.data;
	for (size_t i = 0; i < lines->units.count; i++)
		vector_done(&units[i].functions);
	vector_done(&lines->units);
	vector_done(&lines->ranges);
	map_done(&lines->paths);
	arena_done(&lines->arena);
	debug_file_close(&lines->file);
	free(lines);
}

/* True if functions may be below that are no part of one around it. */
static bool may_hold(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_module:
		return true;
	default:
		return false;
	}
}

static int list_functions(struct vector *functions, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r = 0;

	if (depth > DEPTH_MOST || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			r = add_ranges(functions, &die, dwarf_dieoffset(&die));
		if (r >= 0 && may_hold(tag))
			r = list_functions(functions, &die, depth + 1);
	} while (r >= 0 && dwarf_siblingof(&die, &die) == 0);
	return r;
}

/* Also DW_AT_specification and DW_AT_abstract_origin are followed. */
static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* Where a function is that others were compiled into: from the outermost inwards. */
struct nest {
	Dwarf_Die dies[CLEW_LINES_MOST];
	size_t count;
};

/* Blocks without code of their own may have functions with code. */
static bool leads_to(Dwarf_Die *die, int tag, uint64_t address)
{
	switch (tag) {
	case DW_TAG_inlined_subroutine:
		return dwarf_haspc(die, address) > 0;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return dwarf_haspc(die, address) > 0 ||
		       (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges));
	default:
		return false;
	}
}

/* Finds what was compiled into a function at an address. True: there is something below. */
static bool descend(struct nest *nest, Dwarf_Die *parent, uint64_t address, unsigned depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MOST || nest->count == CLEW_LINES_MOST || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (!leads_to(&die, tag, address))
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			nest->dies[nest->count++] = die;
			descend(nest, &die, address, depth + 1);
			return true;
		}
		if (descend(nest, &die, address, depth + 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* The path of a source file as a unit has it, behind the folder that the unit was compiled in. */
static const char *path_of(struct clew_lines *lines, Dwarf_Die *unit, const char *path)
{
	uint64_t *known = path ? map_get(&lines->paths, (uintptr_t)path, 0) : NULL;
	Dwarf_Attribute attribute;
	const char *folder;
	size_t size;
	char *whole;

	if (known)
		return (const char *)(uintptr_t)*known;
	if (!path || path[0] == '/' || !dwarf_attr(unit, DW_AT_comp_dir, &attribute))
		return path;
	folder = dwarf_formstring(&attribute);
	if (!folder)
		return path;
	size = strlen(folder) + 1 + strlen(path) + 1;
	whole = arena_take(&lines->arena, size);
	if (!whole)
		return path;
	snprintf(whole, size, "%s/%s", folder, path);
	return map_set(&lines->paths, (uintptr_t)path, 0, (uintptr_t)whole) < 0 ? path : whole;
}

/* Where an inlined function was called. */
static void call_of(struct clew_lines *lines, Dwarf_Die *unit, Dwarf_Die *inlined,
		    struct clew_line *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word number;

	if (dwarf_getsrcfiles(unit, &files, NULL) == 0 &&
	    dwarf_attr(inlined, DW_AT_call_file, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0)
		line->file = path_of(lines, unit, dwarf_filesrc(files, number, NULL, NULL));
	if (dwarf_attr(inlined, DW_AT_call_line, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0)
		line->line = (unsigned)number;
}

/* The functions of `nest`, innermost first; the innermost is at the address's own line. */
static void put_nest(struct clew_lines *lines, Dwarf_Die *unit, struct nest *nest,
		     struct clew_lines_at *at)
{
	for (size_t i = nest->count; i-- > 0;) {
		struct clew_line *line = &at->lines[at->count++];

		line->name = name_of(&nest->dies[i]);
		line->inlined = i > 0;
		if (i + 1 < nest->count)
			call_of(lines, unit, &nest->dies[i + 1], line);
	}
}

static struct unit *unit_at(struct clew_lines *lines, uint64_t address, Dwarf_Die *ret_die)
{
	const struct range *range = range_at(&lines->ranges, address);
	struct unit *unit = range ? (struct unit *)lines->units.data + range->of : NULL;

	if (!unit || !dwarf_offdie(lines->file.main.dwarf, unit->die, ret_die))
		return NULL;
	if (!unit->read && list_functions(&unit->functions, ret_die, 0) < 0)
		return NULL;
	if (!unit->read)
		sort_ranges(&unit->functions);
	unit->read = true;
	return unit;
}

bool clew_lines_find(struct clew_lines *lines, uint64_t address, struct clew_lines_at *ret_at)
{
	struct nest nest = {};
	const struct range *function;
	Dwarf_Line *source;
	Dwarf_Die die;
	struct unit *unit = unit_at(lines, address, &die);
	int number;

	*ret_at = (struct clew_lines_at){};
	if (!unit)
		return false;
	source = dwarf_getsrc_die(&die, address);
	if (source)
		ret_at->lines[0].file = path_of(lines, &die, dwarf_linesrc(source, NULL, NULL));
	if (source && dwarf_lineno(source, &number) == 0 && number > 0)
		ret_at->lines[0].line = (unsigned)number;
	function = range_at(&unit->functions, address);
	if (function && dwarf_offdie(lines->file.main.dwarf, function->of, &nest.dies[0])) {
		nest.count = 1;
		descend(&nest, &nest.dies[0], address, 0);
		put_nest(lines, &die, &nest, ret_at);
		ret_at->start = function->begin;
	} else {
		ret_at->count = source ? 1 : 0;
	}
	return ret_at->count > 0;
}
