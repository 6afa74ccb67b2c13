/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions or variables by where they lie: those with a name and a size, then the functions that
 * .eh_frame describes. If one has several names, the one is taken that people know: a global one
 * before a weak one before a local one, then the one with the fewest underscores in front, then
 * the first one in the alphabet.
 */
#include "symbol/elf/names.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "symbol/elf/eh_frame.h"
#include "symbol/elf/elf_symbols.h"

#define SECTION_MOST (256u << 20) /* bytes */
#define PAGE	     UINT64_C(4096)
#define BOUNDS_BYTES 24 /* of .eh_frame for a function, at least */
#define NESTED_MOST  64 /* symbols that are looked at for one place */

struct symbol {
	uint64_t start, end; /* as linked */
	const char *name;
	unsigned char rank; /* the lowest is taken */
	unsigned char from; /* enum clew_symbol_from */
};

struct clew_names {
	struct elf_file file;
	struct elf_symbol_texts texts;
	struct vector symbols; /* struct symbol, by start */
};

static int add(struct clew_names *names, struct symbol symbol)
{
	int r = vector_reserve(&names->symbols, names->symbols.count + 1);

	if (r >= 0)
		((struct symbol *)names->symbols.data)[names->symbols.count++] = symbol;
	return r;
}

static int add_symbol(void *context, const struct elf_symbol *symbol)
{
	unsigned leading = (unsigned)strspn(symbol->name, "_");
	unsigned underscores = leading < 15 ? leading : 15;
	unsigned local = symbol->binding != STB_GLOBAL && symbol->binding != STB_WEAK;
	unsigned weak = symbol->binding == STB_WEAK;

	if (!symbol->size || symbol->address + symbol->size < symbol->address)
		return 0;
	return add(context,
		   (struct symbol){
			   .start = symbol->address,
			   .end = symbol->address + symbol->size,
			   .name = symbol->name,
			   .rank = (unsigned char)(local * 64 + underscores * 4 + weak * 2 +
						   symbol->dynamic),
			   .from = symbol->dynamic ? CLEW_SYMBOL_DYNAMIC : CLEW_SYMBOL_TABLE,
		   });
}

static int add_bounds(void *context, uint64_t start, uint64_t size)
{
	if (start + size < start)
		return 0;
	return add(context, (struct symbol){.start = start,
					    .end = start + size,
					    .name = "",
					    .rank = UINT8_MAX,
					    .from = CLEW_SYMBOL_BOUNDS});
}

static int read_bounds(struct clew_names *names)
{
	const Elf64_Shdr *section = elf_file_section(&names->file, ".eh_frame");
	uint8_t *bytes;
	int r;

	if (!section || section->sh_type == SHT_NOBITS || section->sh_size > SECTION_MOST)
		return 0;
	r = elf_file_read(&names->file, section->sh_offset, section->sh_size, &bytes);
	if (r < 0)
		return r;
	r = eh_frame_walk(bytes, section->sh_size, section->sh_addr, add_bounds, names);
	free(bytes);
	return r;
}

/* The better of two names of one function comes first: fwrite before _IO_fwrite, free before
 * cfree. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;
	size_t left_length, right_length;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	left_length = strlen(left->name);
	right_length = strlen(right->name);
	if (left_length != right_length)
		return left_length < right_length ? -1 : 1;
	return strcmp(left->name, right->name);
}

static int names_open(int descriptor, enum elf_symbol_kind kind, struct clew_names **ret_names)
{
	struct clew_names *names = calloc(1, sizeof(*names));
	int r = names ? elf_file_open(descriptor, &names->file) : -ENOMEM;

	*ret_names = NULL;
	if (r < 0) {
		free(names);
		return r;
	}
	names->symbols.item = sizeof(struct symbol);
	r = elf_symbols_walk(&names->file, kind, &names->texts, add_symbol, names);
	if (r >= 0 && kind == ELF_SYMBOL_CODE)
		r = read_bounds(names);
	if (r < 0) {
		clew_names_close(names);
		return r;
	}
	if (names->symbols.count > 1)
		qsort(names->symbols.data, names->symbols.count, sizeof(struct symbol),
		      compare_symbols);
	*ret_names = names;
	return 0;
}

int clew_names_open(int descriptor, struct clew_names **ret_names)
{
	return names_open(descriptor, ELF_SYMBOL_CODE, ret_names);
}

int clew_names_open_data(int descriptor, struct clew_names **ret_names)
{
	return names_open(descriptor, ELF_SYMBOL_DATA, ret_names);
}

void clew_names_close(struct clew_names *names)
{
	if (!names)
		return;
	vector_done(&names->symbols);
	elf_symbols_done(&names->texts);
	elf_file_close(&names->file);
	free(names);
}

size_t clew_names_memory(const struct clew_names *names)
{
	size_t bytes;

	if (!names)
		return 0;
	bytes = sizeof(*names) + names->symbols.capacity * names->symbols.item;
	for (unsigned i = 0; i < sizeof(names->texts.texts) / sizeof(names->texts.texts[0]); i++)
		bytes += malloc_usable_size(names->texts.texts[i]);
	return bytes;
}

size_t clew_names_needs(int descriptor)
{
	const Elf64_Shdr *bounds;
	size_t count, texts;
	struct elf_file file;

	if (elf_file_open(descriptor, &file) < 0)
		return 0;
	count = elf_symbols_count(&file, &texts);
	bounds = elf_file_section(&file, ".eh_frame");
	if (bounds && bounds->sh_type != SHT_NOBITS && bounds->sh_size <= SECTION_MOST) {
		count += bounds->sh_size / BOUNDS_BYTES;
		texts += bounds->sh_size;
	}
	elf_file_close(&file);
	/* The sort takes as much again. */
	return texts + 2 * count * sizeof(struct symbol);
}

/* The address, as linked, of an offset in the file. */
static bool address_of(const struct clew_names *names, uint64_t offset, uint64_t *ret_bias)
{
	for (unsigned i = 0; i < names->file.header.e_phnum; i++) {
		const Elf64_Phdr *program = &names->file.programs[i];

		if (program->p_type == PT_LOAD && (program->p_flags & PF_X) &&
		    offset >= program->p_offset && offset - program->p_offset < program->p_filesz) {
			*ret_bias = program->p_vaddr - program->p_offset;
			return true;
		}
	}
	return false;
}

/* The one that begins last and has the address: a symbol may lie within another's range. NULL:
 * none has it. */
static const struct symbol *symbol_at(const struct clew_names *names, uint64_t address)
{
	const struct symbol *symbols = names->symbols.data, *best = NULL;
	size_t low = 0, high = names->symbols.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, looked = 0; i-- > 0 && looked < NESTED_MOST; looked++) {
		if (best && symbols[i].start != best->start && best->from != CLEW_SYMBOL_BOUNDS)
			break;
		if (symbols[i].end > address &&
		    (!best || symbols[i].start == best->start || symbols[i].rank < best->rank))
			best = &symbols[i];
	}
	return best;
}

bool clew_names_find(const struct clew_names *names, uint64_t offset, struct clew_named *ret_named)
{
	const struct symbol *best;
	uint64_t bias;

	if (!address_of(names, offset, &bias))
		return false;
	best = symbol_at(names, offset + bias);
	if (!best)
		return false;
	*ret_named = (struct clew_named){
		.name = best->name,
		.start = best->start - bias,
		.size = best->end - best->start,
		.from = best->from,
	};
	return true;
}

bool clew_names_bias(const struct clew_names *names, uint64_t start, uint64_t offset,
		     uint64_t *ret_bias)
{
	for (unsigned i = 0; i < names->file.header.e_phnum; i++) {
		const Elf64_Phdr *program = &names->file.programs[i];

		if (program->p_type == PT_LOAD && (program->p_offset & -PAGE) == offset) {
			*ret_bias = start - (program->p_vaddr & -PAGE);
			return true;
		}
	}
	return false;
}

bool clew_names_find_data(const struct clew_names *names, uint64_t address,
			  struct clew_named *ret_named)
{
	const struct symbol *best = symbol_at(names, address);
	bool is_data = false;

	for (unsigned i = 0; i < names->file.header.e_phnum; i++) {
		const Elf64_Phdr *program = &names->file.programs[i];

		is_data |= program->p_type == PT_LOAD && (program->p_flags & PF_W) &&
			   address >= program->p_vaddr &&
			   address - program->p_vaddr < program->p_memsz;
	}
	*ret_named = (struct clew_named){.name = "", .start = 0};
	if (best)
		*ret_named = (struct clew_named){.name = best->name,
						 .start = best->start,
						 .size = best->end - best->start,
						 .from = best->from};
	return is_data;
}

bool clew_names_find_code(const struct clew_names *names, uint64_t address,
			  struct clew_named *ret_named)
{
	const struct symbol *best = symbol_at(names, address);

	if (!best || !best->name[0])
		return false;
	*ret_named = (struct clew_named){.name = best->name,
					 .start = best->start,
					 .size = best->end - best->start,
					 .from = best->from};
	return true;
}

size_t clew_build_id(int descriptor, uint8_t ret_id[CLEW_BUILD_ID_BYTES])
{
	const Elf64_Shdr *section;
	struct elf_file file;
	Elf64_Nhdr *note = NULL;
	size_t size = 0, name;

	if (elf_file_open(descriptor, &file) < 0)
		return 0;
	section = elf_file_section(&file, ".note.gnu.build-id");
	if (section && section->sh_size >= sizeof(*note) && section->sh_size < 4096 &&
	    elf_file_read(&file, section->sh_offset, section->sh_size, &note) >= 0) {
		name = (note->n_namesz + 3u) & ~3u;
		size = note->n_descsz < CLEW_BUILD_ID_BYTES ? note->n_descsz : CLEW_BUILD_ID_BYTES;
		if (name > section->sh_size || sizeof(*note) + name + size > section->sh_size)
			size = 0;
		memcpy(ret_id, (const uint8_t *)(note + 1) + (size ? name : 0), size);
	}
	free(note);
	elf_file_close(&file);
	return size;
}

bool clew_code_bias(int descriptor, uint64_t *ret_bias)
{
	struct elf_file file;
	bool found;

	if (elf_file_open(descriptor, &file) < 0)
		return false;
	found = elf_file_bias(&file, ret_bias);
	elf_file_close(&file);
	return found;
}
