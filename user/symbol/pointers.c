/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pointers into code that the loader makes when it puts the file somewhere: they say
 * where tables of a position-independent program lead, and what may be called by a
 * pointer. Only relocations with an addend of their own count.
 */
#include <errno.h>
#include <stdlib.h>

#include "symbol/function_internal.h"

#define RELOCATIONS_MOST (512u << 20) /* bytes */

static int compare_pointers(const void *a, const void *b)
{
	const struct pointer *left = a, *right = b;

	return left->at < right->at ? -1 : left->at > right->at;
}

static int add_pointers(struct clew_functions *functions, const Elf64_Shdr *section)
{
	struct vector *pointers = &functions->pointers;
	Elf64_Rela *relocations;
	int r = section->sh_size > RELOCATIONS_MOST
			? -EFBIG
			: elf_file_read(&functions->file, section->sh_offset, section->sh_size,
					&relocations);

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < section->sh_size / sizeof(*relocations); i++) {
		const Elf64_Rela *one = &relocations[i];

		if (ELF64_R_TYPE(one->r_info) != R_X86_64_RELATIVE ||
		    !functions_segment_at(functions, (uint64_t)one->r_addend))
			continue;
		r = vector_reserve(pointers, pointers->count + 1);
		if (r >= 0)
			((struct pointer *)pointers->data)[pointers->count++] =
				(struct pointer){one->r_offset, (uint64_t)one->r_addend};
	}
	free(relocations);
	return r;
}

int functions_read_pointers(struct clew_functions *functions)
{
	int r = 0;

	functions->pointers.item = sizeof(struct pointer);
	for (unsigned i = 0; r >= 0 && i < functions->file.header.e_shnum; i++)
		if (functions->file.sections[i].sh_type == SHT_RELA &&
		    functions->file.sections[i].sh_flags & SHF_ALLOC)
			r = add_pointers(functions, &functions->file.sections[i]);
	if (functions->pointers.count > 1)
		qsort(functions->pointers.data, functions->pointers.count, sizeof(struct pointer),
		      compare_pointers);
	return r;
}
