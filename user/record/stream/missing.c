/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the programs that the kernel would refuse for a field that it lacks. */
#include "record/stream/missing.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/fields/reach.h"
#include "record/stream/refusals.h"

#define TYPES "/sys/kernel/btf"

/* The number of modules that have types; -1: they cannot be listed. */
static int count_modules(void)
{
	DIR *folder = opendir(TYPES);
	const struct dirent *entry;
	int count = 0;

	if (!folder)
		return -1;
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") != 0;
	closedir(folder);
	return count;
}

static int refuse(struct bpf_object *object, const struct fields *fields,
		  struct clew_refusals *refusals)
{
	struct bpf_program *program;
	struct reach reach;
	int error = reach_open(&reach, fields);

	if (error)
		return error;
	bpf_object__for_each_program (program, object) {
		const char *name = bpf_program__name(program);
		int function = code_function_named(fields->code, name);
		const struct clew_program_row *row = clew_program_row(name);
		const struct bpf_core_relo *missing;
		char field[96], reason[160];

		if (!row || function < 0 || !bpf_program__autoload(program))
			continue;
		missing = reach_refused(&reach, function);
		if (!missing)
			continue;
		fields_name(fields, missing, field, sizeof(field));
		snprintf(reason, sizeof(reason), CLEW_FIELD_MISSING, field);
		clew_refusals_add(refusals, row, reason);
	}
	error = reach.error;
	reach_close(&reach);
	return error;
}

int clew_missing_refuse(struct bpf_object *object, const void *file, size_t size,
			struct btf *kernel, struct btf *const *modules, size_t module_count,
			bool hidden, struct clew_refusals *refusals)
{
	/* FUSE has no program of its own, but other programs look into it. */
	struct btf *fuse = hidden ? NULL : btf__load_module_btf("fuse", kernel), **all;
	struct fields_kernel types = {.kernel = kernel, .module_count = module_count + 1};
	struct fields fields;
	struct code code;
	int error, opened = fuse != NULL;

	all = calloc(types.module_count, sizeof(*all));
	error = all ? code_open(&code, file, size) : -ENOMEM;
	if (error)
		goto out;
	for (size_t i = 0; i < module_count; i++) {
		all[i] = modules[i];
		opened += modules[i] != NULL;
	}
	all[module_count] = fuse;
	types.modules = all;
	types.whole = hidden || count_modules() == opened;
	error = fields_resolve(&fields, &code, bpf_object__btf(object), &types);
	if (!error) {
		error = refuse(object, &fields, refusals);
		fields_done(&fields);
	}
	code_close(&code);
out:
	btf__free(fuse);
	free(all);
	/* A file that cannot be read is left to the load. */
	return error == -EINVAL ? 0 : error;
}
