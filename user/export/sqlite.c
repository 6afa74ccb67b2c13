/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as an SQLite database: the tables of `clew sql`, copied. SQLite writes to the stream's
 * file itself, which must be a regular one.
 */
#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/export.h"
#include "tables/virtual.h"

#define PREFIX "clew_source_" /* of the virtual tables */

static int error_of(int result)
{
	switch (result) {
	case SQLITE_OK:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

/* Copies a table: its declaration, its rows, and an index for its first column. */
static int copy_table(sqlite3 *database, const struct table *table)
{
	char *text =
		sqlite3_mprintf("CREATE TABLE \"%w\" AS SELECT * FROM \"" PREFIX "%w\";"
				"CREATE INDEX \"%w_%w\" ON \"%w\"(\"%w\")",
				table->name, table->name, table->name, table_column(table, 0)->name,
				table->name, table_column(table, 0)->name);
	int r = text ? sqlite3_exec(database, text, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	return r;
}

static int copy_all(sqlite3 *database, const struct clew_export *export)
{
	struct table_source source = {.trace = export->trace,
				      .chosen = {export->wanted, export->context},
				      .from = export->from,
				      .to = export->to};
	unsigned count = 0, i = 0;
	/* The file has no name yet: nothing must be kept from a crash. */
	int r = sqlite3_exec(database,
			     "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
			     "PRAGMA locking_mode=EXCLUSIVE; BEGIN",
			     NULL, NULL, NULL);

	if (r == SQLITE_OK)
		r = table_add_all(database, &source, PREFIX);
	while (tables[count])
		count++;
	for (; i < count && r == SQLITE_OK; i++) {
		r = copy_table(database, tables[i]);
		export->progress(export->progress_context, (double)(i + 1) / count);
	}
	if (r == SQLITE_OK)
		r = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
	table_source_done(&source);
	return r;
}

int clew_export_sqlite(const struct clew_export *export)
{
	sqlite3 *database = NULL;
	struct stat stat;
	char path[40];
	int r;

	if (fstat(fileno(export->out), &stat) < 0 || !S_ISREG(stat.st_mode))
		return -ESPIPE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(export->out));
	r = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
	if (r == SQLITE_OK)
		r = copy_all(database, export);
	sqlite3_close(database);
	return error_of(r);
}
