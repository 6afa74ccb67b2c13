/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads DWARF by libdw, from a file that is read and never mapped. All of it is walked
 * once; what belongs to one function is read when somebody asks. A function that was
 * compiled in several ways has an abstract entry, to which the others refer.
 */
#include "symbol/elf/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"
#include "symbol/elf/arguments.h"
#include "symbol/elf/debug_file.h"

/* A function with code. */
struct function {
	uint64_t address;
	Dwarf_Off die;
	struct clew_signature *signature; /* made when it is asked for */
};

struct clew_dwarf {
	struct debug_file file;
	struct vector functions; /* struct function, by address */
	struct map inlined;	 /* offset of the abstract entry: copies */
	struct arena arena;
};

/* The entry that all copies of a function refer to: itself, if it refers to none. */
static Dwarf_Off abstract_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
	    dwarf_formref_die(&attribute, &origin))
		return dwarf_dieoffset(&origin);
	return dwarf_dieoffset(die);
}

static int add_function(struct clew_dwarf *dwarf, Dwarf_Die *die)
{
	Dwarf_Addr address;
	int r;

	if (dwarf_entrypc(die, &address) != 0 || !address)
		return 0;
	r = vector_reserve(&dwarf->functions, dwarf->functions.count + 1);
	if (r >= 0)
		((struct function *)dwarf->functions.data)[dwarf->functions.count++] =
			(struct function){.address = address, .die = dwarf_dieoffset(die)};
	return r;
}

static int add_inlined(struct clew_dwarf *dwarf, Dwarf_Die *die)
{
	Dwarf_Off origin = abstract_of(die);
	uint64_t *count = map_get(&dwarf->inlined, origin, 0);

	if (count) {
		(*count)++;
		return 0;
	}
	return map_set(&dwarf->inlined, origin, 0, 1);
}

/* True if functions may be below. */
static bool has_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_module:
		return true;
	default:
		return false;
	}
}

#define DEPTH_MOST 64

static int walk(struct clew_dwarf *dwarf, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r = 0;

	if (depth > DEPTH_MOST || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			r = add_function(dwarf, &die);
		else if (tag == DW_TAG_inlined_subroutine)
			r = add_inlined(dwarf, &die);
		if (r >= 0 && has_functions(tag))
			r = walk(dwarf, &die, depth + 1);
	} while (r >= 0 && dwarf_siblingof(&die, &die) == 0);
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

static int read_units(struct clew_dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;
	int r = 0;

	while (r >= 0 &&
	       dwarf_get_units(dwarf->file.main.dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
		r = walk(dwarf, &die, 0);
	if (r >= 0 && dwarf->functions.count > 1)
		qsort(dwarf->functions.data, dwarf->functions.count, sizeof(struct function),
		      compare);
	return r < 0 ? r : dwarf->functions.count ? 0 : -ENODATA;
}

int clew_dwarf_open(int descriptor, const char *path, const uint8_t *build_id, size_t build_id_size,
		    struct clew_dwarf **ret)
{
	struct clew_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	int r;

	*ret = NULL;
	if (!dwarf)
		return -ENOMEM;
	dwarf->functions.item = sizeof(struct function);
	r = debug_file_open(descriptor, path, build_id, build_id_size, NULL, &dwarf->file, NULL);
	if (r >= 0)
		r = read_units(dwarf);
	if (r < 0) {
		clew_dwarf_close(dwarf);
		return r;
	}
	*ret = dwarf;
	return 0;
}

void clew_dwarf_close(struct clew_dwarf *dwarf)
{
	if (!dwarf)
		return;
	debug_file_close(&dwarf->file);
	vector_done(&dwarf->functions);
	map_done(&dwarf->inlined);
	arena_done(&dwarf->arena);
	free(dwarf);
}

static struct function *find_function(const struct clew_dwarf *dwarf, uint64_t address)
{
	struct function *functions = dwarf->functions.data;
	size_t low = 0, high = dwarf->functions.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (functions[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < dwarf->functions.count && functions[low].address == address ? &functions[low]
										 : NULL;
}

const struct clew_signature *clew_dwarf_find(struct clew_dwarf *dwarf, uint64_t address,
					     const char *symbol)
{
	struct function *function = find_function(dwarf, address);
	const uint64_t *inlined;
	Dwarf_Die die;

	if (!function || function->signature ||
	    !dwarf_offdie(dwarf->file.main.dwarf, function->die, &die))
		return function ? function->signature : NULL;
	function->signature = arena_take(&dwarf->arena, sizeof(*function->signature));
	if (!function->signature)
		return NULL;
	inlined = map_get(&dwarf->inlined, abstract_of(&die), 0);
	*function->signature = (struct clew_signature){.inlined = inlined ? *inlined : 0};
	if (dwarf_read_arguments(&die, address, symbol, &dwarf->arena, function->signature) < 0)
		return NULL;
	return function->signature;
}
