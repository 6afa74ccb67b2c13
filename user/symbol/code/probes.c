/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes in an ELF file. Every number in the file is checked before it is used: any
 * process's mapping comes this way.
 *
 * A note's data: where the instruction is, where the linker put .stapsdt.base, where
 * the counter of listeners is (addresses), then provider, name, arguments as texts.
 */
#include "symbol/code/probes.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/registers.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/probe_symbols.h"

#define NOTES_MOST (16 << 20)
#define PROBE_NOTE 3

static const char *next_text(const char *text, const char *end)
{
	const char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	return nul ? nul + 1 : NULL;
}

static int take_note(struct probe_symbols *symbols, const char *data, size_t size, uint64_t base,
		     int (*found)(void *context, const struct clew_probe *probe), void *context)
{
	const char *end = data + size, *texts = data + 3 * sizeof(uint64_t);
	const struct elf_file *file = symbols->file;
	struct clew_probe probe = {.symbols = symbols};
	uint64_t places[3], moved;

	if (size < sizeof(places))
		return 0;
	memcpy(places, data, sizeof(places));
	/* The file may have been moved after it was linked, the note not. */
	moved = base && places[1] ? base - places[1] : 0;
	probe.provider = texts;
	probe.name = next_text(probe.provider, end);
	probe.arguments = probe.name ? next_text(probe.name, end) : NULL;
	if (!probe.arguments || !next_text(probe.arguments, end))
		return 0;
	probe.address = places[0] + moved;
	probe.offset = elf_file_offset(file, probe.address);
	probe.semaphore = places[2] ? elf_file_offset(file, places[2] + moved) : 0;
	return probe.offset ? found(context, &probe) : 0;
}

static int walk_notes(struct probe_symbols *symbols, const char *notes, size_t size, uint64_t base,
		      int (*found)(void *context, const struct clew_probe *probe), void *context)
{
	size_t at = 0;
	int r = 0;

	while (r >= 0 && size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, data;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		data = name + ((size_t)note.n_namesz + 3) / 4 * 4;
		at = data + ((size_t)note.n_descsz + 3) / 4 * 4;
		if (at > size || data > size)
			return 0;
		if (note.n_type == PROBE_NOTE && note.n_namesz == sizeof("stapsdt") &&
		    !memcmp(notes + name, "stapsdt", sizeof("stapsdt")))
			r = take_note(symbols, notes + data, note.n_descsz, base, found, context);
	}
	return r;
}

int clew_probes_read(int descriptor, int (*found)(void *context, const struct clew_probe *probe),
		     void *context)
{
	const Elf64_Shdr *section, *base;
	struct elf_file file;
	struct probe_symbols symbols = {.file = &file};
	char *notes = NULL;
	int r = elf_file_open(descriptor, &file);

	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	section = elf_file_section(&file, ".note.stapsdt");
	if (section && section->sh_size <= NOTES_MOST) {
		base = elf_file_section(&file, ".stapsdt.base");
		r = elf_file_read(&file, section->sh_offset, section->sh_size, &notes);
		if (r >= 0)
			r = walk_notes(&symbols, notes, section->sh_size, base ? base->sh_addr : 0,
				       found, context);
	}
	free(notes);
	probe_symbols_done(&symbols);
	elf_file_close(&file);
	return r == -EBADMSG ? 0 : r;
}

/* %REGISTER, or on arm64 REGISTER, up to a byte that no register's name has. Moves *at behind it.
 */
static bool take_register(const char **at, struct clew_operand *place)
{
	size_t length;
	int offset;

	*at += **at == '%';
	length = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789");
	offset = clew_register_offset(clew_register_find(*at, length));
	place->base = (uint16_t)offset;
	*at += length;
	return offset >= 0;
}

/* [+-]NUMBER or NAME, some of them. Moves *at behind them; *ret_name: the one that has no number,
 * NULL: all have. False: several have none. */
static bool take_sum(const char **at, uint64_t *ret_sum, const char **ret_name, size_t *ret_length)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";

	*ret_sum = 0;
	*ret_name = NULL;
	while (**at != '(' && **at != '\0' && **at != ' ') {
		const char *word = *at + (**at == '+');
		size_t length = strspn(word, letters);
		char *end;

		if (*word == '-' || (*word >= '0' && *word <= '9')) {
			*ret_sum += (uint64_t)strtoll(word, &end, 0);
			if (end == word)
				return false;
			*at = end;
		} else {
			if (*ret_name || !length)
				return false;
			*ret_name = word;
			*ret_length = length;
			*at = word + length;
		}
	}
	return true;
}

/* DISPLACEMENT(%REGISTER), or VARIABLE(%rip): that one is as far from the probe in each process as
 * in the file. */
static bool take_memory(const char **at, const struct clew_probe *probe, struct clew_operand *place)
{
	static const char relative[] = "(%rip)";
	uint64_t address, displacement;
	const char *name;
	size_t length;

	place->kind = CLEW_OPERAND_MEMORY;
	if (!take_sum(at, &displacement, &name, &length))
		return false;
	place->value = (int64_t)displacement;
	if (!name)
		return *(*at)++ == '(' && take_register(at, place) && *(*at)++ == ')';
	if (clew_register_instruction() < 0 || !probe->symbols ||
	    strncmp(*at, relative, sizeof(relative) - 1) != 0)
		return false;
	address = probe_symbols_find(probe->symbols, name, length);
	place->base = (uint16_t)clew_register_instruction();
	place->value = (int64_t)(address - probe->address + displacement);
	*at += sizeof(relative) - 1;
	return address != 0;
}

/* As arm64 writes it: [REGISTER] or [REGISTER, DISPLACEMENT]. */
static bool take_brackets(const char **at, struct clew_operand *place)
{
	char *end;

	place->kind = CLEW_OPERAND_MEMORY;
	if (*(*at)++ != '[' || !take_register(at, place))
		return false;
	if (**at == ',') {
		*at += 1 + strspn(*at + 1, " ");
		place->value = strtoll(*at, &end, 0);
		/* Another register is added there. */
		if (end == *at)
			return false;
		*at = end;
	}
	return *(*at)++ == ']';
}

static bool is_end(char byte)
{
	return byte == '\0' || byte == ' ';
}

/* CONSTANT or REGISTER, as arm64 writes them. */
static bool take_bare(const char **at, struct clew_operand *place)
{
	char *end;

	if (**at == '-' || (**at >= '0' && **at <= '9')) {
		place->kind = CLEW_OPERAND_CONSTANT;
		place->value = strtoll(*at, &end, 0);
		*at = end;
		return true;
	}
	place->kind = CLEW_OPERAND_REGISTER;
	return take_register(at, place);
}

/* $CONSTANT, %REGISTER, or in memory */
static bool take_place(const char *at, const struct clew_probe *probe, struct clew_operand *place)
{
	const char *bare = at;
	char *end;

	if (*at == '[')
		return take_brackets(&at, place) && is_end(*at);
	if (take_bare(&bare, place) && is_end(*bare))
		return true;
	place->value = 0;
	if (*at == '$') {
		place->kind = CLEW_OPERAND_CONSTANT;
		place->value = strtoll(at + 1, &end, 0);
		at = end;
	} else if (*at == '%') {
		place->kind = CLEW_OPERAND_REGISTER;
		if (!take_register(&at, place))
			return false;
	} else if (!take_memory(&at, probe, place)) {
		return false;
	}
	return is_end(*at);
}

/* The place behind an argument: one in brackets may have a blank. */
static const char *next_argument(const char *text)
{
	size_t length = strcspn(text, " [");

	if (text[length] == '[')
		length += strcspn(text + length, "]");
	length += strcspn(text + length, " ");
	return text + length + strspn(text + length, " ");
}

void clew_probe_arguments(const struct clew_probe *probe, struct clew_operand *ret_places,
			  size_t count)
{
	const char *text = probe->arguments;

	memset(ret_places, 0, count * sizeof(ret_places[0]));
	for (size_t i = 0; i < count && *text; i++) {
		struct clew_operand *place = &ret_places[i];
		char *end;
		long size = strtol(text, &end, 10);
		long bytes = size < 0 ? -size : size;

		place->is_signed = size < 0;
		place->shift =
			bytes == 1 || bytes == 2 || bytes == 4 ? (uint8_t)(64 - 8 * bytes) : 0;
		if (*end != '@' || (bytes != 8 && !place->shift) ||
		    !take_place(end + 1, probe, place))
			place->kind = CLEW_OPERAND_NONE;
		text = next_argument(text);
	}
}
