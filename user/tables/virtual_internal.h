/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SQL functions, for virtual.c. */
#ifndef CLEW_TABLES_VIRTUAL_INTERNAL_H
#define CLEW_TABLES_VIRTUAL_INTERNAL_H

#include <sqlite3.h>

int table_add_functions(sqlite3 *database);

#endif
