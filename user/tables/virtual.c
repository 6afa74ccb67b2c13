/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of a trace as virtual tables of SQLite (https://sqlite.org/vtab.html). A plan that asks
 * for one number of the first column reads that item alone.
 */
#include "tables/virtual.h"

#include <stdlib.h>
#include <string.h>

#include "tables/virtual_internal.h"

#define COST_OF_ONE 10
#define PLAN_ONE    1

/* A table of a database. */
struct module {
	struct table_source *source;
	const struct table *table;
};

struct virtual_table {
	sqlite3_vtab base;
	const struct module *module;
};

struct virtual_cursor {
	sqlite3_vtab_cursor base;
	struct table_cursor rows;
	sqlite3_int64 number; /* of the row, from 0 */
};

static const struct module *module_of(sqlite3_vtab_cursor *cursor)
{
	return ((struct virtual_table *)cursor->pVtab)->module;
}

/* "CREATE TABLE x(id INTEGER, comm TEXT)" */
static char *declaration_of(const struct table *table)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("CREATE TABLE x(", out);
	for (unsigned i = 0; table_column(table, i); i++)
		fprintf(out, "%s\"%s\" %s", i ? ", " : "", table_column(table, i)->name,
			table_column(table, i)->type == CLEW_COLUMN_INTEGER ? "INTEGER" : "TEXT");
	fputs(")", out);
	if (fclose(out)) {
		free(text);
		text = NULL;
	}
	return text;
}

static int connect_table(sqlite3 *database, void *context, int argc, const char *const *argv,
			 sqlite3_vtab **ret_table, char **ret_message)
{
	const struct module *module = context;
	char *declaration = declaration_of(module->table);
	struct virtual_table *table;
	int r;

	(void)argc;
	(void)argv;
	(void)ret_message;
	if (!declaration)
		return SQLITE_NOMEM;
	r = sqlite3_declare_vtab(database, declaration);
	free(declaration);
	if (r != SQLITE_OK)
		return r;
	table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->module = module;
	*ret_table = &table->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int choose_plan(sqlite3_vtab *base, sqlite3_index_info *plan)
{
	const struct module *module = ((struct virtual_table *)base)->module;
	size_t count = module->table->count(module->source);

	plan->estimatedCost = (double)count * 2 + COST_OF_ONE;
	plan->estimatedRows = (sqlite3_int64)count + 1;
	for (int i = 0; i < plan->nConstraint; i++) {
		if (!plan->aConstraint[i].usable || plan->aConstraint[i].iColumn != 0 ||
		    plan->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		plan->aConstraintUsage[i].argvIndex = 1;
		plan->idxNum = PLAN_ONE;
		plan->estimatedCost = COST_OF_ONE;
		plan->estimatedRows = 2;
		break;
	}
	/* Numbers of items ascend. */
	plan->orderByConsumed =
		plan->nOrderBy == 1 && !plan->aOrderBy[0].iColumn && !plan->aOrderBy[0].desc;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	struct virtual_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)table;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct virtual_cursor *cursor = (struct virtual_cursor *)base;

	table_cursor_done(&cursor->rows);
	free(cursor);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct virtual_cursor *cursor = (struct virtual_cursor *)base;
	const struct module *module = module_of(base);
	size_t first = 0, last = SIZE_MAX;

	(void)text;
	(void)argc;
	table_cursor_done(&cursor->rows);
	cursor->number = 0;
	if (plan == PLAN_ONE) {
		/* The core checks the constraint again: what is no integer finds nothing. */
		bool number = sqlite3_value_numeric_type(argv[0]) != SQLITE_NULL &&
			      sqlite3_value_int64(argv[0]) >= 0;

		first = number ? (size_t)sqlite3_value_int64(argv[0]) : SIZE_MAX - 1;
		last = first;
	}
	table_cursor_begin(&cursor->rows, module->table, module->source, first, last);
	return module->source->error < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct virtual_cursor *cursor = (struct virtual_cursor *)base;

	table_cursor_next(&cursor->rows, module_of(base)->table);
	cursor->number++;
	return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
	return table_cursor_ended(&((struct virtual_cursor *)base)->rows);
}

static int column_of(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct virtual_cursor *cursor = (struct virtual_cursor *)base;
	struct clew_cell value;

	if (table_cursor_value(&cursor->rows, module_of(base)->table, (unsigned)column, &value) < 0)
		return SQLITE_NOMEM;
	if (value.kind == CLEW_CELL_NUMBER)
		sqlite3_result_int64(context, value.number);
	else if (value.kind == CLEW_CELL_STRING)
		sqlite3_result_text(context, value.string, -1, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_number)
{
	*ret_number = ((struct virtual_cursor *)base)->number;
	return SQLITE_OK;
}

/* Without a function that creates tables they are there from the start. */
static const sqlite3_module functions = {
	.xConnect = connect_table,
	.xBestIndex = choose_plan,
	.xDisconnect = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = is_at_end,
	.xColumn = column_of,
	.xRowid = row_number,
};

int table_add_all(sqlite3 *database, struct table_source *source, const char *prefix)
{
	int r = table_add_functions(database);

	for (unsigned i = 0; tables[i] && r == SQLITE_OK; i++) {
		struct module *module = malloc(sizeof(*module));
		char name[64];

		if (!module)
			return SQLITE_NOMEM;
		*module = (struct module){source, tables[i]};
		snprintf(name, sizeof(name), "%s%s", prefix, tables[i]->name);
		r = sqlite3_create_module_v2(database, name, &functions, module, free);
	}
	/* Declared now, as declaring takes rights that questions do not have. */
	for (unsigned i = 0; tables[i] && r == SQLITE_OK; i++) {
		char *text =
			sqlite3_mprintf("SELECT 1 FROM \"%w%w\" LIMIT 0", prefix, tables[i]->name);

		r = text ? sqlite3_exec(database, text, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(text);
	}
	return r;
}

/* ---- what is allowed ---- */

static int authorize(void *context, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)context;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

int table_only_read(sqlite3 *database)
{
	return sqlite3_set_authorizer(database, authorize, NULL);
}
