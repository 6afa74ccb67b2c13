/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pointers into code that the loader makes when it puts the file somewhere: they say
 * where tables of a position-independent program lead, and what may be called by a
 * pointer. Only relative relocations count among those with an addend of their own; packed ones
 * (DT_RELR) all are relative, and have their addend where the pointer will be.
 */
#include <errno.h>
#include <stdlib.h>

#include "arch/machine.h"
#include "symbol/code/function_internal.h"

#define RELOCATIONS_MOST (512u << 20) /* bytes */
#define PACKED_MOST	 (8u << 20)   /* bytes: a pointer takes two bits of them at most */

static int compare_pointers(const void *a, const void *b)
{
	const struct pointer *left = a, *right = b;

	return left->at < right->at ? -1 : left->at > right->at;
}

static int add_pointer(struct clew_functions *functions, uint64_t at, uint64_t to)
{
	struct vector *pointers = &functions->pointers;
	int r;

	if (!functions_segment_at(functions, to))
		return 0;
	r = vector_reserve(pointers, pointers->count + 1);
	if (r >= 0)
		((struct pointer *)pointers->data)[pointers->count++] = (struct pointer){at, to};
	return r;
}

static int add_pointers(struct clew_functions *functions, const Elf64_Shdr *section)
{
	Elf64_Rela *relocations;
	int r = section->sh_size > RELOCATIONS_MOST
			? -EFBIG
			: elf_file_read(&functions->file, section->sh_offset, section->sh_size,
					&relocations);

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < section->sh_size / sizeof(*relocations); i++) {
		const Elf64_Rela *one = &relocations[i];

		if (ELF64_R_TYPE(one->r_info) == CLEW_MACHINE_RELATIVE)
			r = add_pointer(functions, one->r_offset, (uint64_t)one->r_addend);
	}
	free(relocations);
	return r;
}

static int add_packed_pointer(struct clew_functions *functions, uint64_t at)
{
	uint64_t to;

	return functions_read_bytes(functions, at, &to, sizeof(to)) ? add_pointer(functions, at, to)
								    : 0;
}

/* A word is the address of a pointer, or has a bit for each of the 63 behind the last. */
static int add_packed(struct clew_functions *functions, const Elf64_Shdr *section)
{
	uint64_t *words, next = 0;
	int r = section->sh_size > RELOCATIONS_MOST
			? -EFBIG
			: elf_file_read(&functions->file, section->sh_offset, section->sh_size,
					&words);

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < section->sh_size / sizeof(*words); i++) {
		if (!(words[i] & 1)) {
			r = add_packed_pointer(functions, words[i]);
			next = words[i] + sizeof(uint64_t);
			continue;
		}
		for (unsigned bit = 1; r >= 0 && bit < 64; bit++)
			if (words[i] >> bit & 1)
				r = add_packed_pointer(functions,
						       next + (bit - 1) * sizeof(uint64_t));
		next += 63 * sizeof(uint64_t);
	}
	free(words);
	return r;
}

int functions_read_pointers(struct clew_functions *functions)
{
	int r = 0;

	functions->pointers.item = sizeof(struct pointer);
	for (unsigned i = 0; r >= 0 && i < functions->file.header.e_shnum; i++) {
		const Elf64_Shdr *section = &functions->file.sections[i];

		if (section->sh_type == SHT_RELA && section->sh_flags & SHF_ALLOC)
			r = add_pointers(functions, section);
		else if (section->sh_type == SHT_RELR)
			r = add_packed(functions, section);
	}
	if (functions->pointers.count > 1)
		qsort(functions->pointers.data, functions->pointers.count, sizeof(struct pointer),
		      compare_pointers);
	return r;
}
