/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as the JSON that Chrome's tracing made common: slices of threads with arguments, and
 * arrows between them. Readers hold all of it in memory, so that it is counted before it is
 * written.
 */
#include "export/chrome.h"

#include <errno.h>

static int write_events(struct chrome *it)
{
	int r = chrome_causes(it);

	if (r >= 0)
		r = chrome_tasks(it);
	if (r < 0)
		return r;
	chrome_effects(it);
	return chrome_other(it);
}

int clew_export_chrome(const struct clew_export *export)
{
	struct chrome it = {.export = export,
			    .trace = export->trace,
			    .json.out = export->out,
			    .counting = true};
	int r = write_events(&it);

	if (r >= 0 && it.count > CLEW_CHROME_MOST)
		r = -E2BIG;
	if (r < 0)
		return r;
	it.counting = false;
	clew_json_object(&it.json, NULL);
	clew_json_string(&it.json, "displayTimeUnit", "ns");
	clew_json_object(&it.json, "otherData");
	clew_json_string(&it.json, "host", clew_trace_meta(it.trace, "host"));
	clew_json_string(&it.json, "kernel", clew_trace_meta(it.trace, "kernel"));
	clew_json_string(&it.json, "clock", "CLOCK_MONOTONIC");
	clew_json_object_end(&it.json);
	clew_json_array(&it.json, "traceEvents");
	r = write_events(&it);
	clew_json_array_end(&it.json);
	clew_json_object_end(&it.json);
	clew_json_end(&it.json);
	return r;
}
