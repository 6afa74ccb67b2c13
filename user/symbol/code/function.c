/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of a file. All of its code is looked at when it is opened, as what a
 * function's return may meet depends on all that it calls; what is told of one function
 * is made when somebody asks for it.
 */
#include "symbol/code/function.h"
#include "arch/machine.h"
#include "symbol/elf/demangle.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "symbol/code/function_internal.h"

#define NOTES_MOST (1u << 20)

/* The build-id of a section of notes. */
static void take_build_id(struct clew_functions *functions, const uint8_t *notes, size_t size)
{
	for (size_t at = 0; size - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr note;
		size_t name = at + sizeof(note), data, end;

		memcpy(&note, notes + at, sizeof(note));
		data = name + ((size_t)note.n_namesz + 3) / 4 * 4;
		end = data + ((size_t)note.n_descsz + 3) / 4 * 4;
		if (end > size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU"))) {
			functions->build_id_size = note.n_descsz < CLEW_BUILD_ID_MOST
							   ? note.n_descsz
							   : CLEW_BUILD_ID_MOST;
			memcpy(functions->build_id, notes + data, functions->build_id_size);
			return;
		}
		at = end;
	}
}

static void read_build_id(struct clew_functions *functions)
{
	for (unsigned i = 0; i < functions->file.header.e_shnum; i++) {
		const Elf64_Shdr *section = &functions->file.sections[i];
		uint8_t *notes;

		if (section->sh_type != SHT_NOTE || section->sh_size > NOTES_MOST ||
		    functions->build_id_size)
			continue;
		if (elf_file_read(&functions->file, section->sh_offset, section->sh_size, &notes) <
		    0)
			continue;
		take_build_id(functions, notes, section->sh_size);
		free(notes);
	}
}

/* Says what kind of file it is, if it is not one that can be used. */
static int check_kind(int descriptor, const char *path, struct clew_message *message)
{
	Elf64_Ehdr header;
	ssize_t got = pread(descriptor, &header, sizeof(header), 0);

	if (got < 0)
		return clew_say(message, -errno, "%s: %s", path, strerror(errno));
	if ((size_t)got < sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG))
		return clew_say(message, -EBADMSG,
				"%s: is no ELF file: name a program or a library", path);
	if (header.e_ident[EI_CLASS] != ELFCLASS64)
		return clew_say(message, -ENOTSUP,
				"%s: is a program of 32 bits: only those of " CLEW_MACHINE_NAME
				" can be probed",
				path);
	if (header.e_machine != CLEW_MACHINE_ELF || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return clew_say(
			message, -ENOTSUP,
			"%s: is for another machine (%u): only programs of " CLEW_MACHINE_NAME
			" can be probed",
			path, header.e_machine);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return clew_say(message, -ENOTSUP,
				"%s: is no program and no library: link it first", path);
	return 0;
}

static int read_all(struct clew_functions *functions, const char *path)
{
	int r;

	read_build_id(functions);
	r = functions_read_names(functions, path);

	if (r >= 0)
		r = functions_read_code(functions);
	if (r >= 0)
		r = functions_make_ranges(functions);
	if (r >= 0)
		r = functions_read_pointers(functions);
	if (r >= 0)
		r = functions_scan(functions);
	if (r >= 0)
		r = functions_join_parts(functions);
	if (r >= 0)
		r = functions_follow_stacks(functions);
	if (r >= 0)
		r = functions_find_open(functions);
	functions->go = elf_file_section(&functions->file, ".go.buildinfo") ||
			elf_file_section(&functions->file, ".gopclntab");
	return r;
}

int clew_functions_open(int descriptor, const char *path,
			const struct clew_functions_options *options, struct clew_functions **ret,
			struct clew_message *message)
{
	struct clew_functions *functions;
	int r = check_kind(descriptor, path, message);

	*ret = NULL;
	if (r < 0)
		return r;
	functions = calloc(1, sizeof(*functions));
	if (!functions)
		return clew_say(message, -ENOMEM, "%s: no memory", path);
	if (options)
		memcpy(&functions->options, options,
		       options->size < sizeof(*options) ? options->size : sizeof(*options));
	r = elf_file_open(descriptor, &functions->file);
	if (r >= 0)
		r = read_all(functions, path);
	functions->file.descriptor = -1;
	if (r < 0) {
		clew_functions_close(functions);
		if (r == -EBADMSG)
			return clew_say(
				message, r,
				"%s: is damaged or cut off: its headers say more than it has",
				path);
		return clew_say(message, r, "%s: cannot read its functions: %s", path,
				strerror(-r));
	}
	*ret = functions;
	return 0;
}

void clew_functions_close(struct clew_functions *functions)
{
	if (!functions)
		return;
	for (size_t i = 0; i < functions->texts.count; i++)
		free(((char **)functions->texts.data)[i]);
	for (size_t i = 0; i < functions->segment_count; i++) {
		free(functions->segments[i].bytes);
		free(functions->segments[i].targets);
	}
	free(functions->segments);
	free(functions->pages);
	vector_done(&functions->texts);
	vector_done(&functions->names);
	vector_done(&functions->ranges);
	vector_done(&functions->flows);
	vector_done(&functions->pointers);
	arena_done(&functions->arena);
	elf_file_close(&functions->file);
	free(functions);
}

/* A function that can be asked for: a part that somebody calls is one, too. */
static bool is_function(const struct clew_functions *functions, const struct range *range)
{
	return range->kind == RANGE_NAMED ? ranges_of(functions) + range->owner == range
					  : range->kind == RANGE_COLD && range->called;
}

/* Texts of some of a range's names, each once. */
static int list_names(struct clew_functions *functions, const struct range *range, bool versions,
		      const char *const **ret, size_t *ret_count)
{
	const struct function_name *names = names_of(functions) + range->name;
	const char **list = arena_take(&functions->arena, range->name_count * sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < range->name_count; i++) {
		bool first = !strcmp(names[i].name, names[0].name);
		const char *text = versions ? names[i].version : names[i].name;
		size_t k = 0;

		if (first != versions || !text)
			continue;
		while (k < count && strcmp(list[k], text) != 0)
			k++;
		if (k == count)
			list[count++] = text;
	}
	*ret = list;
	*ret_count = count;
	return 0;
}

struct variants {
	struct clew_functions *functions;
	const char **list;
	size_t count, room;
};

static int add_variant(void *context, const struct range *range)
{
	struct variants *variants = context;

	if (range->kind == RANGE_NAMED && variants->count < variants->room)
		variants->list[variants->count++] = names_of(variants->functions)[range->name].name;
	return 0;
}

#define VARIANTS_MOST 32

static int list_variants(struct clew_functions *functions, const struct range *range,
			 struct clew_function_symbol *symbol)
{
	struct variants variants = {.functions = functions, .room = VARIANTS_MOST};
	int r;

	variants.list = arena_take(&functions->arena, VARIANTS_MOST * sizeof(*variants.list));
	if (!variants.list)
		return -ENOMEM;
	r = functions_walk_variants(functions, range, add_variant, &variants);
	symbol->variants = variants.list;
	symbol->variant_count = variants.count;
	return r;
}

static int set_demangled(struct clew_functions *functions, struct clew_function_symbol *symbol)
{
	char *text = symbol_demangle(symbol->name, true);

	if (!text)
		return 0;
	symbol->demangled = arena_copy(&functions->arena, text, strlen(text));
	free(text);
	return symbol->demangled ? 0 : -ENOMEM;
}

static int set_places(struct clew_functions *functions, const struct range *range,
		      struct clew_function_symbol *symbol)
{
	bool undecodable = false;

	for (const struct range *part = range;; part = &ranges_of(functions)[part->next_part]) {
		symbol->size += part->size;
		symbol->parts++;
		undecodable |= part->undecodable;
		if (part->next_part == NO_RANGE)
			break;
	}
	symbol->returns = CLEW_RETURN_NONE;
	symbol->why = "it cannot be probed";
	if (range->ifunc) {
		symbol->refused = "ifunc";
		return list_variants(functions, range, symbol);
	}
	symbol->refused = !range->size					  ? "no-range"
			  : undecodable					  ? "undecodable"
			  : functions->go && functions->options.arguments ? "go"
									  : NULL;
	return symbol->refused ? 0 : function_leave(functions, range, symbol);
}

static int make_symbol(struct clew_functions *functions, struct range *range)
{
	struct clew_function_symbol *symbol;
	int r;

	if (range->symbol)
		return 0;
	symbol = arena_take(&functions->arena, sizeof(*symbol));
	if (!symbol)
		return -ENOMEM;
	*symbol = (struct clew_function_symbol){
		.name = names_of(functions)[range->name].name,
		.address = range->start,
		.offset = range->start - range->segment->address + range->segment->offset,
		.closed = !range->open,
		.recursive = range->recursive,
	};
	r = set_demangled(functions, symbol);
	if (r >= 0)
		r = list_names(functions, range, true, &symbol->versions, &symbol->version_count);
	if (r >= 0)
		r = list_names(functions, range, false, &symbol->aliases, &symbol->alias_count);
	if (r >= 0)
		r = set_places(functions, range, symbol);
	if (r >= 0)
		range->symbol = symbol;
	return r;
}

static bool fits_demangled(const char *name, const char *glob, bool parameters)
{
	char *text = symbol_demangle(name, parameters);
	bool fits = text && !fnmatch(glob, text, 0);

	free(text);
	return fits;
}

static bool fits(const struct clew_functions *functions, const struct range *range,
		 const char *glob)
{
	const struct function_name *names = names_of(functions) + range->name;

	if (!glob)
		return true;
	for (uint32_t i = 0; i < range->name_count; i++)
		if (!fnmatch(glob, names[i].name, 0) ||
		    fits_demangled(names[i].name, glob, false) ||
		    fits_demangled(names[i].name, glob, true))
			return true;
	return false;
}

int clew_functions_find(struct clew_functions *functions, const char *glob,
			const struct clew_function_symbol *const **ret, size_t *ret_count)
{
	struct range *ranges = ranges_of(functions);
	struct vector found = {.item = sizeof(uint32_t)};
	const struct clew_function_symbol **list = NULL;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < functions->ranges.count; i++) {
		if (!is_function(functions, &ranges[i]) || !fits(functions, &ranges[i], glob))
			continue;
		r = vector_reserve(&found, found.count + 1);
		if (r < 0)
			break;
		((uint32_t *)found.data)[found.count++] = i;
		r = make_symbol(functions, &ranges[i]);
	}
	if (r >= 0)
		list = arena_take(&functions->arena, (found.count + 1) * sizeof(*list));
	if (r >= 0 && !list)
		r = -ENOMEM;
	for (size_t i = 0; r >= 0 && i < found.count; i++)
		list[i] = ranges[((uint32_t *)found.data)[i]].symbol;
	*ret = list;
	*ret_count = r < 0 ? 0 : found.count;
	vector_done(&found);
	return r;
}

const struct clew_function_symbol *clew_functions_at(struct clew_functions *functions,
						     uint64_t address)
{
	uint32_t number = functions_range_at(functions, address);
	struct range *range;

	if (number == NO_RANGE)
		return NULL;
	range = &ranges_of(functions)[ranges_of(functions)[number].owner];
	if (!is_function(functions, range) || make_symbol(functions, range) < 0)
		return NULL;
	return range->symbol;
}

int clew_functions_keep(struct clew_functions *functions, const struct clew_function_symbol *symbol,
			unsigned arguments, struct clew_function_symbol *ret)
{
	uint32_t number = functions_range_at(functions, symbol->address);
	unsigned kept = functions->options.arguments;
	int r;

	*ret = *symbol;
	if (number == NO_RANGE || ret->refused || arguments == kept)
		return 0;
	if (functions->go) {
		ret->refused = "go";
		return 0;
	}
	ret->exit_count = 0;
	functions->options.arguments = arguments;
	number = ranges_of(functions)[number].owner;
	r = function_leave(functions, &ranges_of(functions)[number], ret);
	functions->options.arguments = kept;
	return r;
}

/* The distance between two names, 0 the same. A name that has the word in it is like it. */
static unsigned unlike(const char *name, const char *word)
{
	size_t length = strlen(word);

	if (length > 2 && strstr(name, word))
		return 1;
	return word_distance(name, word);
}

const char *clew_functions_nearest(struct clew_functions *functions, const char *name)
{
	unsigned best = (unsigned)strlen(name) / 3 + 1;
	const char *nearest = NULL;

	for (size_t i = 0; i < functions->ranges.count; i++) {
		const struct range *range = &ranges_of(functions)[i];

		if (!is_function(functions, range))
			continue;
		for (uint32_t k = 0; k < range->name_count; k++) {
			const char *text = names_of(functions)[range->name + k].name;
			unsigned distance = unlike(text, name);

			if (distance < best ||
			    (distance == best && nearest && strlen(text) < strlen(nearest))) {
				best = distance;
				nearest = text;
			}
		}
	}
	return nearest;
}

void clew_functions_about(const struct clew_functions *functions, struct clew_functions_object *ret)
{
	*ret = (struct clew_functions_object){
		.stripped = functions->stripped,
		.debug_names = functions->debug_names,
		.go = functions->go,
		.build_id = functions->build_id_size ? functions->build_id : NULL,
		.build_id_size = functions->build_id_size,
	};
	for (size_t i = 0; i < functions->ranges.count; i++)
		ret->count += is_function(functions, &ranges_of(functions)[i]);
}

void clew_functions_stack(const struct clew_functions *functions, struct clew_functions_stack *ret)
{
	*ret = functions->stack;
}

const uint8_t *clew_functions_build_id(const struct clew_functions *functions, size_t *ret_size)
{
	*ret_size = functions->build_id_size;
	return functions->build_id_size ? functions->build_id : NULL;
}
