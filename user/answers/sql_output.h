/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rows of a query as text, CSV or JSON. */
#ifndef CLEW_ANSWERS_SQL_OUTPUT_H
#define CLEW_ANSWERS_SQL_OUTPUT_H

#include <sqlite3.h>

enum sql_form { SQL_TEXT, SQL_CSV, SQL_SPREADSHEET, SQL_JSON };

/* Runs a statement and prints its rows. The last result of SQLite: SQLITE_DONE after the last row.
 */
int sql_print(sqlite3_stmt *statement, enum sql_form form);

#endif
