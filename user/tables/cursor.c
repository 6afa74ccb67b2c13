/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Goes over the rows of any table, in the order of its items. */
#include <stdlib.h>

#include "tables/tables.h"

void table_source_done(struct table_source *source)
{
	clew_classes_done(&source->operations);
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
		       struct clew_cell *ret_value)
{
	struct clew_row row;
	int r;

	*ret_value = (struct clew_cell){};
	if (table->value)
		return table->value(cursor, column, ret_value);
	row = (struct clew_row){.trace = cursor->source->trace,
				.item = table->item(cursor->source, cursor->item),
				.number = cursor->item,
				.text = cursor->text};
	r = table_column(table, column)->value(&row, ret_value);
	cursor->text = row.text;
	return r;
}

void table_cursor_done(struct table_cursor *cursor)
{
	free(cursor->text);
	*cursor = (struct table_cursor){};
}

const struct clew_column *table_column(const struct table *table, unsigned number)
{
	const struct clew_column *column = table->columns;

	for (; column->name; column++)
		if (column->meaning && !number--)
			return column;
	return NULL;
}

unsigned table_column_count(const struct table *table)
{
	unsigned count = 0;

	for (const struct clew_column *column = table->columns; column->name; column++)
		count += column->meaning != NULL;
	return count;
}
