/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of kernel addresses: /proc/kallsyms, sorted by address, searched by halves. */
#include "symbol/elf/kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
	uint64_t address;
	size_t name; /* offset in names */
};

struct clew_kernel_symbols {
	struct symbol *symbols;
	size_t count;
	char *names;
	bool sorted; /* as the kernel lists its own symbols, but not those of modules */
};

static int by_address(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* "ffffffff81000000 T _stext\t[module]": the name, and its address. NULL: it is no such line. */
static const char *split_line(char *line, uint64_t *ret_address)
{
	char *rest, *name;

	*ret_address = strtoull(line, &rest, 16);
	if (rest == line || rest[0] != ' ' || !rest[1] || rest[2] != ' ')
		return NULL;
	name = rest + 3;
	name[strcspn(name, " \t\n")] = 0;
	return *name ? name : NULL;
}

static int read_symbols(FILE *file, struct clew_kernel_symbols *table)
{
	size_t room = 0, names_room = 0, names_size = 0, line_room = 0;
	char *line = NULL;
	int error = 0;

	while (!error && getline(&line, &line_room, file) > 0) {
		uint64_t address;
		const char *name = split_line(line, &address);
		size_t length;

		if (!name || !address)
			continue;
		length = strlen(name) + 1;
		if (table->count == room) {
			struct symbol *larger = reallocarray(
				table->symbols, room = room ? room * 2 : 65536, sizeof(*larger));

			error = larger ? 0 : -ENOMEM;
			table->symbols = larger ? larger : table->symbols;
		}
		if (names_size + length > names_room) {
			char *larger = realloc(table->names,
					       names_room = names_room ? names_room * 2 : 1 << 20);

			error = larger ? error : -ENOMEM;
			table->names = larger ? larger : table->names;
		}
		if (error)
			break;
		table->sorted &=
			!table->count || address >= table->symbols[table->count - 1].address;
		memcpy(table->names + names_size, name, length);
		table->symbols[table->count++] =
			(struct symbol){.address = address, .name = names_size};
		names_size += length;
	}
	free(line);
	return error;
}

int clew_kernel_symbols_load(struct clew_kernel_symbols **ret_symbols)
{
	struct clew_kernel_symbols *table = calloc(1, sizeof(*table));
	FILE *file = fopen("/proc/kallsyms", "re");
	int error = table && file ? 0 : -errno;

	if (!error) {
		table->sorted = true;
		error = read_symbols(file, table);
	}
	if (!error && !table->count)
		error = -EPERM;
	if (file)
		fclose(file);
	if (error) {
		clew_kernel_symbols_free(table);
		return error;
	}
	if (!table->sorted)
		qsort(table->symbols, table->count, sizeof(*table->symbols), by_address);
	*ret_symbols = table;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct clew_kernel_place *left = a, *right = b;

	return strcmp(left->name, right->name);
}

void clew_kernel_symbols_find(const struct clew_kernel_symbols *table,
			      struct clew_kernel_place *places, size_t count)
{
	qsort(places, count, sizeof(*places), by_name);
	for (size_t i = 0; i < table->count; i++) {
		const struct clew_kernel_place key = {.name = table->names +
							      table->symbols[i].name};
		struct clew_kernel_place *place =
			bsearch(&key, places, count, sizeof(*places), by_name);
		size_t after = i;

		if (!place || place->start)
			continue;
		place->start = table->symbols[i].address;
		while (after < table->count && table->symbols[after].address == place->start)
			after++;
		place->end =
			after < table->count ? table->symbols[after].address : place->start + 1;
	}
}

/* The last symbol at or before an address; NULL: there is none. */
static const struct symbol *symbol_at(const struct clew_kernel_symbols *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &table->symbols[low - 1] : NULL;
}

int clew_kernel_symbol_only(const struct clew_kernel_symbols *table, const char *name,
			    uint64_t *ret_start)
{
	*ret_start = 0;
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->names + table->symbols[i].name, name) != 0)
			continue;
		if (*ret_start && *ret_start != table->symbols[i].address)
			return -EEXIST;
		*ret_start = table->symbols[i].address;
	}
	return *ret_start ? 0 : -ENOENT;
}

const char *clew_kernel_symbol_at(const struct clew_kernel_symbols *table, uint64_t address)
{
	const struct symbol *symbol = symbol_at(table, address);

	return symbol ? table->names + symbol->name : NULL;
}

uint64_t clew_kernel_symbol_start(const struct clew_kernel_symbols *table, uint64_t address)
{
	const struct symbol *symbol = symbol_at(table, address);

	return symbol ? symbol->address : 0;
}

void clew_kernel_symbols_free(struct clew_kernel_symbols *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->names);
	free(table);
}
