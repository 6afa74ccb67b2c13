/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Members of structures, by libdw, and versions, by the file's own tables.
 */
#include "symbol/elf/member.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/debug_file.h"
#include "symbol/elf/elf_file.h"

/* The member's offset, or -ENOENT. */
static int find_member(Dwarf_Die *type, const char *member, uint64_t *ret_offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	Dwarf_Die die;

	if (dwarf_child(type, &die) != 0)
		return -ENOENT;
	do {
		const char *name = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;

		if (name && !strcmp(name, member) &&
		    dwarf_attr(&die, DW_AT_data_member_location, &attribute) &&
		    dwarf_formudata(&attribute, &offset) == 0) {
			*ret_offset = offset;
			return 0;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return -ENOENT;
}

static int find_type(Dwarf *dwarf, const char *type, const char *member, uint64_t *ret_offset)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, die;
	uint8_t kind;

	while (dwarf_get_units(dwarf, unit, &unit, NULL, &kind, &top, NULL) == 0) {
		if (dwarf_child(&top, &die) != 0)
			continue;
		do {
			const char *name = dwarf_tag(&die) == DW_TAG_structure_type
						   ? dwarf_diename(&die)
						   : NULL;

			if (name && !strcmp(name, type) &&
			    find_member(&die, member, ret_offset) == 0)
				return 0;
		} while (dwarf_siblingof(&die, &die) == 0);
	}
	return -ENOENT;
}

int clew_member_offset(int descriptor, const char *path, const uint8_t *build_id,
		       size_t build_id_size, const char *type, const char *member,
		       uint64_t *ret_offset)
{
	struct debug_file file;
	int r = debug_file_open(descriptor, path, build_id, build_id_size, NULL, &file, NULL);

	if (r < 0)
		return r;
	r = find_type(file.main.dwarf, type, member, ret_offset);
	if (r < 0 && file.shared.dwarf)
		r = find_type(file.shared.dwarf, type, member, ret_offset);
	debug_file_close(&file);
	return r;
}

/* ---- versions ---- */

#define SECTION_MOST (1u << 20)

/* Reads a section's bytes, with a NUL behind them. NULL: it has none. */
static char *read_section(const struct elf_file *file, const Elf64_Shdr *section)
{
	char *bytes;

	if (!section || section->sh_type == SHT_NOBITS || !section->sh_size ||
	    section->sh_size > SECTION_MOST ||
	    elf_file_read(file, section->sh_offset, section->sh_size, &bytes) < 0)
		return NULL;
	return bytes;
}

/* Go's linker writes its version behind a head of 32 bytes, with its length before it. */
static bool go_version(const struct elf_file *file, char *ret, size_t size)
{
	const Elf64_Shdr *section = elf_file_section(file, ".go.buildinfo");
	char *bytes = read_section(file, section);
	size_t length = 0;

	if (bytes && section->sh_size > 33 && bytes[15] & 2) {
		length = (unsigned char)bytes[32];
		if (length >= 128 || length >= size || 33 + length > section->sh_size)
			length = 0;
		memcpy(ret, bytes + 33, length);
		ret[length] = '\0';
	}
	free(bytes);
	return length > 0;
}

/* The highest version behind the last '_' of the names of definitions. */
static bool symbol_version(const struct elf_file *file, char *ret, size_t size)
{
	const Elf64_Shdr *section = elf_file_section(file, ".gnu.version_d"),
			 *link = section && section->sh_link < file->header.e_shnum
					 ? &file->sections[section->sh_link]
					 : NULL;
	char *definitions = read_section(file, section), *names = read_section(file, link);

	*ret = '\0';
	for (size_t at = 0;
	     definitions && names && at + sizeof(Elf64_Verdef) <= section->sh_size;) {
		Elf64_Verdef definition;
		Elf64_Verdaux name;
		const char *version;

		memcpy(&definition, definitions + at, sizeof(definition));
		if (at + definition.vd_aux + sizeof(name) > section->sh_size)
			break;
		memcpy(&name, definitions + at + definition.vd_aux, sizeof(name));
		version =
			name.vda_name < link->sh_size ? strrchr(names + name.vda_name, '_') : NULL;
		if (version && version[1] >= '0' && version[1] <= '9' &&
		    strlen(version + 1) < size && strverscmp(version + 1, ret) > 0)
			strcpy(ret, version + 1);
		if (!definition.vd_next)
			break;
		at += definition.vd_next;
	}
	free(definitions);
	free(names);
	return *ret;
}

int clew_file_version(int descriptor, char *ret_version, size_t size)
{
	struct elf_file file;
	bool found;

	if (elf_file_open(descriptor, &file) < 0)
		return -ENOENT;
	found = go_version(&file, ret_version, size) || symbol_version(&file, ret_version, size);
	elf_file_close(&file);
	return found ? 0 : -ENOENT;
}
