/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of losses, and of the tables themselves. */
#include "tables/internal.h"

enum { LOSS_ID, LOSS_CPU, LOSS_START, LOSS_END, LOSS_COUNT };

static const struct clew_column loss_columns[] = {
	[LOSS_ID] = CLEW_INTEGER("id", "number of the loss"),
	[LOSS_CPU] = CLEW_INTEGER("cpu", "the CPU whose records were lost"),
	[LOSS_START] = CLEW_INTEGER("start", "the last record before it"),
	[LOSS_END] = CLEW_INTEGER("end", "the first record after it"),
	[LOSS_COUNT] = CLEW_INTEGER("records", "how many; NULL unknown"),
	{},
};

static size_t loss_count(struct table_source *source)
{
	const struct clew_capture_info *info = clew_trace_info(source->trace);

	return info ? info->gap_count : 0;
}

static size_t loss_parts(const struct table_source *source, size_t item)
{
	const struct clew_gap *gap = &clew_trace_info(source->trace)->gaps[item];

	return gap->from <= source->to && gap->header.time >= source->from;
}

static int loss_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct clew_gap *gap = &clew_trace_info(cursor->source->trace)->gaps[cursor->item];

	switch (column) {
	case LOSS_ID:
		clew_set_number(value, cursor->item);
		break;
	case LOSS_CPU:
		clew_set_number(value, gap->header.cpu);
		break;
	case LOSS_START:
		clew_set_number(value, gap->from);
		break;
	case LOSS_END:
		clew_set_number(value, gap->header.time);
		break;
	case LOSS_COUNT:
		clew_set_known(value, gap->count, CLEW_GAP_UNCOUNTED);
		break;
	}
	return 0;
}

const struct table table_losses = {.name = "losses",
				   .meaning = "times in which records were lost",
				   .columns = loss_columns,
				   .count = loss_count,
				   .parts = loss_parts,
				   .value = loss_value};

/* ---- the tables themselves ---- */

enum { TABLE_ID, TABLE_NAME, TABLE_MEANING };

static const struct clew_column table_columns_of_tables[] = {
	[TABLE_ID] = CLEW_INTEGER("id", "number of the table"),
	[TABLE_NAME] = CLEW_TEXT("name", "its name"),
	[TABLE_MEANING] = CLEW_TEXT("meaning", "its rows"),
	{},
};

static size_t count_tables(struct table_source *source)
{
	size_t count = 0;

	(void)source;
	while (tables[count])
		count++;
	return count;
}

static size_t one_part(const struct table_source *source, size_t item)
{
	(void)source;
	(void)item;
	return 1;
}

static int table_of_tables_value(struct table_cursor *cursor, unsigned column,
				 struct clew_cell *value)
{
	const struct table *table = tables[cursor->item];

	if (column == TABLE_ID)
		clew_set_number(value, cursor->item);
	else
		clew_set_string(value, column == TABLE_NAME ? table->name : table->meaning);
	return 0;
}

const struct table table_tables = {.name = "clew_tables",
				   .meaning = "the tables",
				   .columns = table_columns_of_tables,
				   .count = count_tables,
				   .parts = one_part,
				   .value = table_of_tables_value};

enum { COLUMN_TABLE, COLUMN_TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_MEANING };

static const struct clew_column column_columns[] = {
	[COLUMN_TABLE] = CLEW_INTEGER("table_id", "the table, clew_tables.id"),
	[COLUMN_TABLE_NAME] = CLEW_TEXT("table_name", "its name"),
	[COLUMN_NAME] = CLEW_TEXT("name", "name of the column"),
	[COLUMN_TYPE] = CLEW_TEXT("type", "integer or text"),
	[COLUMN_MEANING] = CLEW_TEXT("meaning", "its values"),
	{},
};

static size_t column_parts(const struct table_source *source, size_t item)
{
	(void)source;
	return table_column_count(tables[item]);
}

static int column_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table *table = tables[cursor->item];
	const struct clew_column *it = table_column(table, (unsigned)cursor->part);

	switch (column) {
	case COLUMN_TABLE:
		clew_set_number(value, cursor->item);
		break;
	case COLUMN_TABLE_NAME:
		clew_set_string(value, table->name);
		break;
	case COLUMN_NAME:
		clew_set_string(value, it->name);
		break;
	case COLUMN_TYPE:
		clew_set_string(value, it->type == CLEW_COLUMN_INTEGER ? "integer" : "text");
		break;
	case COLUMN_MEANING:
		clew_set_string(value, it->meaning);
		break;
	}
	return 0;
}

const struct table table_columns = {.name = "clew_columns",
				    .meaning = "their columns",
				    .columns = column_columns,
				    .count = count_tables,
				    .parts = column_parts,
				    .value = column_value};
