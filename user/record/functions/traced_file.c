/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of a file: their sites, and where probes are to be put.
 *
 * There is one probe at an address, whatever it is there for: its site has all roles. If
 * the roles depend on what the program finds there, a second site without a probe has
 * those that remain.
 *
 * The SITE record is put before its probe is attached, so it comes before all records of
 * the site.
 */
#include "record/functions/traced_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/functions/traced_site.h"
#include "record/stream/user_stream.h"

/* The site that an exit is if it is none: what else its instruction is there for. */
static int add_otherwise(struct traced *traced, const struct traced_owner *owner,
			 struct clew_function_site *site, uint64_t offset, unsigned class,
			 unsigned below)
{
	struct clew_function_site rest = {.otherwise = CLEW_FUNCTION_NO_SITE,
					  .roles = site->roles & ~CLEW_SITE_TAIL,
					  .filters = site->filters};
	uint32_t number;
	int r;

	site->otherwise = CLEW_FUNCTION_NO_SITE;
	if (site->test == CLEW_EXIT_ALWAYS || !rest.roles)
		return 0;
	r = traced_site_new(traced, &rest, &number);
	if (r >= 0)
		r = traced_site_put(traced, owner, number, offset, class, below);
	site->otherwise = (uint16_t)number;
	return r;
}

/* A site of that file is also this one. */
static void join(struct clew_function_site *site, const struct clew_function_site *other)
{
	site->roles |= other->roles;
	/* The stack pointer of longjmp's record is not that of an entry. */
	if (site->roles & CLEW_SITE_LONGJMP)
		site->roles = CLEW_SITE_LONGJMP;
	if (other->test != CLEW_EXIT_ALWAYS) {
		site->test = other->test;
		site->condition = other->condition;
		site->base = other->base;
		site->operand = other->operand;
		site->offset = other->offset;
		site->from_start = other->from_start;
		site->length = other->length;
	}
	site->filters = site->filters && other->filters ? site->filters | other->filters : 0;
	if (!site->values)
		site->values = other->values;
}

/* One counter belongs to all probes at an instruction. */
static int place(struct traced_file *file, struct vector *places, uint64_t offset, uint64_t cookie)
{
	const uint64_t *semaphore = map_get(&file->semaphores, offset, 0);

	return traced_site_place(places, &(struct clew_probe_place){
						 .offset = offset,
						 .semaphore = semaphore ? *semaphore : 0,
						 .cookie = cookie,
					 });
}

/* *ret_number: the site at that offset, which may be known already. */
static int add_site(struct traced *traced, struct traced_file *file,
		    const struct traced_owner *owner, const struct clew_function_site *wanted,
		    uint64_t offset, unsigned class, unsigned below, uint32_t *ret_number)
{
	const uint64_t *known = map_get(&file->sites, offset, 0);
	struct clew_function_site site = *wanted;
	bool has_values = false;
	int r = 0;

	if (known) {
		*ret_number = (uint32_t)*known;
		site = *traced_site_at(traced, *ret_number);
		has_values = site.values;
		join(&site, wanted);
		if (!memcmp(&site, traced_site_at(traced, *ret_number), sizeof(site)))
			return 0;
	} else {
		r = traced_site_new(traced, &site, ret_number);
		if (r >= 0)
			r = map_set(&file->sites, offset, 0, *ret_number);
		if (r >= 0)
			r = place(file, &file->entries.planned, offset, *ret_number);
	}
	if (r >= 0)
		traced_site_share(traced, owner, &site, class, *ret_number);
	if (r >= 0 && wanted->values && !has_values)
		r = traced_site_values(traced, *ret_number, owner->values);
	if (r >= 0)
		r = add_otherwise(traced, owner, &site, offset, class, below);
	if (r < 0)
		return r;
	*traced_site_at(traced, *ret_number) = site;
	if (site.otherwise != CLEW_FUNCTION_NO_SITE)
		r = traced_site_fill(traced, site.otherwise);
	if (r >= 0)
		r = traced_site_put(traced, owner, *ret_number, offset, class, below);
	return r < 0 ? r : traced_site_fill(traced, *ret_number);
}

/* ---- functions ---- */

static int add_exit(struct traced *traced, struct traced_file *file,
		    const struct traced_owner *owner, const struct clew_function_exit *exit,
		    uint8_t filters)
{
	struct clew_function_site site = {
		.roles = exit->kind == CLEW_EXIT_RET ? CLEW_SITE_RET : CLEW_SITE_TAIL,
		.filters = filters,
	};
	uint32_t number;

	if (exit->kind == CLEW_EXIT_RET && owner->wanted && owner->wanted->returns)
		site.values = CLEW_SITE_VALUES_RESULT;
	if (exit->kind == CLEW_EXIT_CONDITIONAL) {
		site.test = CLEW_EXIT_IF_TAKEN;
		site.condition = exit->condition;
	} else if (exit->kind == CLEW_EXIT_INDIRECT) {
		site.test = CLEW_EXIT_IF_OUTSIDE;
		site.base = exit->target.base;
		site.operand = exit->target.kind;
		site.offset = (int32_t)exit->target.offset;
		site.from_start = (uint32_t)(exit->offset - owner->symbol->offset);
		site.length = (uint32_t)owner->symbol->size;
	}
	return add_site(traced, file, owner, &site, exit->offset, exit->class,
			exit->offset == owner->symbol->entry.offset ? owner->symbol->entry.below
								    : 0,
			&number);
}

/* The trampoline replaces what the stack pointer points to, so nothing may be pushed yet. */
static uint8_t way_of(const struct clew_function_symbol *symbol)
{
	switch (symbol->returns) {
	case CLEW_RETURN_TRAMPOLINE:
		if (!symbol->entry.below)
			return CLEW_SITE_WAY_TRAMPOLINE;
		return symbol->exit_count ? CLEW_SITE_WAY_EXITS : CLEW_SITE_WAY_NONE;
	case CLEW_RETURN_EXITS:
		return CLEW_SITE_WAY_EXITS;
	default:
		return symbol->endless ? CLEW_SITE_WAY_EXITS : CLEW_SITE_WAY_NONE;
	}
}

int traced_note_cost(struct traced *traced, uint32_t ns)
{
	int r;

	traced->costs.item = sizeof(ns);
	r = vector_reserve(&traced->costs, traced->costs.count + 1);
	if (r >= 0)
		((uint32_t *)traced->costs.data)[traced->costs.count++] = ns;
	return r;
}

static uint32_t cost_of(const struct traced *traced, const struct traced_owner *owner)
{
	const struct clew_function_symbol *symbol = owner->symbol;
	uint32_t ns = clew_probe_cost_of(&traced->cost, symbol->entry.class), exit = 0;

	for (size_t i = 0; owner->way == CLEW_SITE_WAY_EXITS && i < symbol->exit_count; i++) {
		uint32_t one = clew_probe_cost_of(&traced->cost, symbol->exits[i].class);

		exit = one > exit ? one : exit;
	}
	if (owner->way == CLEW_SITE_WAY_TRAMPOLINE)
		exit = traced->cost.trampoline;
	return ns + exit;
}

static int own(struct traced *traced, struct traced_file *file, struct clew_functions *functions,
	       const struct clew_function_symbol *symbol, const char *path,
	       const struct traced_values *values, struct traced_owner *ret)
{
	const uint64_t *known = map_get(&file->starts, symbol->offset, 0);
	uint64_t arguments = values ? values->arguments : 0;
	struct traced_function *function;
	int r;

	*ret = (struct traced_owner){.symbol = symbol, .path = path, .way = way_of(symbol)};
	ret->build_id = clew_functions_build_id(functions, &ret->build_id_size);
	if (known) {
		ret->number = (uint32_t)*known;
		return 1;
	}
	ret->number = (uint32_t)traced->known.count;
	traced->known.item = sizeof(struct traced_function);
	r = vector_reserve(&traced->known, traced->known.count + 1);
	if (r < 0)
		return r;
	function = traced_function_at(traced, traced->known.count++);
	*function = (struct traced_function){.file = file, .name = strdup(symbol->name)};
	return function->name
		       ? map_set(&file->starts, symbol->offset, 0, ret->number | arguments << 32)
		       : -ENOMEM;
}

bool traced_has(const struct traced_file *file, const struct clew_function_symbol *symbol,
		unsigned *ret_arguments)
{
	const uint64_t *known = map_get(&file->starts, symbol->offset, 0);

	*ret_arguments = known ? (unsigned)(*known >> 32) : 0;
	return known;
}

/* The values that the entry's site has. */
static uint8_t entry_values(const struct traced_values *values, bool again)
{
	return (uint8_t)((again ? CLEW_SITE_VALUES_AGAIN : 0) |
			 (values->wanted.count ? CLEW_SITE_VALUES_ENTRY : 0) |
			 (values->wanted.returns ? CLEW_SITE_VALUES_RESULT : 0));
}

int traced_add(struct traced *traced, struct traced_file *file, struct clew_functions *functions,
	       const struct clew_function_symbol *symbol, const char *path, uint8_t filters,
	       const struct traced_values *values)
{
	struct clew_function_site entry = {.roles = CLEW_SITE_ENTER, .filters = filters};
	bool fresh = !map_get(&file->starts, symbol->offset, 0), again;
	struct clew_function_values filled;
	struct traced_owner owner;
	uint32_t number;
	int r;

	if (fresh && traced->functions >= traced->functions_most) {
		traced->over++;
		return 0;
	}
	r = own(traced, file, functions, symbol, path, values, &owner);
	if (r < 0)
		return r;
	if (values) {
		again = owner.way == CLEW_SITE_WAY_TRAMPOLINE && traced_values_again(values);
		entry.values = entry_values(values, again);
		traced_values_fill(values, again, &filled);
		owner.wanted = &values->wanted;
		owner.values = &filled;
	}
	r = add_site(traced, file, &owner, &entry, symbol->entry.offset, symbol->entry.class,
		     symbol->entry.below, &number);
	if (r >= 0 && fresh && owner.way == CLEW_SITE_WAY_TRAMPOLINE)
		r = place(file, &file->returns.planned, symbol->entry.offset,
			  number | CLEW_FUNCTION_RETURNS);
	for (size_t i = 0; r >= 0 && owner.way == CLEW_SITE_WAY_EXITS && i < symbol->exit_count;
	     i++)
		r = add_exit(traced, file, &owner, &symbol->exits[i], filters);
	if (r < 0 || !fresh)
		return r;
	traced->functions++;
	traced->unseen_returns += owner.way == CLEW_SITE_WAY_NONE;
	return traced_note_cost(traced, cost_of(traced, &owner));
}

int traced_add_control(struct traced *traced, struct traced_file *file,
		       struct clew_functions *functions, const char *path)
{
	static const struct {
		const char *name;
		uint16_t role;
	} wanted[] = {
		{"longjmp", CLEW_SITE_LONGJMP},
		{"_longjmp", CLEW_SITE_LONGJMP},
		{"siglongjmp", CLEW_SITE_LONGJMP},
		{"__longjmp_chk", CLEW_SITE_LONGJMP},
		{"pthread_exit", CLEW_SITE_EXIT},
		{"__cxa_begin_catch", CLEW_SITE_CATCH},
		{"_Unwind_RaiseException", CLEW_SITE_THROW},
		{"_Unwind_Resume_or_Rethrow", CLEW_SITE_THROW},
		{"_Unwind_ForcedUnwind", CLEW_SITE_UNWIND},
	};
	const char *last = strrchr(path, '/');
	bool musl = strstr(last ?: path, "musl");
	int r = 0;

	file->controlled = true;
	for (size_t i = 0; r >= 0 && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct clew_function_site site = {
			.roles = wanted[i].role,
			.buffer = musl ? CLEW_JMP_BUF_MUSL : CLEW_JMP_BUF_GLIBC,
		};
		const struct clew_function_symbol *const *found;
		struct traced_owner owner;
		uint32_t number;
		size_t count;

		r = clew_functions_find(functions, wanted[i].name, &found, &count);
		if (r < 0 || !count || found[0]->refused ||
		    (wanted[i].role == CLEW_SITE_LONGJMP && !(found[0]->entry.arguments & 1)))
			continue;
		r = own(traced, file, functions, found[0], path, NULL, &owner);
		if (r >= 0)
			r = add_site(traced, file, &owner, &site, found[0]->entry.offset,
				     found[0]->entry.class, found[0]->entry.below, &number);
	}
	return r < 0 ? r : 0;
}

int traced_refuse(struct traced *traced, const char *reason)
{
	struct traced_refusal *all = traced->refusals.data;
	int r;

	for (size_t i = 0; i < traced->refusals.count; i++)
		if (!strcmp(all[i].reason, reason)) {
			all[i].count++;
			return 0;
		}
	traced->refusals.item = sizeof(*all);
	r = vector_reserve(&traced->refusals, traced->refusals.count + 1);
	if (r >= 0)
		((struct traced_refusal *)traced->refusals.data)[traced->refusals.count++] =
			(struct traced_refusal){.reason = reason, .count = 1};
	return r;
}

int traced_drop(struct traced *traced, uint32_t function, struct clew_dropped *record)
{
	int r;

	record->header.kind = CLEW_KIND_DROPPED;
	record->function = function;
	traced_function_at(traced, function)->dropped = true;
	/* First, so that nothing follows from calls whose ends are not seen. */
	r = clew_put_user_kept(traced->recorder, &record->header, sizeof(*record));
	for (size_t i = 0; r >= 0 && i < traced->shares.count; i++)
		if (traced_share_of(traced, i)->function == function) {
			traced_site_at(traced, i)->roles = 0;
			r = traced_site_fill(traced, (uint32_t)i);
		}
	return r;
}

void traced_file_done(struct traced_file *file)
{
	map_done(&file->sites);
	map_done(&file->starts);
	traced_links_done(file);
}

void traced_done(struct traced *traced)
{
	for (size_t i = 0; i < traced->known.count; i++)
		free(traced_function_at(traced, i)->name);
	vector_done(&traced->values);
	vector_done(&traced->sites);
	vector_done(&traced->shares);
	vector_done(&traced->known);
	vector_done(&traced->costs);
	vector_done(&traced->refusals);
}
