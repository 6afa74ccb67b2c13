/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads .symtab and .dynsym. Any process's file comes this way: see elf_file.c. */
#include "symbol/elf/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>

#define TABLE_MOST (256u << 20) /* bytes */

#define PART_MOST 4096 /* symbols that are in memory at a time */

static int check_table(const Elf64_Shdr *section)
{
	return section->sh_type == SHT_NOBITS || section->sh_size > TABLE_MOST ? -EFBIG : 0;
}

static bool is_of(enum elf_symbol_kind kind, unsigned type)
{
	return kind == ELF_SYMBOL_DATA ? type == STT_OBJECT
				       : type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* Symbols that are walked through, and for whom. */
struct walk {
	enum elf_symbol_kind kind;
	bool dynamic;
	const char *texts; /* with a NUL behind them */
	size_t texts_size;
	int (*found)(void *context, const struct elf_symbol *symbol);
	void *context;
};

static int walk_part(const struct walk *walk, const Elf64_Sym *symbols, size_t count)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		const Elf64_Sym *symbol = &symbols[i];
		struct elf_symbol one = {
			.address = symbol->st_value,
			.size = symbol->st_size,
			.binding = ELF64_ST_BIND(symbol->st_info),
			.dynamic = walk->dynamic,
		};

		if (!is_of(walk->kind, ELF64_ST_TYPE(symbol->st_info)) ||
		    symbol->st_shndx == SHN_UNDEF || symbol->st_name >= walk->texts_size)
			continue;
		one.name = walk->texts + symbol->st_name;
		r = walk->found(walk->context, &one);
	}
	return r;
}

static int walk_table(const struct elf_file *file, const Elf64_Shdr *section, struct walk *walk,
		      char **ret_texts)
{
	const Elf64_Shdr *link =
		section->sh_link < file->header.e_shnum ? &file->sections[section->sh_link] : NULL;
	size_t left = section->sh_size / sizeof(Elf64_Sym), count;
	uint64_t offset = section->sh_offset;
	int r = link ? check_table(section) : -EBADMSG;

	if (r >= 0)
		r = check_table(link);
	if (r >= 0)
		r = elf_file_read(file, link->sh_offset, link->sh_size, ret_texts);
	if (r < 0)
		return r;
	walk->dynamic = section->sh_type == SHT_DYNSYM;
	walk->texts = *ret_texts;
	walk->texts_size = link->sh_size;
	for (; r >= 0 && left; left -= count, offset += count * sizeof(Elf64_Sym)) {
		Elf64_Sym *symbols;

		count = left < PART_MOST ? left : PART_MOST;
		r = elf_file_read(file, offset, count * sizeof(*symbols), &symbols);
		if (r < 0)
			break;
		r = walk_part(walk, symbols, count);
		free(symbols);
	}
	return r;
}

static const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};

int elf_symbols_walk(const struct elf_file *file, enum elf_symbol_kind kind,
		     struct elf_symbol_texts *ret_texts,
		     int (*found)(void *context, const struct elf_symbol *symbol), void *context)
{
	struct walk walk = {.kind = kind, .found = found, .context = context};
	int r = 0;

	*ret_texts = (struct elf_symbol_texts){};
	for (size_t table = 0; table < 2; table++)
		for (unsigned i = 0; r >= 0 && i < file->header.e_shnum; i++)
			if (file->sections[i].sh_type == types[table] && !ret_texts->texts[table])
				r = walk_table(file, &file->sections[i], &walk,
					       &ret_texts->texts[table]);
	if (r < 0)
		elf_symbols_done(ret_texts);
	return r;
}

size_t elf_symbols_count(const struct elf_file *file, size_t *ret_texts)
{
	size_t count = 0;

	*ret_texts = 0;
	for (unsigned i = 0; i < file->header.e_shnum; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if ((section->sh_type != types[0] && section->sh_type != types[1]) ||
		    section->sh_link >= file->header.e_shnum || check_table(section) < 0 ||
		    check_table(&file->sections[section->sh_link]) < 0)
			continue;
		count += section->sh_size / sizeof(Elf64_Sym);
		*ret_texts += file->sections[section->sh_link].sh_size;
	}
	return count;
}

void elf_symbols_done(struct elf_symbol_texts *texts)
{
	for (size_t table = 0; table < 2; table++)
		free(texts->texts[table]);
	*texts = (struct elf_symbol_texts){};
}
