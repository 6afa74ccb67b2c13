/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The SQL functions that SQLite lacks. */
#include <stdlib.h>

#include "format/text.h"
#include "tables/virtual_internal.h"

/* The values of one group. */
struct values {
	double *values;
	size_t count, room;
	double percent;
};

static void percentile_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct values *values = sqlite3_aggregate_context(context, sizeof(*values));

	(void)argc;
	if (!values || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	values->percent = sqlite3_value_double(argv[1]);
	if (values->count == values->room) {
		size_t room = values->room ? 2 * values->room : 64;
		double *larger = reallocarray(values->values, room, sizeof(*larger));

		if (!larger) {
			sqlite3_result_error_nomem(context);
			return;
		}
		values->values = larger;
		values->room = room;
	}
	values->values[values->count++] = sqlite3_value_double(argv[0]);
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static void percentile_final(sqlite3_context *context)
{
	struct values *values = sqlite3_aggregate_context(context, 0);
	double place;
	size_t index;

	if (!values || !values->count)
		return;
	if (values->percent < 0 || values->percent > 100) {
		sqlite3_result_error(context, "percentile(X, P): P is from 0 to 100", -1);
	} else {
		qsort(values->values, values->count, sizeof(*values->values), ascending);
		/* The least number of values that are at least that share. */
		place = values->percent * (double)values->count / 100;
		index = (size_t)place;
		index = (double)index < place ? index + 1 : index;
		sqlite3_result_int64(context, (sqlite3_int64)values->values[index ? index - 1 : 0]);
	}
	free(values->values);
	*values = (struct values){};
}

static void duration(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	char text[32];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (sqlite3_value_double(argv[0]) < 0) {
		sqlite3_result_error(context, "duration(NS): NS is negative", -1);
		return;
	}
	clew_format_duration((uint64_t)sqlite3_value_int64(argv[0]), text, sizeof(text));
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

int table_add_functions(sqlite3 *database)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
	int r = sqlite3_create_function_v2(database, "percentile", 2, flags, NULL, NULL,
					   percentile_step, percentile_final, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_create_function_v2(database, "duration", 1, flags, NULL, duration, NULL,
					       NULL, NULL);
	return r;
}
