/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of tables. */
#include "tables/internal.h"

const struct table *const tables[] = {
	&table_tasks,	 &table_runs,	       &table_waits,	  &table_holders, &table_edges,
	&table_requests, &table_request_files, &table_operations, &table_spans,	  &table_samples,
	&table_losses,	 &table_tables,	       &table_columns,	  NULL,
};
