/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as a folder in the Common Trace Format, as LTTng's kernel tracer would have recorded it.
 * LTTng's analyses look for a folder that is called "kernel".
 */
#include "export/ctf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int make_folder(const char *folder)
{
	char *path;
	int r;

	if (asprintf(&path, "%s/kernel", folder) < 0)
		return -ENOMEM;
	r = mkdir(path, 0777) < 0 ? -errno : 0;
	free(path);
	return r;
}

int clew_export_ctf(const struct clew_export *export)
{
	uint64_t start = clew_trace_start(export->trace), end = clew_trace_end(export->trace);
	struct ctf it = {.export = export,
			 .trace = export->trace,
			 .begin = export->from > start ? export->from : start,
			 .end = export->to < end ? export->to : end};
	int r = make_folder(export->folder);

	ctf_identify(&it);
	if (r >= 0)
		r = ctf_calls_find(&it);
	if (r >= 0)
		r = ctf_events(&it);
	if (r >= 0)
		r = ctf_metadata(&it);
	free(it.calls);
	return r;
}
