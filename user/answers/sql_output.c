/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rows of a query as text, CSV or JSON. Text has columns as wide as the first rows need; the
 * others are printed as they come.
 */
#include "answers/sql_output.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "format/csv.h"
#include "format/json.h"
#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"

#define MEASURED_ROWS 500
#define MOST_WIDTH    60 /* columns of the screen that alignment may take */

/* ---- text ---- */

struct table_text {
	sqlite3_stmt *statement;
	int columns;
	size_t *widths;
	bool *numbers;
	char **cells; /* of the rows that are measured */
	size_t rows;
};

/* The value of a column, safe to print; to be freed. */
static char *cell_of(sqlite3_stmt *statement, int column)
{
	return clew_safe((const char *)sqlite3_column_text(statement, column) ?: "");
}

static void print_cell(const struct table_text *table, int column, const char *text)
{
	size_t width = clew_columns(text, strlen(text)), wanted = table->widths[column];
	int blanks = width < wanted ? (int)(wanted - width) : 0;
	bool last = column + 1 == table->columns;

	if (column)
		fputs("  ", stdout);
	if (table->numbers[column])
		printf("%*s%s", blanks, "", text);
	else
		printf("%s%*s", text, last ? 0 : blanks, "");
}

static void print_heading(const struct table_text *table)
{
	fputs(clew_style_begin(CLEW_STYLE_HEADING), stdout);
	for (int i = 0; i < table->columns; i++)
		print_cell(table, i, sqlite3_column_name(table->statement, i));
	printf("%s\n", clew_style_end(CLEW_STYLE_HEADING));
}

static void measure(struct table_text *table, int column, const char *text)
{
	size_t width = clew_columns(text, strlen(text));

	if (width > MOST_WIDTH)
		width = MOST_WIDTH;
	if (width > table->widths[column])
		table->widths[column] = width;
}

/* Keeps the first rows. */
static int take_rows(struct table_text *table)
{
	int r = SQLITE_ROW;

	for (int i = 0; i < table->columns; i++)
		measure(table, i, sqlite3_column_name(table->statement, i));
	for (; table->rows < MEASURED_ROWS && (r = sqlite3_step(table->statement)) == SQLITE_ROW;
	     table->rows++)
		for (int i = 0; i < table->columns; i++) {
			int type = sqlite3_column_type(table->statement, i);
			char *text = cell_of(table->statement, i);

			if (!text)
				return SQLITE_NOMEM;
			table->cells[table->rows * (size_t)table->columns + (size_t)i] = text;
			measure(table, i, text);
			table->numbers[i] |= type == SQLITE_INTEGER || type == SQLITE_FLOAT;
		}
	return r;
}

static int print_rows(struct table_text *table)
{
	int r = take_rows(table);

	if (r != SQLITE_ROW && r != SQLITE_DONE)
		return r;
	print_heading(table);
	for (size_t row = 0; row < table->rows; row++) {
		for (int i = 0; i < table->columns; i++)
			print_cell(table, i,
				   table->cells[row * (size_t)table->columns + (size_t)i]);
		putchar('\n');
	}
	while (r == SQLITE_ROW && (r = sqlite3_step(table->statement)) == SQLITE_ROW) {
		for (int i = 0; i < table->columns; i++) {
			char *text = cell_of(table->statement, i);

			print_cell(table, i, text ?: "");
			free(text);
		}
		putchar('\n');
	}
	return r;
}

static int print_text(sqlite3_stmt *statement, int columns)
{
	size_t count = (size_t)columns;
	struct table_text table = {
		.statement = statement,
		.columns = columns,
		.widths = calloc(count + 1, sizeof(*table.widths)),
		.numbers = calloc(count + 1, sizeof(*table.numbers)),
		.cells = calloc(MEASURED_ROWS * count + 1, sizeof(*table.cells)),
	};
	int r = table.widths && table.numbers && table.cells ? print_rows(&table) : SQLITE_NOMEM;

	for (size_t i = 0; table.cells && i < MEASURED_ROWS * count; i++)
		free(table.cells[i]);
	free(table.cells);
	free(table.widths);
	free(table.numbers);
	return r;
}

/* ---- CSV ---- */

static int print_csv(sqlite3_stmt *statement, int columns, bool spreadsheet)
{
	int r;

	for (int i = 0; i < columns; i++) {
		fputs(i ? "," : "", stdout);
		clew_csv_field(stdout, sqlite3_column_name(statement, i), spreadsheet);
	}
	fputs("\r\n", stdout);
	while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < columns; i++) {
			fputs(i ? "," : "", stdout);
			clew_csv_field(
				stdout, (const char *)sqlite3_column_text(statement, i) ?: "",
				spreadsheet && sqlite3_column_type(statement, i) == SQLITE_TEXT);
		}
		fputs("\r\n", stdout);
	}
	return r;
}

/* ---- JSON ---- */

static void print_value(struct clew_json *json, sqlite3_stmt *statement, int column)
{
	const char *key = sqlite3_column_name(statement, column);

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		clew_json_null(json, key);
		break;
	case SQLITE_INTEGER:
		clew_json_signed(json, key, sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		clew_json_number(json, key, sqlite3_column_double(statement, column));
		break;
	default:
		clew_json_string(json, key, (const char *)sqlite3_column_text(statement, column));
		break;
	}
}

static int print_json(sqlite3_stmt *statement, int columns)
{
	struct clew_json json = {.out = stdout};
	int r;

	clew_json_answer(&json);
	clew_json_array(&json, "columns");
	for (int i = 0; i < columns; i++)
		clew_json_string(&json, NULL, sqlite3_column_name(statement, i));
	clew_json_array_end(&json);
	clew_json_array(&json, "rows");
	while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
		clew_json_object(&json, NULL);
		for (int i = 0; i < columns; i++)
			print_value(&json, statement, i);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_object_end(&json);
	clew_json_end(&json);
	return r;
}

int sql_print(sqlite3_stmt *statement, enum sql_form form)
{
	int columns = sqlite3_column_count(statement);

	switch (form) {
	case SQL_CSV:
	case SQL_SPREADSHEET:
		return print_csv(statement, columns, form == SQL_SPREADSHEET);
	case SQL_JSON:
		return print_json(statement, columns);
	default:
		return print_text(statement, columns);
	}
}
