/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks in the kernel for the fields and types that clew's programs ask for, by the rules by which
 * libbpf finds them at the load.
 */
#ifndef CLEW_RECORD_FIELDS_RESOLVE_H
#define CLEW_RECORD_FIELDS_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "record/fields/code.h"

struct btf;

/* The types that libbpf would find. */
struct fields_kernel {
	const struct btf *kernel;
	struct btf *const *modules; /* some may be NULL; asked for what the kernel has not */
	size_t module_count;
	bool whole; /* no other module has types */
};

enum field_state {
	FIELD_UNKNOWN, /* another module may have it, or the rules are others */
	FIELD_FOUND,
	FIELD_MISSING,
};

struct fields {
	const struct code *code;
	const struct btf *own; /* the types of the code */
	struct map states;     /* type and access, kind -> enum field_state */
};

/* Looks for all that the code reads. 0 or -ENOMEM. */
int fields_resolve(struct fields *ret_fields, const struct code *code, const struct btf *own,
		   const struct fields_kernel *kernel);
void fields_done(struct fields *fields);

enum field_state fields_state(const struct fields *fields, const struct bpf_core_relo *access);
/* True if the access only asks whether there is something. */
bool fields_is_question(const struct bpf_core_relo *access);
/* As "mutex.owner.counter". */
void fields_name(const struct fields *fields, const struct bpf_core_relo *access, char *ret_name,
		 size_t size);

#endif
