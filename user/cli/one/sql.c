/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew sql: questions in SQL about a trace, whose tables are virtual ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/sql_output.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "tables/virtual.h"

/* Without a question: what there is to ask. */
#define OVERVIEW                                                                                   \
	"SELECT table_name AS \"table\", name AS \"column\", type, meaning FROM clew_columns"

struct sql_values {
	bool csv;
	bool spreadsheet;
	bool json;
};

const struct clew_option clew_sql_options[] = {
	{0, "csv", NULL, "print comma-separated values", clew_take_flag,
	 offsetof(struct sql_values, csv)},
	{0, "spreadsheet", NULL, "the same, and no text begins a formula", clew_take_flag,
	 offsetof(struct sql_values, spreadsheet)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct sql_values, json)},
	CLEW_OPTION_END,
};

/* Reads a file to its end. NULL: errno says why. */
static char *read_all(FILE *in)
{
	char *text = NULL;
	size_t size, got;
	char buffer[4096];
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	while ((got = fread(buffer, 1, sizeof(buffer), in)) > 0)
		fwrite(buffer, 1, got, out);
	if (ferror(in) | fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The question: an operand, standard input for "-", or a file's contents for "@FILE". */
static int take_question(const char *operand, char **ret_text)
{
	FILE *file = NULL;

	*ret_text = NULL;
	if (!operand) {
		*ret_text = strdup(OVERVIEW);
	} else if (!strcmp(operand, "-")) {
		*ret_text = read_all(stdin);
	} else if (operand[0] == '@') {
		file = fopen(operand + 1, "re");
		if (!file)
			return clew_fail(CLEW_EXIT_INPUT, "%s: %s: name a file with SQL",
					 operand + 1, strerror(errno));
		*ret_text = read_all(file);
		fclose(file);
	} else {
		*ret_text = strdup(operand);
	}
	return *ret_text ? 0
			 : clew_fail(CLEW_EXIT_SYSTEM, "the question: %s: try again",
				     strerror(errno));
}

static int fail_sql(sqlite3 *database, int result)
{
	if (result == SQLITE_NOMEM)
		return clew_fail_memory();
	if (result == SQLITE_AUTH)
		return clew_fail(CLEW_EXIT_INPUT,
				 "the question does more than read: ask with SELECT");
	return clew_fail(CLEW_EXIT_INPUT, "%s: see `clew sql TRACE` for tables and columns",
			 sqlite3_errmsg(database));
}

/* Asks one statement after the other. */
static int ask(sqlite3 *database, const char *text, enum sql_form form)
{
	unsigned asked = 0;

	while (*text) {
		sqlite3_stmt *statement = NULL;
		int r = sqlite3_prepare_v2(database, text, -1, &statement, &text);

		if (r != SQLITE_OK)
			return fail_sql(database, r);
		if (!statement) /* blanks or a comment */
			continue;
		if (asked++ && form != SQL_TEXT) {
			sqlite3_finalize(statement);
			return clew_fail(CLEW_EXIT_INPUT,
					 "several statements: --csv and --json take one");
		}
		if (asked > 1)
			putchar('\n');
		r = sql_print(statement, form);
		if (r != SQLITE_DONE)
			r = fail_sql(database, r);
		else
			r = 0;
		sqlite3_finalize(statement);
		if (r)
			return r;
	}
	return asked ? 0 : clew_fail(CLEW_EXIT_INPUT, "the question is empty: ask with SELECT");
}

static int answer(const struct clew_trace *trace, const char *text, enum sql_form form)
{
	struct table_source source = {.trace = trace, .from = 0, .to = UINT64_MAX};
	sqlite3 *database = NULL;
	int r = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				NULL);
	int status;

	/* Rows are sorted in memory, not in a file. */
	if (r == SQLITE_OK)
		r = sqlite3_exec(database, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = table_add_all(database, &source, "");
	if (r == SQLITE_OK)
		r = table_only_read(database);
	status = r == SQLITE_OK ? ask(database, text, form) : fail_sql(database, r);
	sqlite3_close(database);
	table_source_done(&source);
	return status;
}

int clew_command_sql(const struct clew_command *command, int argc, char **argv)
{
	struct sql_values values = {};
	struct clew_trace *trace;
	char **operands, *text;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if ((values.csv || values.spreadsheet) && values.json)
		return clew_fail(CLEW_EXIT_INPUT, "--%s and --json: choose one of them",
				 values.csv ? "csv" : "spreadsheet");
	status = take_question(operands[1], &text);
	if (!status)
		status = clew_open_trace(operands[0], 0, &trace);
	if (!status) {
		status = answer(trace, text,
				values.spreadsheet ? SQL_SPREADSHEET
				: values.csv	   ? SQL_CSV
				: values.json	   ? SQL_JSON
						   : SQL_TEXT);
		clew_trace_free(trace);
	}
	free(text);
	return status;
}
