/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of formats. */
#include "export/export.h"

#include <string.h>

const struct clew_export_format clew_export_formats[] = {
	{.name = "perfetto",
	 .summary = "ui.perfetto.dev, its trace processor and its SQL",
	 .binary = true,
	 .wait_bytes = 250,
	 .write = clew_export_perfetto},
	{.name = "folded",
	 .summary = "flame graphs, speedscope",
	 .stacks = true,
	 .write = clew_export_folded},
	{.name = "pprof",
	 .summary = "pprof, Pyroscope, Grafana",
	 .binary = true,
	 .stacks = true,
	 .lines = true,
	 .write = clew_export_pprof},
	{.name = "chrome",
	 .summary = "Chrome's trace events, which many viewers read",
	 .wait_bytes = 950,
	 .write = clew_export_chrome},
	{.name = "sqlite",
	 .summary = "sqlite3, and whatever reads its databases: the tables of clew sql",
	 .binary = true,
	 .wait_bytes = 350,
	 .write = clew_export_sqlite},
	{.name = "csv",
	 .summary = "spreadsheets, R, pandas: a folder with a file for each table of clew sql",
	 .folder = true,
	 .wait_bytes = 400,
	 .write = clew_export_csv},
	{.name = "ctf",
	 .summary = "Trace Compass, babeltrace2, LTTng's analyses: a folder",
	 .folder = true,
	 .wait_bytes = 260,
	 .write = clew_export_ctf},
	{.name = "html",
	 .summary = "any browser: a report with a timeline, in one file",
	 .without_self = true,
	 .write = clew_export_html},
	{.name = "dot",
	 .summary = "Graphviz",
	 .write = clew_export_dot,
	 .alone = true,
	 .slowest = 1,
	 .most = 200},
	{.name = "otlp",
	 .summary = "OpenTelemetry's collector, Jaeger, Tempo",
	 .write = clew_export_otlp,
	 .alone = true,
	 .most = 2000},
	{.name = "proto",
	 .summary = "programs, by docs/clew.proto: calls of functions, and what programs announced",
	 .binary = true,
	 .calls = true,
	 .without_self = true,
	 .write = clew_export_proto},
	{},
};

const struct clew_export_format *clew_export_find(const char *name)
{
	for (const struct clew_export_format *format = clew_export_formats; format->name; format++)
		if (!strcmp(format->name, name))
			return format;
	return NULL;
}
