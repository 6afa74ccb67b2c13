/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of functions, from .symtab and .dynsym. A name may carry its version: in
 * .symtab behind an '@', in .dynsym in tables beside it. A stripped file has those of its debug
 * file, if that is installed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code/function_internal.h"
#include "symbol/elf/debug_file.h"

#define TABLE_MOST    (256u << 20) /* bytes of a table */
#define VERSIONS_MOST 4096

/* Strings of a table, and the versions of its names. */
struct symbol_table {
	const char *texts;
	size_t texts_size;
	const uint16_t *versions; /* one a symbol, NULL: none */
	size_t version_count;
	const char *version_names[VERSIONS_MOST];
};

/* GCC's and LLVM's names for parts of functions that lie elsewhere. */
static bool is_cold(const char *name)
{
	return strstr(name, ".cold") || strstr(name, ".__part.");
}

static int read_section(const struct clew_functions *functions, const Elf64_Shdr *section,
			void *ret_bytes)
{
	if (section->sh_type == SHT_NOBITS || section->sh_size > TABLE_MOST)
		return -EFBIG;
	return elf_file_read(&functions->file, section->sh_offset, section->sh_size, ret_bytes);
}

/* The strings that a section refers to. They live as long as the functions. */
static int read_texts(struct clew_functions *functions, const Elf64_Shdr *section,
		      const char **ret_texts, size_t *ret_size)
{
	const Elf64_Shdr *link;
	char *texts;
	int r;

	if (section->sh_link >= functions->file.header.e_shnum)
		return -EBADMSG;
	link = &functions->file.sections[section->sh_link];
	r = vector_reserve(&functions->texts, functions->texts.count + 1);
	if (r >= 0)
		r = read_section(functions, link, &texts);
	if (r < 0)
		return r;
	((char **)functions->texts.data)[functions->texts.count++] = texts;
	*ret_texts = texts;
	*ret_size = link->sh_size;
	return 0;
}

/* Names of the versions that the file defines, by their numbers. */
static int read_version_names(struct clew_functions *functions, struct symbol_table *table)
{
	const Elf64_Shdr *section = elf_file_section(&functions->file, ".gnu.version_d");
	const char *texts;
	uint8_t *bytes;
	size_t texts_size;
	int r = section ? read_texts(functions, section, &texts, &texts_size) : -ENOENT;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = read_section(functions, section, &bytes);
	if (r < 0)
		return r;
	for (size_t at = 0; section->sh_size - at >= sizeof(Elf64_Verdef);) {
		Elf64_Verdef version;
		Elf64_Verdaux name;

		memcpy(&version, bytes + at, sizeof(version));
		if (version.vd_aux > section->sh_size - at ||
		    section->sh_size - at - version.vd_aux < sizeof(name))
			break;
		memcpy(&name, bytes + at + version.vd_aux, sizeof(name));
		/* The first is the file's own name. */
		if (version.vd_ndx > VER_NDX_GLOBAL && version.vd_ndx < VERSIONS_MOST &&
		    name.vda_name < texts_size)
			table->version_names[version.vd_ndx] = texts + name.vda_name;
		if (!version.vd_next || version.vd_next > section->sh_size - at)
			break;
		at += version.vd_next;
	}
	free(bytes);
	return 0;
}

static int read_versions(struct clew_functions *functions, struct symbol_table *table,
			 uint16_t **ret_numbers)
{
	const Elf64_Shdr *section = elf_file_section(&functions->file, ".gnu.version");
	int r = section ? read_section(functions, section, ret_numbers) : -ENOENT;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	table->versions = *ret_numbers;
	table->version_count = section->sh_size / sizeof(uint16_t);
	return read_version_names(functions, table);
}

static const char *version_of(const struct symbol_table *table, size_t symbol)
{
	unsigned number = symbol < table->version_count ? table->versions[symbol] & 0x7fff : 0;

	return number < VERSIONS_MOST ? table->version_names[number] : NULL;
}

/* "name@@VERSION" of .symtab. */
static int split_version(struct clew_functions *functions, struct function_name *name)
{
	const char *at = strchr(name->name, '@');

	if (!at || at == name->name)
		return 0;
	name->version = at + strspn(at, "@");
	name->name = arena_copy(&functions->arena, name->name, (size_t)(at - name->name));
	return name->name ? 0 : -ENOMEM;
}

static int add_name(struct clew_functions *functions, const struct symbol_table *table,
		    const Elf64_Sym *symbol, size_t number, uint32_t file)
{
	const char *text = table->texts + symbol->st_name;
	int r = vector_reserve(&functions->names, functions->names.count + 1);
	struct function_name *name;

	if (r < 0)
		return r;
	name = (struct function_name *)functions->names.data + functions->names.count++;
	*name = (struct function_name){
		.address = symbol->st_value,
		.size = symbol->st_size,
		.name = text,
		.version = version_of(table, number),
		.file = file,
		.binding = ELF64_ST_BIND(symbol->st_info),
		.ifunc = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
		.cold = is_cold(text),
	};
	return split_version(functions, name);
}

static int add_names(struct clew_functions *functions, const struct symbol_table *table,
		     const Elf64_Sym *symbols, size_t count)
{
	uint32_t files = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		const Elf64_Sym *symbol = &symbols[i];
		unsigned type = ELF64_ST_TYPE(symbol->st_info);

		files += type == STT_FILE;
		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
		    symbol->st_name < table->texts_size && table->texts[symbol->st_name])
			r = add_name(functions, table, symbol, i,
				     ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ? files : 0);
	}
	return r;
}

static int read_table(struct clew_functions *functions, const Elf64_Shdr *section)
{
	struct symbol_table *table = calloc(1, sizeof(*table));
	Elf64_Sym *symbols = NULL;
	uint16_t *versions = NULL;
	int r = table ? read_texts(functions, section, &table->texts, &table->texts_size) : -ENOMEM;

	if (r >= 0)
		r = read_section(functions, section, &symbols);
	if (r >= 0 && section->sh_type == SHT_DYNSYM)
		r = read_versions(functions, table, &versions);
	if (r >= 0)
		r = add_names(functions, table, symbols, section->sh_size / sizeof(*symbols));
	free(symbols);
	free(versions);
	free(table);
	return r;
}

static unsigned underscores(const struct function_name *name)
{
	/* The first underscore of a mangled name belongs to the mangling. */
	return strncmp(name->name, "_Z", 2) && strncmp(name->name, "_R", 2)
		       ? (unsigned)strspn(name->name, "_")
		       : 0;
}

static unsigned binding_order(const struct function_name *name)
{
	return name->binding == STB_LOCAL ? 2 : name->binding == STB_WEAK ? 1 : 0;
}

/* By address; of one address the name that people know first. */
static int compare_names(const void *a, const void *b)
{
	const struct function_name *left = a, *right = b;
	size_t left_length, right_length;
	int order;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (left->cold != right->cold)
		return left->cold - right->cold;
	if (underscores(left) != underscores(right))
		return (int)underscores(left) - (int)underscores(right);
	if (binding_order(left) != binding_order(right))
		return (int)binding_order(left) - (int)binding_order(right);
	left_length = strlen(left->name);
	right_length = strlen(right->name);
	if (left_length != right_length)
		return left_length < right_length ? -1 : 1;
	order = strcmp(left->name, right->name);
	if (order)
		return order;
	return strcmp(left->version ? left->version : "", right->version ? right->version : "");
}

/* Reads the tables of one kind, or both, of the file at hand. */
static int read_tables(struct clew_functions *functions, bool dynamic)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < functions->file.header.e_shnum; i++) {
		const Elf64_Shdr *section = &functions->file.sections[i];

		if (section->sh_type == SHT_SYMTAB)
			functions->stripped = false;
		if (section->sh_type == SHT_SYMTAB || (dynamic && section->sh_type == SHT_DYNSYM))
			r = read_table(functions, section);
	}
	return r;
}

/* Names that only the installed debug file has, which is one of the same build-id. */
static int read_debug_names(struct clew_functions *functions, const char *path)
{
	const struct elf_file own = functions->file;
	struct debug_file debug;
	size_t before = functions->names.count;
	int r = debug_file_open(own.descriptor, path, functions->build_id, functions->build_id_size,
				NULL, &debug, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (debug.main.descriptor >= 0 &&
	    elf_file_open(debug.main.descriptor, &functions->file) >= 0) {
		r = read_tables(functions, false);
		elf_file_close(&functions->file);
		functions->stripped = true;
		functions->debug_names = functions->names.count > before;
	}
	functions->file = own;
	debug_file_close(&debug);
	return r == -ENOMEM ? r : 0;
}

int functions_read_names(struct clew_functions *functions, const char *path)
{
	int r;

	functions->names.item = sizeof(struct function_name);
	functions->texts.item = sizeof(char *);
	functions->stripped = true;
	r = read_tables(functions, true);
	if (r >= 0 && functions->stripped && functions->build_id_size)
		r = read_debug_names(functions, path);
	if (functions->names.count > 1)
		qsort(functions->names.data, functions->names.count, sizeof(struct function_name),
		      compare_names);
	return r;
}
