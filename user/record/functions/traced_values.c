/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The register of a value: by debugging information, or else by the order in which it was said. */
#include "record/functions/traced_values.h"

#include <string.h>

#include "arch/registers.h"

static bool refuse(struct traced_refused_value *refused, const char *name, const char *why)
{
	*refused = (struct traced_refused_value){.name = name, .why = why};
	return false;
}

static const struct clew_value_type *find_argument(const struct clew_signature *signature,
						   const char *name)
{
	for (size_t i = 0; signature && i < signature->count; i++)
		if (signature->arguments[i].name && !strcmp(signature->arguments[i].name, name))
			return &signature->arguments[i];
	return NULL;
}

/* The value at that place of the list. */
static bool find_value(const struct clew_signature *signature, size_t place,
		       struct clew_wanted_value *value, struct traced_refused_value *refused)
{
	const struct clew_value_type *known = find_argument(signature, value->name);

	if (!known && !value->typed)
		return refuse(refused, value->name,
			      signature ? "the function has no argument of that name"
					: "there is no debugging information: write its type, as "
					  "in path:str");
	if (known && known->refused)
		return refuse(refused, value->name, known->refused);
	if (!value->typed && !clew_value_type_word(known))
		return refuse(refused, value->name, "its size is not known");
	if (!value->typed)
		value->type = *known;
	value->type.argument = known ? known->argument : (uint8_t)place;
	return true;
}

static bool find_values(const struct clew_signature *signature, const struct clew_wanted *wanted,
			struct clew_wanted *found, struct traced_refused_value *refused)
{
	found->count = 0;
	for (size_t i = 0; i < wanted->count; i++) {
		struct clew_wanted_value *value = &found->values[found->count];

		if (!strcmp(wanted->values[i].name, "_"))
			continue;
		*value = wanted->values[i];
		if (!find_value(signature, i, value, refused)) {
			refused->name = wanted->values[i].name;
			return false;
		}
		found->count++;
	}
	return true;
}

static bool find_result(const struct clew_signature *signature, struct clew_wanted_value *result,
			struct traced_refused_value *refused)
{
	if (result->typed)
		return true;
	if (!signature || !signature->returns)
		return refuse(refused, "",
			      signature ? "the function returns none"
					: "there is no debugging information: write its type, as "
					  "in path:str");
	if (!clew_value_type_word(&signature->result))
		return refuse(refused, "", signature->result.refused ?: "its size is not known");
	result->type = signature->result;
	return true;
}

/* All that can be read. */
static bool take_all(const struct clew_signature *signature, struct clew_wanted *wanted,
		     struct traced_refused_value *refused)
{
	if (!signature)
		return refuse(refused, "...", "there is no debugging information");
	for (size_t i = 0; i < signature->count && wanted->count < CLEW_WANTED_VALUES; i++) {
		const struct clew_value_type *known = &signature->arguments[i];
		struct clew_wanted_value *value = &wanted->values[wanted->count];

		if (!clew_value_type_word(known) || !known->name ||
		    strlen(known->name) >= CLEW_WANTED_NAME)
			continue;
		strcpy(value->name, known->name);
		value->type = *known;
		wanted->count++;
	}
	wanted->all = false;
	if (!wanted->returns && signature->returns && clew_value_type_word(&signature->result)) {
		wanted->returns = true;
		wanted->result.type = signature->result;
		wanted->result.typed = true;
	}
	return true;
}

bool traced_values_find(struct clew_dwarf *dwarf, const struct clew_function_symbol *symbol,
			const struct clew_wanted *wanted, struct traced_values *ret,
			struct traced_refused_value *ret_refused)
{
	const struct clew_signature *signature =
		dwarf ? clew_dwarf_find(dwarf, symbol->address, symbol->name) : NULL;
	struct clew_wanted *found = &ret->wanted;

	*ret = (struct traced_values){.wanted = *wanted};
	if (found->all && !take_all(signature, found, ret_refused))
		return false;
	if (!wanted->all && !find_values(signature, wanted, found, ret_refused))
		return false;
	/* All that there is of a function that returns nothing is its arguments. */
	if (wanted->all && signature && !signature->returns && !found->result.typed)
		found->returns = false;
	if (found->returns && !find_result(signature, &found->result, ret_refused))
		return false;
	for (size_t i = 0; i < found->count; i++)
		ret->arguments |= 1u << found->values[i].type.argument;
	return true;
}

static struct clew_function_value fill(const struct clew_value_type *type, int number)
{
	return (struct clew_function_value){
		.base = (uint16_t)clew_register_offset(number),
		.shift = (uint8_t)(64 - 8 * type->size),
		.form = (uint8_t)((type->is_signed ? CLEW_FUNCTION_VALUE_SIGNED : 0) |
				  (type->kind == CLEW_VALUE_TEXT ? CLEW_FUNCTION_VALUE_TEXT : 0)),
	};
}

bool traced_values_again(const struct traced_values *values)
{
	for (size_t i = 0; i < values->wanted.count && i < CLEW_FUNCTION_AGAIN; i++)
		if (values->wanted.values[i].type.kind == CLEW_VALUE_TEXT)
			return true;
	return false;
}

void traced_values_fill(const struct traced_values *values, bool again,
			struct clew_function_values *ret)
{
	const struct clew_wanted *wanted = &values->wanted;

	*ret = (struct clew_function_values){
		.count = (uint32_t)wanted->count,
		.returns = wanted->returns,
		.again = (uint8_t)(!again				 ? 0
				   : wanted->count < CLEW_FUNCTION_AGAIN ? wanted->count
									 : CLEW_FUNCTION_AGAIN),
	};
	for (size_t i = 0; i < wanted->count; i++)
		ret->entry[i] = fill(&wanted->values[i].type,
				     clew_register_of_argument(wanted->values[i].type.argument));
	if (wanted->returns)
		ret->result = fill(&wanted->result.type, clew_register_of_result());
}
