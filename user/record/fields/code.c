/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the object file of the kernel side. libbpf gives programs, but not what they call. */
#include "record/fields/code.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

/* The header of .BTF.ext, which no header of the system has. Offsets count from its end. */
struct extension {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t length;
	uint32_t function_at, function_size;
	uint32_t line_at, line_size;
	uint32_t access_at, access_size;
};

/* For each section these two follow, and the records. */
struct extension_section {
	uint32_t name;
	uint32_t count;
};

struct file {
	const uint8_t *bytes;
	size_t size;
	const Elf64_Shdr *headers;
	const char *names;
};

static const void *at(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset > file->size || size > file->size - offset ? NULL : file->bytes + offset;
}

static const void *contents(const struct file *file, const Elf64_Shdr *header)
{
	return header->sh_type == SHT_NOBITS ? NULL : at(file, header->sh_offset, header->sh_size);
}

static int open_sections(struct code *code, struct file *file)
{
	const Elf64_Ehdr *header = at(file, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_machine != EM_BPF)
		return -EINVAL;
	file->headers = at(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
	if (!file->headers || header->e_shstrndx >= header->e_shnum)
		return -EINVAL;
	file->names = contents(file, &file->headers[header->e_shstrndx]);
	code->sections = calloc(header->e_shnum, sizeof(*code->sections));
	code->section_count = header->e_shnum;
	if (!code->sections)
		return -ENOMEM;
	for (size_t i = 0; file->names && i < code->section_count; i++) {
		const Elf64_Shdr *of = &file->headers[i];
		struct code_section *section = &code->sections[i];

		section->name = file->names + of->sh_name;
		if (of->sh_type != SHT_PROGBITS || !(of->sh_flags & SHF_EXECINSTR))
			continue;
		section->instructions = contents(file, of);
		section->count = of->sh_size / sizeof(struct bpf_insn);
	}
	return file->names ? 0 : -EINVAL;
}

static void find_relocations(struct code *code, const struct file *file)
{
	for (size_t i = 0; i < code->section_count; i++) {
		const Elf64_Shdr *of = &file->headers[i];
		struct code_section *section;

		if (of->sh_type != SHT_REL || of->sh_info >= code->section_count)
			continue;
		section = &code->sections[of->sh_info];
		section->relocations = contents(file, of);
		section->relocation_count =
			section->relocations ? of->sh_size / sizeof(Elf64_Rel) : 0;
	}
}

static int find_functions(struct code *code, const struct file *file)
{
	const char *names = NULL;

	for (size_t i = 0; i < code->section_count; i++) {
		const Elf64_Shdr *of = &file->headers[i];

		if (of->sh_type != SHT_SYMTAB || of->sh_link >= code->section_count)
			continue;
		code->symbols = contents(file, of);
		code->symbol_count = code->symbols ? of->sh_size / sizeof(Elf64_Sym) : 0;
		names = contents(file, &file->headers[of->sh_link]);
	}
	code->functions = calloc(code->symbol_count + 1, sizeof(*code->functions));
	if (!code->functions)
		return -ENOMEM;
	for (size_t i = 0; names && i < code->symbol_count; i++) {
		const Elf64_Sym *symbol = &code->symbols[i];

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
		    symbol->st_shndx >= code->section_count)
			continue;
		code->functions[code->function_count++] = (struct code_function){
			.name = names + symbol->st_name,
			.section = symbol->st_shndx,
			.first = symbol->st_value / sizeof(struct bpf_insn),
			.count = symbol->st_size / sizeof(struct bpf_insn),
			.global = ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL &&
				  ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT};
	}
	return 0;
}

static struct code_section *section_named(struct code *code, const char *name)
{
	for (size_t i = 0; i < code->section_count; i++)
		if (!strcmp(code->sections[i].name, name))
			return &code->sections[i];
	return NULL;
}

/* Finds the accesses to the kernel's structures in .BTF.ext, and their strings in .BTF. */
static int find_accesses(struct code *code, const struct file *file)
{
	const struct code_section *own = section_named(code, ".BTF"),
				  *more = section_named(code, ".BTF.ext");
	const struct btf_header *types =
		own ? contents(file, &file->headers[own - code->sections]) : NULL;
	const struct extension *extension =
		more ? contents(file, &file->headers[more - code->sections]) : NULL;
	const uint8_t *next, *end;
	uint32_t record;

	if (!types || !extension || extension->length < sizeof(*extension))
		return -EINVAL;
	code->strings = (const char *)types + types->hdr_len + types->str_off;
	next = (const uint8_t *)extension + extension->length + extension->access_at;
	end = next + extension->access_size;
	if (end > file->bytes + file->size || extension->access_size < sizeof(record))
		return -EINVAL;
	memcpy(&record, next, sizeof(record));
	if (record != sizeof(struct bpf_core_relo))
		return -EINVAL;
	for (next += sizeof(record); next < end;) {
		const struct extension_section *of = (const void *)next;
		struct code_section *section = section_named(code, code->strings + of->name);

		next += sizeof(*of);
		if (of->count > (size_t)(end - next) / record)
			return -EINVAL;
		if (section) {
			section->accesses = (const void *)next;
			section->access_count = of->count;
		}
		next += (size_t)of->count * record;
	}
	return 0;
}

int code_open(struct code *ret_code, const void *file, size_t size)
{
	struct file whole = {.bytes = file, .size = size};
	int error;

	*ret_code = (struct code){};
	error = open_sections(ret_code, &whole);
	if (!error)
		error = find_functions(ret_code, &whole);
	if (!error)
		error = find_accesses(ret_code, &whole);
	if (error) {
		code_close(ret_code);
		return error;
	}
	find_relocations(ret_code, &whole);
	return 0;
}

void code_close(struct code *code)
{
	free(code->sections);
	free(code->functions);
	*code = (struct code){};
}

int code_function_named(const struct code *code, const char *name)
{
	for (size_t i = 0; i < code->function_count; i++)
		if (!strcmp(code->functions[i].name, name))
			return i;
	return -1;
}

int code_function_at(const struct code *code, uint32_t section, uint32_t instruction)
{
	for (size_t i = 0; i < code->function_count; i++)
		if (code->functions[i].section == section &&
		    code->functions[i].first == instruction)
			return i;
	return -1;
}

const struct bpf_core_relo *code_access(const struct code_section *section, uint32_t instruction)
{
	uint32_t offset = instruction * sizeof(struct bpf_insn);
	size_t low = 0, high = section->access_count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (section->accesses[middle].insn_off < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < section->access_count && section->accesses[low].insn_off == offset
		       ? &section->accesses[low]
		       : NULL;
}

const Elf64_Sym *code_symbol(const struct code *code, const struct code_section *section,
			     uint32_t instruction)
{
	uint64_t offset = instruction * sizeof(struct bpf_insn);
	size_t low = 0, high = section->relocation_count, middle, symbol;

	while (low < high) {
		middle = (low + high) / 2;
		if (section->relocations[middle].r_offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == section->relocation_count || section->relocations[low].r_offset != offset)
		return NULL;
	symbol = ELF64_R_SYM(section->relocations[low].r_info);
	return symbol < code->symbol_count ? &code->symbols[symbol] : NULL;
}
