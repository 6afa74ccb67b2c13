/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace as comma-separated values: a file for each table of `clew sql`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"
#include "format/csv.h"
#include "tables/tables.h"

static int write_rows(FILE *out, const struct table *table, struct table_source *source,
		      bool spreadsheet)
{
	unsigned columns = table_column_count(table);
	struct table_cursor cursor = {};
	int r = 0;

	for (unsigned i = 0; i < columns; i++) {
		fputs(i ? "," : "", out);
		clew_csv_field(out, table_column(table, i)->name, spreadsheet);
	}
	fputs("\r\n", out);
	for (table_cursor_begin(&cursor, table, source, 0, SIZE_MAX);
	     !table_cursor_ended(&cursor) && r >= 0; table_cursor_next(&cursor, table)) {
		for (unsigned i = 0; i < columns && r >= 0; i++) {
			struct clew_cell value;

			r = table_cursor_value(&cursor, table, i, &value);
			fputs(i ? "," : "", out);
			if (value.kind == CLEW_CELL_NUMBER)
				fprintf(out, "%" PRId64, value.number);
			else if (value.kind == CLEW_CELL_STRING)
				clew_csv_field(out, value.string, spreadsheet);
		}
		fputs("\r\n", out);
	}
	table_cursor_done(&cursor);
	return r < 0 ? r : source->error;
}

static int write_table(const struct clew_export *export, const struct table *table,
		       struct table_source *source)
{
	char *path;
	FILE *out;
	int r;

	if (asprintf(&path, "%s/%s.csv", export->folder, table->name) < 0)
		return -ENOMEM;
	out = fopen(path, "we");
	free(path);
	if (!out)
		return -errno;
	r = write_rows(out, table, source, export->spreadsheet);
	errno = 0;
	if ((ferror(out) | fclose(out)) && r >= 0)
		r = -(errno ?: EIO);
	return r;
}

int clew_export_csv(const struct clew_export *export)
{
	struct table_source source = {.trace = export->trace,
				      .chosen = {export->wanted, export->context},
				      .from = export->from,
				      .to = export->to};
	unsigned count = 0;
	int r = 0;

	while (tables[count])
		count++;
	for (unsigned i = 0; i < count && r >= 0; i++) {
		r = write_table(export, tables[i], &source);
		export->progress(export->progress_context, (double)(i + 1) / count);
	}
	table_source_done(&source);
	return r;
}
