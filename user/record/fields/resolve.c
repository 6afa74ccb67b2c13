/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One pass over the kernel's types finds the candidates for all structures by name, as each search
 * of libbpf's would be such a pass. The part of a name from "___" on is clew's own, and does not
 * count.
 */
#include "record/fields/resolve.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define DEPTH_MOST 64 /* of an access */

struct candidate {
	const struct btf *of;
	uint32_t id;
	uint32_t next; /* number of the next one with that name, plus one; 0 none */
};

struct search {
	const struct btf *own;
	struct map names; /* hash of a name -> candidate, plus one; 0 none yet */
	struct candidate *candidates;
	size_t count, room;
};

/* The length of a name without what is clew's own. */
static size_t plain_length(const char *name)
{
	const char *end = strstr(name, "___");

	return end && end != name ? (size_t)(end - name) : strlen(name);
}

static bool same_name(const char *a, const char *b)
{
	size_t length = plain_length(a);

	return length == plain_length(b) && !strncmp(a, b, length);
}

static const char *name_of(const struct btf *btf, const struct btf_type *type)
{
	return btf__name_by_offset(btf, type->name_off);
}

static bool is_any_enum(const struct btf_type *type)
{
	return btf_is_enum(type) || btf_is_enum64(type);
}

static bool same_kind(const struct btf_type *a, const struct btf_type *b)
{
	return btf_kind(a) == btf_kind(b) || (is_any_enum(a) && is_any_enum(b));
}

/* The type without what only qualifies or names it. */
static const struct btf_type *bare(const struct btf *btf, uint32_t id, uint32_t *ret_id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type))) {
		id = type->type;
		type = btf__type_by_id(btf, id);
	}
	*ret_id = id;
	return type;
}

/* True if a field of the one type may be read as one of the other. */
static bool is_compatible(const struct btf *own, uint32_t own_id, const struct btf *btf,
			  uint32_t id)
{
	for (int depth = 0; depth < DEPTH_MOST; depth++) {
		const struct btf_type *a = bare(own, own_id, &own_id), *b = bare(btf, id, &id);
		const char *name, *other;

		if (!a || !b)
			return false;
		if (btf_is_composite(a) && btf_is_composite(b))
			return true;
		if (!same_kind(a, b))
			return false;
		if (btf_is_array(a)) {
			own_id = btf_array(a)->type;
			id = btf_array(b)->type;
			continue;
		}
		if (btf_is_int(a))
			return !btf_int_offset(a) && !btf_int_offset(b);
		if (!btf_is_fwd(a) && !is_any_enum(a))
			return btf_is_ptr(a) || btf_kind(a) == BTF_KIND_FLOAT;
		name = name_of(own, a);
		other = name_of(btf, b);
		return !*name || !*other || same_name(name, other);
	}
	return false;
}

/* The type of the field `name` of a structure, or of a structure without a name in it. False: there
 * is none that fits. */
static bool find_member(const struct search *search, const char *name, uint32_t own_type,
			const struct btf *btf, uint32_t id, uint32_t *ret_id, bool *ret_named)
{
	const struct btf_type *type = bare(btf, id, &id);
	const struct btf_member *member;

	if (!type || !btf_is_composite(type))
		return false;
	member = btf_members(type);
	for (unsigned i = 0; i < btf_vlen(type); i++, member++) {
		const char *found = btf__name_by_offset(btf, member->name_off);

		if (!*found) {
			if (find_member(search, name, own_type, btf, member->type, ret_id,
					ret_named) ||
			    *ret_named)
				return !!*ret_id;
		} else if (!strcmp(found, name)) {
			*ret_named = true;
			*ret_id = is_compatible(search->own, own_type, btf, member->type)
					  ? member->type
					  : 0;
			return *ret_id != 0;
		}
	}
	return false;
}

/* Reads "0:3:1". Returns how many numbers there are; -1: it is something else. */
static int read_access(const char *text, unsigned ret_numbers[DEPTH_MOST])
{
	int count = 0, length;

	do {
		if (count == DEPTH_MOST ||
		    sscanf(text, "%u%n", &ret_numbers[count++], &length) != 1)
			return -1;
		text += length;
	} while (*text++ == ':');
	return text[-1] ? -1 : count;
}

/* True if the type of the kernel has the field. */
static bool has_field(const struct search *search, uint32_t own_id, const char *access,
		      const struct btf *btf, uint32_t id)
{
	unsigned numbers[DEPTH_MOST];
	int count = read_access(access, numbers);

	for (int i = 1; i < count; i++) {
		const struct btf_type *own = bare(search->own, own_id, &own_id),
				      *type = bare(btf, id, &id);
		const struct btf_member *member;
		const char *name;
		bool named = false;

		if (!own || !type)
			return false;
		if (btf_is_array(own)) {
			const struct btf_array *array = btf_array(type);

			if (!btf_is_array(type) || (array->nelems && numbers[i] >= array->nelems))
				return false;
			own_id = btf_array(own)->type;
			id = array->type;
			continue;
		}
		if (!btf_is_composite(own) || numbers[i] >= btf_vlen(own))
			return false;
		member = &btf_members(own)[numbers[i]];
		name = btf__name_by_offset(search->own, member->name_off);
		if (*name && !find_member(search, name, member->type, btf, id, &id, &named))
			return false;
		own_id = member->type;
	}
	return count > 0;
}

/* The name of the enumerator that an access is to; NULL: it is none. */
static const char *enumerator_of(const struct btf *own, uint32_t id, const char *access)
{
	const struct btf_type *type = bare(own, id, &id);
	unsigned number;

	if (!type || !is_any_enum(type) || sscanf(access, "%u", &number) != 1 ||
	    number >= btf_vlen(type))
		return NULL;
	return btf__name_by_offset(own, btf_is_enum(type) ? btf_enum(type)[number].name_off
							  : btf_enum64(type)[number].name_off);
}

static bool has_enumerator(const char *name, const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = bare(btf, id, &id);

	for (unsigned i = 0; type && is_any_enum(type) && i < btf_vlen(type); i++)
		if (same_name(name, btf__name_by_offset(
					    btf, btf_is_enum(type) ? btf_enum(type)[i].name_off
								   : btf_enum64(type)[i].name_off)))
			return true;
	return false;
}

static bool fits(const struct search *search, const struct bpf_core_relo *access, const char *text,
		 const struct btf *btf, uint32_t id)
{
	const char *name;

	switch (access->kind) {
	case BPF_CORE_TYPE_ID_TARGET:
	case BPF_CORE_TYPE_EXISTS:
	case BPF_CORE_TYPE_SIZE:
		return true;
	case BPF_CORE_ENUMVAL_EXISTS:
	case BPF_CORE_ENUMVAL_VALUE:
		name = enumerator_of(search->own, access->type_id, text);
		return name && has_enumerator(name, btf, id);
	default:
		return has_field(search, access->type_id, text, btf, id);
	}
}

static uint64_t hash_name(const char *name)
{
	return hash_bytes(HASH_SEED, name, plain_length(name));
}

/* Adds what has one of the names among the types from `first` on. 0 or -ENOMEM. */
static int add_candidates(struct search *search, const struct btf *btf, uint32_t first)
{
	for (uint32_t id = first; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		struct candidate *larger;
		uint64_t *last;

		if (!type->name_off || !(btf_is_composite(type) || is_any_enum(type) ||
					 btf_is_typedef(type) || btf_is_int(type)))
			continue;
		last = map_get(&search->names, hash_name(name_of(btf, type)), 0);
		if (!last)
			continue;
		if (search->count == search->room) {
			larger = reallocarray(search->candidates, search->room + 256,
					      sizeof(*larger));
			if (!larger)
				return -ENOMEM;
			search->candidates = larger;
			search->room += 256;
		}
		search->candidates[search->count++] =
			(struct candidate){.of = btf, .id = id, .next = *last};
		*last = search->count;
	}
	return 0;
}

/* The number of a candidate's successor that has a type's name and kind, from `number` on. */
static uint32_t next_candidate(const struct search *search, const struct btf_type *own,
			       uint32_t number)
{
	while (number) {
		const struct candidate *candidate = &search->candidates[number - 1];
		const struct btf_type *type = btf__type_by_id(candidate->of, candidate->id);

		if (same_kind(own, type) &&
		    same_name(name_of(search->own, own), name_of(candidate->of, type)))
			break;
		number = candidate->next;
	}
	return number;
}

static enum field_state find(const struct search *search, const struct fields_kernel *kernel,
			     const struct bpf_core_relo *access, const char *text)
{
	const struct btf_type *own = btf__type_by_id(search->own, access->type_id);
	bool of_kernel = false, any = false;
	uint64_t *first;

	if (access->kind == BPF_CORE_TYPE_ID_LOCAL)
		return FIELD_FOUND;
	if (!own || access->kind > BPF_CORE_ENUMVAL_VALUE || !*name_of(search->own, own))
		return FIELD_UNKNOWN;
	first = map_get(&search->names, hash_name(name_of(search->own, own)), 0);
	/* A module's types count only where the kernel has none of that name. */
	for (int pass = 0; first && pass < 2 && !any; pass++)
		for (uint32_t i = next_candidate(search, own, *first); i;
		     i = next_candidate(search, own, search->candidates[i - 1].next)) {
			const struct candidate *candidate = &search->candidates[i - 1];

			of_kernel = candidate->of == kernel->kernel;
			if (of_kernel != !pass)
				continue;
			any = true;
			if (fits(search, access, text, candidate->of, candidate->id))
				return FIELD_FOUND;
		}
	return any || kernel->whole ? FIELD_MISSING : FIELD_UNKNOWN;
}

/* The key of an access among the states. */
static uint64_t key_of(const struct bpf_core_relo *access)
{
	return (uint64_t)access->type_id << 32 | access->access_str_off;
}

/* Goes over all accesses: notes their types' names, or finds out their states. 0 or -ENOMEM. */
static int go_over(struct fields *fields, struct search *search, const struct fields_kernel *kernel)
{
	int error = 0;

	for (size_t s = 0; s < fields->code->section_count; s++)
		for (size_t i = 0; !error && i < fields->code->sections[s].access_count; i++) {
			const struct bpf_core_relo *access = &fields->code->sections[s].accesses[i];
			const struct btf_type *type;

			if (map_get(&fields->states, key_of(access), access->kind))
				continue;
			if (kernel) {
				error = map_set(
					&fields->states, key_of(access), access->kind,
					find(search, kernel, access,
					     fields->code->strings + access->access_str_off));
				continue;
			}
			type = btf__type_by_id(search->own, access->type_id);
			if (type)
				error = map_set(&search->names,
						hash_name(name_of(search->own, type)), 0, 0);
		}
	return error;
}

int fields_resolve(struct fields *ret_fields, const struct code *code, const struct btf *own,
		   const struct fields_kernel *kernel)
{
	struct search search = {.own = own};
	int error;

	*ret_fields = (struct fields){.code = code, .own = own};
	error = go_over(ret_fields, &search, NULL);
	if (!error)
		error = add_candidates(&search, kernel->kernel, 1);
	for (size_t i = 0; !error && i < kernel->module_count; i++)
		if (kernel->modules[i])
			error = add_candidates(&search, kernel->modules[i],
					       btf__type_cnt(kernel->kernel));
	if (!error)
		error = go_over(ret_fields, &search, kernel);
	map_done(&search.names);
	free(search.candidates);
	if (error)
		fields_done(ret_fields);
	return error;
}

void fields_done(struct fields *fields)
{
	map_done(&fields->states);
}

enum field_state fields_state(const struct fields *fields, const struct bpf_core_relo *access)
{
	const uint64_t *state = map_get(&fields->states, key_of(access), access->kind);

	return state ? (enum field_state) * state : FIELD_UNKNOWN;
}

bool fields_is_question(const struct bpf_core_relo *access)
{
	return access->kind == BPF_CORE_FIELD_EXISTS || access->kind == BPF_CORE_TYPE_EXISTS ||
	       access->kind == BPF_CORE_ENUMVAL_EXISTS;
}

void fields_name(const struct fields *fields, const struct bpf_core_relo *access, char *ret_name,
		 size_t size)
{
	const char *text = fields->code->strings + access->access_str_off, *part;
	const struct btf_type *type = btf__type_by_id(fields->own, access->type_id);
	unsigned numbers[DEPTH_MOST];
	int count = read_access(text, numbers);
	uint32_t id = access->type_id;
	FILE *out = size ? fmemopen(ret_name, size, "w") : NULL;

	if (!out)
		return;
	fputs(type ? name_of(fields->own, type) : "?", out);
	part = enumerator_of(fields->own, id, text);
	if (part)
		fprintf(out, "::%s", part);
	for (int i = 1; !part && i < count; i++) {
		type = bare(fields->own, id, &id);
		if (type && btf_is_array(type)) {
			fprintf(out, "[%u]", numbers[i]);
			id = btf_array(type)->type;
		} else if (type && btf_is_composite(type) && numbers[i] < btf_vlen(type)) {
			const struct btf_member *member = &btf_members(type)[numbers[i]];
			const char *name = btf__name_by_offset(fields->own, member->name_off);

			if (*name)
				fprintf(out, ".%s", name);
			id = member->type;
		}
	}
	fclose(out);
	ret_name[size - 1] = '\0';
}
