/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a function's arguments are at its entry. Optimized code says so itself, for each
 * address. Other code keeps to the calling convention: integers and pointers in six
 * registers, in their order. A structure by value may take some of these or none, so
 * nothing behind one is known; a result that is a structure may take the first.
 */
#include "symbol/elf/arguments.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "arch/registers.h"

#define TYPEDEFS_MOST 32

/* The way in which a value is passed. */
enum passing { PASSED_WHOLE, PASSED_FLOAT, PASSED_APART, PASSED_NOTHING };

/* The type of an entry, without names for it, const and so on. */
static bool peel(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attribute;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), ret_type))
		return false;
	for (unsigned i = 0; i < TYPEDEFS_MOST; i++) {
		switch (dwarf_tag(ret_type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!dwarf_formref_die(dwarf_attr(ret_type, DW_AT_type, &attribute),
					       ret_type))
				return false;
			break;
		default:
			return true;
		}
	}
	return false;
}

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number = 0;

	dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &number);
	return number;
}

static bool is_text(Dwarf_Die *pointer)
{
	Dwarf_Die target;

	return peel(pointer, &target) && dwarf_tag(&target) == DW_TAG_base_type &&
	       number_of(&target, DW_AT_byte_size) == 1 &&
	       (number_of(&target, DW_AT_encoding) == DW_ATE_signed_char ||
		number_of(&target, DW_AT_encoding) == DW_ATE_unsigned_char);
}

static enum passing read_number(Dwarf_Die *type, struct clew_value_type *value)
{
	uint64_t size = number_of(type, DW_AT_byte_size),
		 encoding = number_of(type, DW_AT_encoding);

	if (encoding == DW_ATE_float) {
		value->refused = "floating point";
		return size <= 8 ? PASSED_FLOAT : PASSED_APART;
	}
	if (size != 1 && size != 2 && size != 4 && size != 8) {
		value->refused = "more than a register";
		return PASSED_APART;
	}
	value->kind = CLEW_VALUE_NUMBER;
	value->size = (uint8_t)size;
	value->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	return PASSED_WHOLE;
}

/* The type of an entry's value. */
static enum passing read_type(Dwarf_Die *die, struct clew_value_type *value)
{
	Dwarf_Die type;

	if (!peel(die, &type))
		return PASSED_NOTHING;
	switch (dwarf_tag(&type)) {
	case DW_TAG_base_type:
		return read_number(&type, value);
	case DW_TAG_enumeration_type:
		value->kind = CLEW_VALUE_NUMBER;
		value->size = (uint8_t)number_of(&type, DW_AT_byte_size);
		return PASSED_WHOLE;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		value->kind = dwarf_tag(&type) == DW_TAG_pointer_type && is_text(&type)
				      ? CLEW_VALUE_TEXT
				      : CLEW_VALUE_POINTER;
		value->size = 8;
		return PASSED_WHOLE;
	default:
		value->refused = "a structure by value";
		return PASSED_APART;
	}
}

enum place { PLACE_BY_CONVENTION, PLACE_REGISTER, PLACE_NOWHERE };

/* The place of an entry at an address, from the entry itself. */
static enum place read_place(Dwarf_Die *die, uint64_t address, int *ret_argument)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;

	*ret_argument = -1;
	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute))
		return dwarf_hasattr_integrate(die, DW_AT_const_value) ? PLACE_NOWHERE
								       : PLACE_BY_CONVENTION;
	if (dwarf_getlocation_addr(&attribute, address, &operations, &count, 1) == 1 &&
	    count == 1 && operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31)
		*ret_argument = clew_register_argument_dwarf(operations[0].atom - DW_OP_reg0);
	if (*ret_argument >= 0)
		return PLACE_REGISTER;
	/* One place for all of the function is where it keeps it after its entry. */
	return dwarf_whatform(&attribute) == DW_FORM_exprloc ? PLACE_BY_CONVENTION : PLACE_NOWHERE;
}

/* Registers that were given out. */
struct convention {
	unsigned used;
	bool lost; /* nobody knows how many */
};

static void read_argument(Dwarf_Die *die, uint64_t address, struct convention *convention,
			  struct clew_value_type *value)
{
	enum passing passing = read_type(die, value);
	int argument;
	enum place place = read_place(die, address, &argument);

	value->name = dwarf_diename(die);
	if (passing == PASSED_NOTHING)
		value->refused = "its type is not known";
	if (passing == PASSED_APART || passing == PASSED_NOTHING)
		convention->lost = true;
	if (value->refused)
		return;
	value->argument = (uint8_t)(place == PLACE_REGISTER ? argument : (int)convention->used);
	convention->used++;
	if (place == PLACE_NOWHERE)
		value->refused = "the compiler left it out";
	else if (place == PLACE_BY_CONVENTION && convention->lost)
		value->refused = "its place is not known";
	else if (place == PLACE_BY_CONVENTION && value->argument >= CLEW_REGISTER_ARGUMENTS)
		value->refused = "it is on the stack";
}

/* The compiler may have made a function that takes other arguments of one that others see. */
static bool is_changed(Dwarf_Die *die, const char *symbol)
{
	const char *suffix = strchr(symbol, '.');

	return (suffix && strncmp(suffix, ".lto_priv", strlen(".lto_priv")) != 0) ||
	       number_of(die, DW_AT_calling_convention) == DW_CC_nocall;
}

static size_t count_arguments(Dwarf_Die *parent)
{
	Dwarf_Die die;
	size_t count = 0;

	if (dwarf_child(parent, &die) != 0)
		return 0;
	do {
		count += dwarf_tag(&die) == DW_TAG_formal_parameter;
	} while (dwarf_siblingof(&die, &die) == 0);
	return count;
}

int dwarf_read_arguments(Dwarf_Die *function, uint64_t address, const char *symbol,
			 struct arena *arena, struct clew_signature *signature)
{
	size_t count = count_arguments(function);
	struct clew_value_type *values = arena_take(arena, (count + 1) * sizeof(*values));
	bool changed = is_changed(function, symbol);
	struct convention convention = {0};
	Dwarf_Die die;
	enum passing passing;

	if (!values)
		return -ENOMEM;
	memset(values, 0, (count + 1) * sizeof(*values));
	passing = read_type(function, &signature->result);
	signature->returns = passing != PASSED_NOTHING;
	convention.lost = passing == PASSED_APART && signature->result.refused &&
			  strcmp(signature->result.refused, "floating point") != 0;
	signature->arguments = values;
	if (!count || dwarf_child(function, &die) != 0)
		return 0;
	do {
		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		read_argument(&die, address, &convention, &values[signature->count]);
		if (changed)
			values[signature->count].refused = "the compiler changed the arguments";
		signature->count++;
	} while (dwarf_siblingof(&die, &die) == 0 && signature->count < count);
	return 0;
}
