/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads .symtab and .dynsym. Any process's file comes this way: see elf_file.c. */
#include "symbol/elf/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>

#define TABLE_MOST (256u << 20) /* bytes */

static int read_table(const struct elf_file *file, const Elf64_Shdr *section, void *ret_table)
{
	return section->sh_type == SHT_NOBITS || section->sh_size > TABLE_MOST
		       ? -EFBIG
		       : elf_file_read(file, section->sh_offset, section->sh_size, ret_table);
}

static bool is_of(enum elf_symbol_kind kind, unsigned type)
{
	return kind == ELF_SYMBOL_DATA ? type == STT_OBJECT
				       : type == STT_FUNC || type == STT_GNU_IFUNC;
}

static int walk_table(const struct elf_file *file, const Elf64_Shdr *section,
		      enum elf_symbol_kind kind, char **ret_texts,
		      int (*found)(void *context, const struct elf_symbol *symbol), void *context)
{
	const Elf64_Shdr *link =
		section->sh_link < file->header.e_shnum ? &file->sections[section->sh_link] : NULL;
	Elf64_Sym *symbols = NULL;
	int r = link ? read_table(file, section, &symbols) : -EBADMSG;

	if (r >= 0)
		r = read_table(file, link, ret_texts);
	for (size_t i = 0; r >= 0 && i < section->sh_size / sizeof(*symbols); i++) {
		const Elf64_Sym *symbol = &symbols[i];
		struct elf_symbol one = {
			.address = symbol->st_value,
			.size = symbol->st_size,
			.binding = ELF64_ST_BIND(symbol->st_info),
			.dynamic = section->sh_type == SHT_DYNSYM,
		};

		if (!is_of(kind, ELF64_ST_TYPE(symbol->st_info)) || symbol->st_shndx == SHN_UNDEF ||
		    symbol->st_name >= link->sh_size)
			continue;
		/* There is a NUL behind the texts. */
		one.name = *ret_texts + symbol->st_name;
		r = found(context, &one);
	}
	free(symbols);
	return r;
}

int elf_symbols_walk(const struct elf_file *file, enum elf_symbol_kind kind,
		     struct elf_symbol_texts *ret_texts,
		     int (*found)(void *context, const struct elf_symbol *symbol), void *context)
{
	static const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};
	int r = 0;

	*ret_texts = (struct elf_symbol_texts){};
	for (size_t table = 0; table < 2; table++)
		for (unsigned i = 0; r >= 0 && i < file->header.e_shnum; i++)
			if (file->sections[i].sh_type == types[table] && !ret_texts->texts[table])
				r = walk_table(file, &file->sections[i], kind,
					       &ret_texts->texts[table], found, context);
	if (r < 0)
		elf_symbols_done(ret_texts);
	return r;
}

void elf_symbols_done(struct elf_symbol_texts *texts)
{
	for (size_t table = 0; table < 2; table++)
		free(texts->texts[table]);
	*texts = (struct elf_symbol_texts){};
}
