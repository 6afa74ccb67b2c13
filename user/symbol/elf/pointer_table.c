/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pointers in data of a file. One that is loaded anywhere has relocations for them, which say where
 * each is and what it refers to; a program at fixed addresses has the addresses themselves.
 */
#include "symbol/elf/pointer_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "symbol/elf/elf_file.h"

#define PART_MOST (512ul << 20) /* bytes of a section that are looked through */
#define WORD	  sizeof(uint64_t)

/* A word of data that has an address. */
struct pointer {
	uint64_t at, to;
};

struct search {
	const struct elf_file *file;
	struct vector pointers; /* struct pointer, by `at` */
	struct vector strings;	/* uint64_t: where the text is */
};

static int add_pointer(struct search *search, uint64_t at, uint64_t to)
{
	struct vector *all = &search->pointers;

	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct pointer *)all->data)[all->count++] = (struct pointer){.at = at, .to = to};
	return 0;
}

static int add_relocations(struct search *search, const Elf64_Shdr *section, const char *bytes)
{
	int r = 0;

	for (size_t at = 0; r >= 0 && at + sizeof(Elf64_Rela) <= section->sh_size;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela relocation;
		uint32_t type;

		memcpy(&relocation, bytes + at, sizeof(relocation));
		type = ELF64_R_TYPE(relocation.r_info);
		if (type == (search->file->header.e_machine == EM_AARCH64 ? R_AARCH64_RELATIVE
									  : R_X86_64_RELATIVE))
			r = add_pointer(search, relocation.r_offset, (uint64_t)relocation.r_addend);
	}
	return r;
}

static int add_words(struct search *search, const Elf64_Shdr *section, const char *bytes)
{
	int r = 0;

	for (size_t at = 0; r >= 0 && at + WORD <= section->sh_size; at += WORD) {
		uint64_t word;

		memcpy(&word, bytes + at, WORD);
		if (word && elf_file_offset(search->file, word))
			r = add_pointer(search, section->sh_addr + at, word);
	}
	return r;
}

static int add_strings(struct search *search, const Elf64_Shdr *section, const char *bytes,
		       const char *text)
{
	size_t size = strlen(text) + 1;
	const char *at = bytes, *end = bytes + section->sh_size, *found;

	for (; (found = memmem(at, (size_t)(end - at), text, size)); at = found + 1) {
		if (found > bytes && found[-1])
			continue;
		if (vector_reserve(&search->strings, search->strings.count + 1) < 0)
			return -ENOMEM;
		((uint64_t *)search->strings.data)[search->strings.count++] =
			section->sh_addr + (uint64_t)(found - bytes);
	}
	return 0;
}

static bool is_data(const Elf64_Shdr *section)
{
	return section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_ALLOC &&
	       !(section->sh_flags & SHF_EXECINSTR);
}

/* Looks through one section. */
static int look_into(struct search *search, const Elf64_Shdr *section, const char *text)
{
	bool moved = search->file->header.e_type == ET_DYN;
	char *bytes;
	int r = 0;

	if ((!is_data(section) && section->sh_type != SHT_RELA) || !section->sh_size ||
	    section->sh_size > PART_MOST ||
	    elf_file_read(search->file, section->sh_offset, section->sh_size, &bytes) < 0)
		return 0;
	if (section->sh_type == SHT_RELA)
		r = moved ? add_relocations(search, section, bytes) : 0;
	else
		r = add_strings(search, section, bytes, text);
	if (r >= 0 && !moved && is_data(section) && section->sh_flags & SHF_WRITE)
		r = add_words(search, section, bytes);
	free(bytes);
	return r;
}

static int by_place(const void *left, const void *right)
{
	const struct pointer *a = left, *b = right;

	return a->at < b->at ? -1 : a->at > b->at;
}

static bool is_string(const struct search *search, uint64_t address)
{
	for (size_t i = 0; i < search->strings.count; i++)
		if (((uint64_t *)search->strings.data)[i] == address)
			return true;
	return false;
}

/* Finds what stands behind the words that refer to the text. */
static int choose(const struct search *search, unsigned words, uint64_t *ret_address)
{
	const struct pointer *all = search->pointers.data, *behind;
	bool found = false;

	for (size_t i = 0; i < search->pointers.count; i++) {
		struct pointer key = {.at = all[i].at + words * WORD};

		if (!is_string(search, all[i].to))
			continue;
		behind = bsearch(&key, all, search->pointers.count, sizeof(*all), by_place);
		if (!behind)
			continue;
		if (found && behind->to != *ret_address)
			return -EMLINK;
		*ret_address = behind->to;
		found = true;
	}
	return found ? 0 : -ENOENT;
}

int clew_pointer_behind(int descriptor, const char *text, unsigned words, uint64_t *ret_address)
{
	struct elf_file file;
	struct search search = {.file = &file,
				.pointers.item = sizeof(struct pointer),
				.strings.item = sizeof(uint64_t)};
	int r = 0;

	if (elf_file_open(descriptor, &file) < 0)
		return -ENOENT;
	for (unsigned i = 0; r >= 0 && i < file.header.e_shnum; i++)
		r = look_into(&search, &file.sections[i], text);
	if (r >= 0 && search.pointers.count)
		qsort(search.pointers.data, search.pointers.count, sizeof(struct pointer),
		      by_place);
	if (r >= 0)
		r = choose(&search, words, ret_address);
	vector_done(&search.pointers);
	vector_done(&search.strings);
	elf_file_close(&file);
	return r;
}
