/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of code that a program made while it ran. */
#include "symbol/elf/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define LOOKED_MOST 4096 /* lines that are looked at for an address */

struct piece {
	uint64_t start, size;
	uint32_t name; /* offset in the text */
	uint32_t line;
};

struct clew_perf_map {
	struct vector pieces; /* struct piece, by start */
	uint64_t longest;     /* bytes */
	char *text;	      /* each name ends with a zero */
};

/* Reads a number in hexadecimal and the blanks behind it. NULL: there is none. */
static const char *read_number(const char *text, uint64_t *ret_number)
{
	const char *at = text[0] == '0' && (text[1] | 0x20) == 'x' ? text + 2 : text;
	const char *first = at;
	char *end;

	if (!strspn(at, "0123456789abcdefABCDEF"))
		return NULL;
	errno = 0;
	*ret_number = strtoull(first, &end, 16);
	if (errno || (*end != ' ' && *end != '\t'))
		return NULL;
	return end + strspn(end, " \t");
}

/* Takes a line that ends with a zero. 0 or -ENOMEM. */
static int take_line(struct clew_perf_map *map, char *line)
{
	uint64_t start, size;
	const char *name = read_number(line, &start);

	name = name ? read_number(name, &size) : NULL;
	if (!name || !*name || !size || start + size < start || name - map->text > UINT32_MAX)
		return 0;
	if (vector_reserve(&map->pieces, map->pieces.count + 1) < 0)
		return -ENOMEM;
	((struct piece *)map->pieces.data)[map->pieces.count] =
		(struct piece){.start = start,
			       .size = size,
			       .name = (uint32_t)(name - map->text),
			       .line = (uint32_t)map->pieces.count};
	map->pieces.count++;
	map->longest = size > map->longest ? size : map->longest;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->line < right->line ? -1 : left->line > right->line;
}

int clew_perf_map_read(const char *text, size_t size, struct clew_perf_map **ret_map)
{
	struct clew_perf_map *map = calloc(1, sizeof(*map));
	char *line, *end;
	int r = 0;

	if (map)
		map->text = malloc(size + 1);
	if (!map || !map->text) {
		free(map);
		return -ENOMEM;
	}
	memcpy(map->text, text, size);
	map->text[size] = '\0';
	map->pieces.item = sizeof(struct piece);
	for (line = map->text; r >= 0; line = end + 1) {
		end = memchr(line, '\n', size - (size_t)(line - map->text));
		if (!end)
			break;
		*(end > line && end[-1] == '\r' ? end - 1 : end) = '\0';
		r = take_line(map, line);
	}
	if (r < 0) {
		clew_perf_map_free(map);
		return r;
	}
	if (map->pieces.count)
		qsort(map->pieces.data, map->pieces.count, map->pieces.item, by_start);
	*ret_map = map;
	return 0;
}

bool clew_perf_map_find(const struct clew_perf_map *map, uint64_t address,
			struct clew_named *ret_named)
{
	const struct piece *pieces = map->pieces.data, *found = NULL;
	size_t low = 0, high = map->pieces.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pieces[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t looked = 0; low-- > 0 && address - pieces[low].start < map->longest; looked++) {
		if (looked == LOOKED_MOST)
			return false;
		if (address - pieces[low].start >= pieces[low].size)
			continue;
		if (found && strcmp(map->text + found->name, map->text + pieces[low].name) != 0)
			return false;
		if (!found || pieces[low].line > found->line)
			found = &pieces[low];
	}
	if (!found)
		return false;
	*ret_named = (struct clew_named){.name = map->text + found->name,
					 .start = found->start,
					 .size = found->size,
					 .from = CLEW_SYMBOL_JIT};
	return true;
}

void clew_perf_map_free(struct clew_perf_map *map)
{
	if (!map)
		return;
	vector_done(&map->pieces);
	free(map->text);
	free(map);
}
