/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packs rows into tables: 4 bytes a row, as a file has few different rules, and an index of its
 * pages, so that a search is among a page's rows only.
 */
#include "symbol/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

#define PAGE_BYTES (1ull << CLEW_UNWIND_PAGE_BITS)
#define RULES_MOST (1u << CLEW_UNWIND_RULE_BITS)
#define PAGES_MOST (1u << 20) /* 4 GiB of a file */
#define ROW(offset, rule)                                                                          \
	((uint32_t)((offset) & (PAGE_BYTES - 1)) << CLEW_UNWIND_RULE_BITS | (uint32_t)(rule))

#define NO_RULE CLEW_UNWIND_RULE(CLEW_UNWIND_NONE, 0, 0, 0)

static int add_rule(struct clew_unwind_table *table, uint32_t rule, struct map *numbers)
{
	if (map_get(numbers, rule, 0))
		return 0;
	if (table->rule_count == RULES_MOST)
		return -EFBIG;
	if (map_set(numbers, rule, 0, table->rule_count))
		return -ENOMEM;
	table->rules[table->rule_count++] = rule;
	return 0;
}

/* Numbers the different rules of a file in the order in which its rows have them, behind "none". */
static int make_rules(const struct clew_unwind_row *rows, size_t count,
		      struct clew_unwind_table *table, struct map *numbers)
{
	size_t most = count < RULES_MOST ? count + 1 : RULES_MOST;
	int r;

	table->rules = malloc(most * sizeof(*table->rules));
	if (!table->rules)
		return -ENOMEM;
	r = add_rule(table, NO_RULE, numbers);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = add_rule(table, rows[i].rule, numbers);
	return r;
}

/* Fills the pages. Each begins with the rule that the page before ended with, unless a row is
 * there; no rule holds in the first page up to the first row. */
static void fill_pages(const struct clew_unwind_row *rows, size_t count, const struct map *numbers,
		       struct clew_unwind_table *table)
{
	uint64_t rule = *map_get(numbers, NO_RULE, 0);
	size_t next = 0;

	for (size_t i = 0; i < table->page_count; i++) {
		uint64_t start = (table->first_page + i) * PAGE_BYTES;
		struct clew_unwind_page *page = &table->pages[i];

		page->first = (uint32_t)table->row_count;
		if (!i || next == count || rows[next].offset != start)
			table->rows[table->row_count++] = ROW(0, rule);
		for (; next < count && rows[next].offset - start < PAGE_BYTES; next++) {
			rule = *map_get(numbers, rows[next].rule, 0);
			table->rows[table->row_count++] = ROW(rows[next].offset, rule);
		}
		page->count = (uint32_t)table->row_count - page->first;
	}
}

int clew_unwind_table_make(const struct clew_unwind_row *rows, size_t count,
			   struct clew_unwind_table *ret_table)
{
	struct map numbers = {};
	uint64_t pages;
	int r;

	*ret_table = (struct clew_unwind_table){};
	if (!count)
		return 0;
	ret_table->first_page = rows[0].offset >> CLEW_UNWIND_PAGE_BITS;
	pages = (rows[count - 1].offset >> CLEW_UNWIND_PAGE_BITS) - ret_table->first_page + 1;
	r = pages > PAGES_MOST ? -EFBIG : make_rules(rows, count, ret_table, &numbers);
	if (r >= 0) {
		ret_table->page_count = pages;
		ret_table->pages = calloc(pages, sizeof(*ret_table->pages));
		ret_table->rows = malloc((count + 1 + pages) * sizeof(*ret_table->rows));
		r = ret_table->pages && ret_table->rows ? 0 : -ENOMEM;
	}
	if (r >= 0)
		fill_pages(rows, count, &numbers, ret_table);
	else
		clew_unwind_table_done(ret_table);
	map_done(&numbers);
	return r;
}

void clew_unwind_table_done(struct clew_unwind_table *table)
{
	free(table->pages);
	free(table->rules);
	free(table->rows);
	*table = (struct clew_unwind_table){};
}

uint32_t clew_unwind_table_rule(const struct clew_unwind_table *table, uint64_t offset)
{
	uint64_t number = offset >> CLEW_UNWIND_PAGE_BITS;
	const struct clew_unwind_page *page;
	uint32_t low, count;

	if (number < table->first_page || number - table->first_page >= table->page_count)
		return CLEW_UNWIND_RULE(CLEW_UNWIND_NONE, 0, 0, 0);
	page = &table->pages[number - table->first_page];
	/* The last row at or before the offset. */
	for (low = page->first, count = page->count; count > 1;) {
		uint32_t half = count / 2;

		if (table->rows[low + half] >> CLEW_UNWIND_RULE_BITS <= (offset & (PAGE_BYTES - 1)))
			low += half;
		count -= half;
	}
	return table->rules[table->rows[low] & (RULES_MOST - 1)];
}
