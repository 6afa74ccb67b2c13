/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the programs that the kernel would refuse for a field that it lacks, before they are
 * loaded. A program of which that cannot be said is left to the load.
 */
#ifndef CLEW_RECORD_STREAM_MISSING_H
#define CLEW_RECORD_STREAM_MISSING_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_object;
struct btf;
struct clew_refusals;

/*
 * Adds the object's programs that are to be loaded to the refusals, if a field is missing for them.
 * `file`: the object file that it was opened from. `modules`: types of modules, above the kernel's;
 * some may be NULL. `hidden`: libbpf finds no module's types, so that no field of theirs is found.
 * 0 or -ENOMEM.
 */
int clew_missing_refuse(struct bpf_object *object, const void *file, size_t size,
			struct btf *kernel, struct btf *const *modules, size_t module_count,
			bool hidden, struct clew_refusals *refusals);

#endif
