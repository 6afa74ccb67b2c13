/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes that a program carries.
 *
 * A probe of one name may be at many instructions, and has its arguments elsewhere at each. All of
 * them are one function to the capture, named PROVIDER:NAME, so the values are the same ones; at an
 * instruction where one of them cannot be read it is unread.
 */
#include "record/functions/traced_points.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "record/functions/carried.h"
#include "record/functions/traced_site.h"
#include "symbol/code/probes.h"
#include "symbol/code/site.h"
#include "symbol/elf/names.h"

/* ---- values ---- */

static unsigned bytes_of(const struct clew_operand *operand)
{
	return clew_carried_type(operand).size;
}

/* All that can be read, as numbers. */
static void want_all(const struct vector *found, size_t first, struct clew_wanted *ret)
{
	*ret = (struct clew_wanted){};
	for (unsigned i = 0; i < CLEW_CARRIED_ARGUMENTS && ret->count < CLEW_WANTED_VALUES; i++) {
		const struct clew_operand *operand = clew_carried_widest(found, first, i);
		struct clew_wanted_value *value = &ret->values[ret->count];

		if (!operand)
			continue;
		strcpy(value->name, clew_carried_argument(i));
		value->type = clew_carried_type(operand);
		value->type.argument = (uint8_t)i;
		value->typed = true;
		ret->count++;
	}
}

/* Finds the argument that is meant: one that is called argN is that one, another one is that of its
 * place.
 */
static unsigned argument_of(const char *name, size_t place)
{
	for (unsigned i = 0; i < CLEW_CARRIED_ARGUMENTS; i++)
		if (!strcmp(name, clew_carried_argument(i)))
			return i;
	return (unsigned)place;
}

static int say_refused(const struct traced_points_choice *want, const char *probe,
		       const char *value, const char *why, struct clew_message *message)
{
	return clew_say(message, -EINVAL, "%s: '%s' of %s cannot be recorded: %s", want->title,
			value, probe, why);
}

/* The values that were asked for. 0, or -EINVAL with a message. */
static int want_given(const struct traced_points_choice *want, const struct vector *found,
		      size_t first, struct clew_wanted *ret, struct clew_message *message)
{
	const struct clew_wanted *given = &want->choice->values;
	const char *probe = clew_carried_at(found, first)->title;

	*ret = (struct clew_wanted){};
	for (size_t i = 0; i < given->count; i++) {
		struct clew_wanted_value *value = &ret->values[ret->count];
		unsigned argument = argument_of(given->values[i].name, i);
		const struct clew_operand *operand = clew_carried_widest(found, first, argument);

		if (!strcmp(given->values[i].name, "_"))
			continue;
		*value = given->values[i];
		if (!operand)
			return say_refused(want, probe, value->name,
					   "the probe has no such argument in a register or in "
					   "memory",
					   message);
		if (value->typed && value->type.kind != CLEW_VALUE_NUMBER && bytes_of(operand) < 8)
			return say_refused(want, probe, value->name,
					   "it is too short for a pointer", message);
		if (!value->typed || value->type.size > bytes_of(operand))
			value->type = clew_carried_type(operand);
		value->type.argument = (uint8_t)argument;
		value->typed = true;
		ret->count++;
	}
	return 0;
}

static struct clew_function_value value_of(const struct clew_value_type *type,
					   const struct clew_operand *operand)
{
	uint8_t wanted = (uint8_t)(64 - 8 * type->size);
	struct clew_function_value value = {
		.base = operand->base,
		.shift = operand->shift > wanted ? operand->shift : wanted,
		.offset = (int32_t)operand->value,
	};
	bool narrow = wanted > operand->shift;

	if (narrow ? type->is_signed : operand->is_signed)
		value.form |= CLEW_FUNCTION_VALUE_SIGNED;
	if (type->kind == CLEW_VALUE_TEXT)
		value.form |= CLEW_FUNCTION_VALUE_TEXT;
	if (operand->kind == CLEW_OPERAND_MEMORY)
		value.form |= CLEW_FUNCTION_VALUE_MEMORY;
	else if (operand->kind == CLEW_OPERAND_CONSTANT)
		value.form |= CLEW_FUNCTION_VALUE_CONSTANT;
	/* The low half of a constant is enough if it is shorter. */
	if (operand->kind == CLEW_OPERAND_NONE ||
	    (operand->kind != CLEW_OPERAND_REGISTER && value.offset != operand->value &&
	     value.shift < 32))
		value.form = CLEW_FUNCTION_VALUE_UNKNOWN;
	return value;
}

static struct clew_function_values values_of(const struct clew_wanted *wanted,
					     const struct clew_carried *found)
{
	struct clew_function_values values = {.count = (uint32_t)wanted->count};

	for (size_t i = 0; i < wanted->count; i++)
		values.entry[i] = value_of(&wanted->values[i].type,
					   &found->arguments[wanted->values[i].type.argument]);
	return values;
}

/* ---- sites ---- */

static unsigned class_of(const struct traced_points_file *in, const struct clew_probe *probe)
{
	uint8_t code[CLEW_SITE_BYTES];
	ssize_t size = pread(in->descriptor, code, sizeof(code), (off_t)probe->offset);
	size_t length = size < 0 ? 0 : (size_t)size;

	if (clew_site_kind(code, length) == CLEW_SITE_NOP5)
		return CLEW_PROBE_NOP5;
	return clew_site_emulated(code, length, in->traced->cost.long_nops_stepped)
		       ? CLEW_PROBE_EMULATED
		       : CLEW_PROBE_STEPPED;
}

static int add_site(const struct traced_points_file *in, const struct clew_carried *found,
		    uint8_t filters, struct traced_owner *owner)
{
	struct clew_function_site site = {
		.roles = CLEW_SITE_ENTER,
		.otherwise = CLEW_FUNCTION_NO_SITE,
		.filters = filters,
		.values = owner->wanted->count ? CLEW_SITE_VALUES_ENTRY : 0,
	};
	struct clew_probe_place place = {.offset = found->probe.offset,
					 .semaphore = found->probe.semaphore};
	struct clew_function_values values = values_of(owner->wanted, found);
	unsigned class = class_of(in, &found->probe);
	uint32_t number;
	int r = traced_site_new(in->traced, &site, &number);

	if (r < 0)
		return r;
	place.cookie = number;
	traced_site_share(in->traced, owner, &site, class, number);
	r = site.values ? traced_site_values(in->traced, number, &values) : 0;
	if (r >= 0)
		r = traced_site_put(in->traced, owner, number, place.offset, class, 0);
	if (r >= 0)
		r = traced_site_fill(in->traced, number);
	if (r >= 0 && place.semaphore)
		r = map_set(&in->file->semaphores, place.offset, 0, place.semaphore);
	return r < 0 ? r : traced_site_place(&in->file->points.planned, &place);
}

/* The number of the probe among functions. 1: it was known. */
static int number_of(const struct traced_points_file *in, const char *title, uint32_t *ret_number)
{
	struct traced *traced = in->traced;
	struct traced_function *function;
	int r;

	for (size_t i = 0; i < traced->known.count; i++) {
		function = traced_function_at(traced, i);
		*ret_number = (uint32_t)i;
		if (function->file == in->file && !strcmp(function->name, title))
			return 1;
	}
	traced->known.item = sizeof(*function);
	r = vector_reserve(&traced->known, traced->known.count + 1);
	if (r < 0)
		return r;
	*ret_number = (uint32_t)traced->known.count;
	function = traced_function_at(traced, traced->known.count);
	*function = (struct traced_function){.file = in->file, .name = strdup(title)};
	if (!function->name)
		return -ENOMEM;
	traced->known.count++;
	return 0;
}

/* Adds all instructions of a probe, the first of which is at `first`. */
static int add_probe(const struct traced_points_file *in, const struct vector *found, size_t first,
		     uint8_t filters, const struct clew_wanted *wanted)
{
	const char *title = clew_carried_at(found, first)->title;
	struct clew_function_symbol symbol = {
		.name = title, .offset = clew_carried_at(found, first)->probe.offset};
	uint8_t build_id[CLEW_BUILD_ID_BYTES];
	struct traced_owner owner = {.symbol = &symbol,
				     .path = in->path,
				     .build_id = build_id,
				     .way = CLEW_SITE_WAY_POINT,
				     .wanted = wanted};
	uint32_t ns = 0;
	int r = number_of(in, title, &owner.number);

	if (r)
		return r < 0 ? r : 0;
	if (in->traced->functions >= in->traced->functions_most) {
		in->traced->over++;
		return 0;
	}
	owner.build_id_size = clew_build_id(in->descriptor, build_id);
	for (size_t i = first; r >= 0 && i < found->count; i++) {
		const struct clew_carried *one = clew_carried_at(found, i);
		const char *reason;
		uint32_t cost;

		if (strcmp(one->title, title) != 0)
			continue;
		reason = probe_judge_reason(in->judge, &one->probe);
		if (reason) {
			r = traced_refuse(in->traced, reason);
			continue;
		}
		cost = clew_probe_cost_of(&in->traced->cost, class_of(in, &one->probe));
		ns = cost > ns ? cost : ns;
		r = add_site(in, one, filters, &owner);
	}
	if (r < 0 || !ns)
		return r;
	in->traced->functions++;
	in->traced->points++;
	return traced_note_cost(in->traced, ns);
}

static int add_all(const struct traced_points_file *in, const struct traced_points_choice *want,
		   const struct vector *found, size_t *ret_found, struct clew_message *message)
{
	bool given = want->choice->has_values && !want->choice->values.all;
	struct clew_wanted wanted;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < found->count; i++) {
		if (clew_carried_again(found, i))
			continue;
		++*ret_found;
		r = given ? want_given(want, found, i, &wanted, message) : 0;
		if (!given) {
			want_all(found, i, &wanted);
		} else if (r < 0 && !want->strict) {
			wanted = (struct clew_wanted){};
			in->traced->without_values++;
			r = 0;
		}
		if (r >= 0)
			r = add_probe(in, found, i, want->filters, &wanted);
	}
	return r;
}

int traced_points_add(const struct traced_points_file *in, const struct traced_points_choice *want,
		      size_t *ret_found, struct clew_message *message)
{
	struct vector found;
	int r = clew_carried_read(in->descriptor, want->choice->glob, &found);

	*ret_found = 0;
	probe_judge_begin(in->judge, in->descriptor);
	if (r >= 0)
		r = add_all(in, want, &found, ret_found, message);
	probe_judge_end(in->judge);
	clew_carried_done(&found);
	return r;
}

bool traced_points_fit(int descriptor, const char *glob)
{
	struct vector found;
	bool fits = clew_carried_read(descriptor, glob, &found) >= 0 && found.count;

	clew_carried_done(&found);
	return fits;
}

void traced_points_say_none(int descriptor, const char *path, const char *glob, char *ret_text,
			    size_t size)
{
	unsigned nearest = WORD_DISTANCE_MOST;
	const char *name = NULL;
	struct vector found;

	clew_carried_read(descriptor, "*", &found);
	for (size_t i = 0; i < found.count; i++) {
		unsigned distance = word_distance(glob, clew_carried_at(&found, i)->title);

		if (distance < nearest) {
			nearest = distance;
			name = clew_carried_at(&found, i)->title;
		}
	}
	if (!found.count)
		snprintf(ret_text, size,
			 "%s carries no probes: choose its functions with -f instead", path);
	else
		snprintf(ret_text, size, "%s has no such probe; perhaps %s", path,
			 name ?: clew_carried_at(&found, 0)->title);
	clew_carried_done(&found);
}
