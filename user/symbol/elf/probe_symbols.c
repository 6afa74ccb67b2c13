/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Variables by name. */
#include "symbol/elf/probe_symbols.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
	const struct elf_symbol *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int take_variable(void *context, const struct elf_symbol *symbol)
{
	struct vector *variables = context;
	int r = vector_reserve(variables, variables->count + 1);

	if (r >= 0)
		((struct elf_symbol *)variables->data)[variables->count++] = *symbol;
	return r;
}

static void read_variables(struct probe_symbols *symbols)
{
	struct vector *variables = &symbols->variables;

	symbols->read = true;
	variables->item = sizeof(struct elf_symbol);
	if (elf_symbols_walk(symbols->file, ELF_SYMBOL_DATA, &symbols->texts, take_variable,
			     variables) < 0)
		variables->count = 0;
	if (variables->count > 1)
		qsort(variables->data, variables->count, sizeof(struct elf_symbol), compare_names);
}

/* As strcmp() of the symbol's name and `name`, which is no string. */
static int compare_to(const struct elf_symbol *symbol, const char *name, size_t length)
{
	int order = strncmp(symbol->name, name, length);

	return order ? order : symbol->name[length] != '\0';
}

uint64_t probe_symbols_find(struct probe_symbols *symbols, const char *name, size_t length)
{
	const struct elf_symbol *list;
	size_t low = 0, high;
	uint64_t address = 0;

	if (!symbols->read)
		read_variables(symbols);
	list = symbols->variables.data;
	high = symbols->variables.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_to(&list[middle], name, length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* Variables that are local to their source files may share a name. */
	for (; low < symbols->variables.count && !compare_to(&list[low], name, length); low++) {
		if (address && list[low].address != address)
			return 0;
		address = list[low].address;
	}
	return address;
}

void probe_symbols_done(struct probe_symbols *symbols)
{
	vector_done(&symbols->variables);
	elf_symbols_done(&symbols->texts);
}
