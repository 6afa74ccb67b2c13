/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of losses, and of the tables themselves. */
#include "tables/internal.h"

enum { LOSS_ID, LOSS_CPU, LOSS_START, LOSS_END, LOSS_COUNT };

static const struct table_column loss_columns[] = {
	[LOSS_ID] = {"id", TABLE_INTEGER, "number of the loss"},
	[LOSS_CPU] = {"cpu", TABLE_INTEGER, "the CPU whose records were lost"},
	[LOSS_START] = {"start", TABLE_INTEGER, "the last record before it"},
	[LOSS_END] = {"end", TABLE_INTEGER, "the first record after it"},
	[LOSS_COUNT] = {"records", TABLE_INTEGER, "how many; NULL unknown"},
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

static int loss_value(struct table_cursor *cursor, unsigned column, struct table_value *value)
{
	const struct clew_gap *gap = &clew_trace_info(cursor->source->trace)->gaps[cursor->item];

	switch (column) {
	case LOSS_ID:
		set_number(value, cursor->item);
		break;
	case LOSS_CPU:
		set_number(value, gap->header.cpu);
		break;
	case LOSS_START:
		set_number(value, gap->from);
		break;
	case LOSS_END:
		set_number(value, gap->header.time);
		break;
	case LOSS_COUNT:
		set_known(value, gap->count, CLEW_GAP_UNCOUNTED);
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

static const struct table_column table_columns_of_tables[] = {
	[TABLE_ID] = {"id", TABLE_INTEGER, "number of the table"},
	[TABLE_NAME] = {"name", TABLE_TEXT, "its name"},
	[TABLE_MEANING] = {"meaning", TABLE_TEXT, "its rows"},
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
				 struct table_value *value)
{
	const struct table *table = tables[cursor->item];

	if (column == TABLE_ID)
		set_number(value, cursor->item);
	else
		set_string(value, column == TABLE_NAME ? table->name : table->meaning);
	return 0;
}

const struct table table_tables = {.name = "clew_tables",
				   .meaning = "the tables",
				   .columns = table_columns_of_tables,
				   .count = count_tables,
				   .parts = one_part,
				   .value = table_of_tables_value};

enum { COLUMN_TABLE, COLUMN_TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLUMN_MEANING };

static const struct table_column column_columns[] = {
	[COLUMN_TABLE] = {"table_id", TABLE_INTEGER, "the table, clew_tables.id"},
	[COLUMN_TABLE_NAME] = {"table_name", TABLE_TEXT, "its name"},
	[COLUMN_NAME] = {"name", TABLE_TEXT, "name of the column"},
	[COLUMN_TYPE] = {"type", TABLE_TEXT, "integer or text"},
	[COLUMN_MEANING] = {"meaning", TABLE_TEXT, "its values"},
	{},
};

static size_t column_parts(const struct table_source *source, size_t item)
{
	(void)source;
	return table_column_count(tables[item]);
}

static int column_value(struct table_cursor *cursor, unsigned column, struct table_value *value)
{
	const struct table *table = tables[cursor->item];
	const struct table_column *it = &table->columns[cursor->part];

	switch (column) {
	case COLUMN_TABLE:
		set_number(value, cursor->item);
		break;
	case COLUMN_TABLE_NAME:
		set_string(value, table->name);
		break;
	case COLUMN_NAME:
		set_string(value, it->name);
		break;
	case COLUMN_TYPE:
		set_string(value, it->type == TABLE_INTEGER ? "integer" : "text");
		break;
	case COLUMN_MEANING:
		set_string(value, it->meaning);
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
