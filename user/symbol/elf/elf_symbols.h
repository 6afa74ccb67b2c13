/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The symbols of code, or of data, in an ELF file's tables. */
#ifndef CLEW_SYMBOL_ELF_ELF_SYMBOLS_H
#define CLEW_SYMBOL_ELF_ELF_SYMBOLS_H

#include <stdbool.h>

#include "symbol/elf/elf_file.h"

struct elf_symbol {
	const char *name;
	uint64_t address, size; /* as linked; bytes, 0 unknown */
	unsigned char binding;	/* STB_* */
	bool dynamic;		/* of .dynsym */
};

enum elf_symbol_kind {
	ELF_SYMBOL_CODE, /* functions */
	ELF_SYMBOL_DATA, /* variables that all threads share */
};

/*
 * Calls `found` for each symbol of a kind in .symtab and .dynsym that the file defines; texts live
 * as long as *ret_texts, which the caller frees with elf_symbols_done(). A negative return ends it
 * and is returned. 0 or -errno: -EFBIG for a table that is too large.
 */
struct elf_symbol_texts {
	char *texts[2];
};
int elf_symbols_walk(const struct elf_file *file, enum elf_symbol_kind kind,
		     struct elf_symbol_texts *ret_texts,
		     int (*found)(void *context, const struct elf_symbol *symbol), void *context);
/* The most symbols that a walk goes through, and the bytes of their texts. */
size_t elf_symbols_count(const struct elf_file *file, size_t *ret_texts);
void elf_symbols_done(struct elf_symbol_texts *texts);

#endif
