/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel side as its object file has it: functions, their instructions, and what is filled in
 * at load. All of it points into the file, which has to stay.
 *
 * Invariant: relocations and accesses of a section are sorted by instruction, as compilers write
 * them.
 */
#ifndef CLEW_RECORD_FIELDS_CODE_H
#define CLEW_RECORD_FIELDS_CODE_H

#include <elf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_section {
	const char *name;
	const struct bpf_insn *instructions; /* NULL: it is no code */
	uint32_t count;
	const Elf64_Rel *relocations;
	size_t relocation_count;
	const struct bpf_core_relo *accesses; /* of the kernel's structures */
	size_t access_count;
};

struct code_function {
	const char *name;
	uint32_t section;
	uint32_t first, count; /* instructions */
	bool global;	       /* verified by itself, whatever its arguments are */
};

struct code {
	struct code_section *sections;
	size_t section_count;
	struct code_function *functions;
	size_t function_count;
	const Elf64_Sym *symbols;
	size_t symbol_count;
	const char *strings; /* of .BTF */
};

/* Reads an object file with .BTF and .BTF.ext, as clang makes it. 0, -EINVAL or -ENOMEM. */
int code_open(struct code *ret_code, const void *file, size_t size);
void code_close(struct code *code);

/* The number of a function; -1: there is none. */
int code_function_named(const struct code *code, const char *name);
int code_function_at(const struct code *code, uint32_t section, uint32_t instruction);

/* The access to a kernel structure at an instruction of a section, and the symbol that it is
 * relocated by. NULL: there is none. */
const struct bpf_core_relo *code_access(const struct code_section *section, uint32_t instruction);
const Elf64_Sym *code_symbol(const struct code *code, const struct code_section *section,
			     uint32_t instruction);

#endif
