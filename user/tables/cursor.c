/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Goes over the rows of any table, in the order of its items. */
#include <stdlib.h>

#include "tables/tables.h"

void table_source_done(struct table_source *source)
{
	free(source->operations);
}

/* Goes on to the next item that has rows. */
static void find_item(struct table_cursor *cursor, const struct table *table)
{
	for (; cursor->item < cursor->until; cursor->item++) {
		cursor->part = 0;
		cursor->of = table->parts(cursor->source, cursor->item);
		if (cursor->of)
			return;
	}
}

static void go_on(struct table_cursor *cursor, const struct table *table)
{
	if (++cursor->part < cursor->of)
		return;
	cursor->item++;
	find_item(cursor, table);
}

/* Skips rows that are left out. */
static void settle(struct table_cursor *cursor, const struct table *table)
{
	while (!table_cursor_ended(cursor) && table->wanted && !table->wanted(cursor))
		go_on(cursor, table);
}

void table_cursor_begin(struct table_cursor *cursor, const struct table *table,
			struct table_source *source, size_t first, size_t last)
{
	size_t count = table->count(source);

	cursor->source = source;
	cursor->item = first;
	cursor->until = last < count ? last + 1 : count;
	find_item(cursor, table);
	settle(cursor, table);
}

bool table_cursor_ended(const struct table_cursor *cursor)
{
	return cursor->item >= cursor->until;
}

void table_cursor_next(struct table_cursor *cursor, const struct table *table)
{
	go_on(cursor, table);
	settle(cursor, table);
}

int table_cursor_value(struct table_cursor *cursor, const struct table *table, unsigned column,
		       struct table_value *ret_value)
{
	*ret_value = (struct table_value){};
	return table->value(cursor, column, ret_value);
}

void table_cursor_done(struct table_cursor *cursor)
{
	free(cursor->text);
	*cursor = (struct table_cursor){};
}

unsigned table_column_count(const struct table *table)
{
	unsigned count = 0;

	while (table->columns[count].name)
		count++;
	return count;
}
