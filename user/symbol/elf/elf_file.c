/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads an ELF file's headers. Any process's file comes this way: every number is checked before it
 * is used. */
#include "symbol/elf/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MOST 4096
#define NAMES_MOST    (1 << 20)

static int read_at(int descriptor, void *buffer, size_t size, uint64_t offset)
{
	ssize_t got =
		offset > INT64_MAX - size ? 0 : pread(descriptor, buffer, size, (off_t)offset);

	return got < 0 ? -errno : (size_t)got == size ? 0 : -EBADMSG;
}

int elf_file_read(const struct elf_file *file, uint64_t offset, size_t size, void *ret_part)
{
	char *part = malloc(size + 1);
	int r = part ? read_at(file->descriptor, part, size, offset) : -ENOMEM;

	if (r < 0) {
		free(part);
		part = NULL;
	} else {
		part[size] = '\0';
	}
	memcpy(ret_part, &part, sizeof(part));
	return r;
}

static int read_headers(struct elf_file *file)
{
	const Elf64_Ehdr *header = &file->header;
	const Elf64_Shdr *names;
	int r = read_at(file->descriptor, &file->header, sizeof(file->header), 0);

	if (r < 0)
		return r;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    !header->e_shnum || header->e_shnum > SECTIONS_MOST ||
	    header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum ||
	    !header->e_phnum || header->e_phentsize != sizeof(Elf64_Phdr))
		return -EBADMSG;
	r = elf_file_read(file, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr),
			  &file->sections);
	if (r >= 0)
		r = elf_file_read(file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr),
				  &file->programs);
	if (r < 0)
		return r;
	names = &file->sections[header->e_shstrndx];
	if (names->sh_size > NAMES_MOST)
		return -EBADMSG;
	file->names_size = names->sh_size;
	return elf_file_read(file, names->sh_offset, names->sh_size, &file->names);
}

int elf_file_open(int descriptor, struct elf_file *ret_file)
{
	int r;

	*ret_file = (struct elf_file){.descriptor = descriptor};
	r = read_headers(ret_file);
	if (r < 0)
		elf_file_close(ret_file);
	return r;
}

void elf_file_close(struct elf_file *file)
{
	free(file->sections);
	free(file->programs);
	free(file->names);
	*file = (struct elf_file){.descriptor = -1};
}

const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name)
{
	for (unsigned i = 0; i < file->header.e_shnum; i++)
		if (file->sections[i].sh_name < file->names_size &&
		    !strcmp(file->names + file->sections[i].sh_name, name))
			return &file->sections[i];
	return NULL;
}

uint64_t elf_file_offset(const struct elf_file *file, uint64_t address)
{
	for (unsigned i = 0; i < file->header.e_phnum; i++) {
		const Elf64_Phdr *program = &file->programs[i];

		if (program->p_type == PT_LOAD && address >= program->p_vaddr &&
		    address - program->p_vaddr < program->p_memsz)
			return address - program->p_vaddr + program->p_offset;
	}
	return 0;
}

bool elf_file_bias(const struct elf_file *file, uint64_t *ret_bias)
{
	bool found = false;

	for (unsigned i = 0; i < file->header.e_phnum; i++) {
		const Elf64_Phdr *program = &file->programs[i];
		uint64_t bias = program->p_vaddr - program->p_offset;

		if (program->p_type != PT_LOAD || !(program->p_flags & PF_X))
			continue;
		if (found && bias != *ret_bias)
			return false;
		*ret_bias = bias;
		found = true;
	}
	return found;
}
