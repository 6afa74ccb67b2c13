/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The headers of a 64-bit ELF file. It is read, never mapped: the kernel puts its
 * breakpoints into mappings, private ones too, and not into what read(2) gives.
 */
#ifndef CLEW_SYMBOL_ELF_ELF_FILE_H
#define CLEW_SYMBOL_ELF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	int descriptor; /* the caller's */
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	Elf64_Phdr *programs;
	char *names; /* of sections */
	size_t names_size;
};

/* 0 or -errno: -EBADMSG of what is no such file. Then there is nothing to close. */
int elf_file_open(int descriptor, struct elf_file *ret_file);
void elf_file_close(struct elf_file *file);

/* A part of the file in memory, with a NUL behind it; the caller's. 0 or -errno: -EBADMSG where the
 * file is shorter. */
int elf_file_read(const struct elf_file *file, uint64_t offset, size_t size, void *ret_part);
/* NULL: there is none of that name. */
const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name);
/* Where in the file an address is, 0 if nowhere. */
uint64_t elf_file_offset(const struct elf_file *file, uint64_t address);
/* The difference between the addresses of its code, as linked, and their offsets in the file.
 * False: there is no code, or it has several such distances. */
bool elf_file_bias(const struct elf_file *file, uint64_t *ret_bias);

#endif
