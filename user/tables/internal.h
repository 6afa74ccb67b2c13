/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables, and what their functions share. */
#ifndef CLEW_TABLES_INTERNAL_H
#define CLEW_TABLES_INTERNAL_H

#include "tables/tables.h"

extern const struct table table_tasks, table_runs, table_waits, table_holders, table_edges,
	table_requests, table_request_files, table_operations, table_spans, table_samples,
	table_losses, table_tables, table_columns;

/* True if a task was asked for, and an interval lies in the source's, at least in part. */
static inline bool row_wanted(const struct table_source *source, uint32_t task, uint64_t start,
			      uint64_t end)
{
	return start <= source->to && end >= source->from &&
	       clew_is_chosen(&source->chosen, source->trace, task);
}

#endif
