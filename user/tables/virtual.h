/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tables of a trace in an SQLite database: virtual tables, so that nothing is copied, and
 * SQL functions for times.
 *
 * percentile(X, P): the least X that P per cent of all X do not exceed. duration(NS): "1.20 ms".
 */
#ifndef CLEW_TABLES_VIRTUAL_H
#define CLEW_TABLES_VIRTUAL_H

#include <sqlite3.h>

#include "tables/tables.h"

/*
 * Adds all tables to a database, each named like its table with `prefix` before it. The source
 * must outlive the database. Returns SQLITE_OK or another result of SQLite.
 */
int table_add_all(sqlite3 *database, struct table_source *source, const char *prefix);

/* Allows only statements that read: no file is opened, nothing is changed. */
int table_only_read(sqlite3 *database);

#endif
