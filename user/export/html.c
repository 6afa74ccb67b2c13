/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page of `clew report --html` as one more format. */
#include "export/export.h"
#include "page/page.h"

int clew_export_html(const struct clew_export *export)
{
	const struct clew_chosen chosen = {.wants = export->wanted, .context = export->context};
	struct report report = {};
	const struct clew_page_options options = {
		.report = &report,
		.name = export->name,
		.slowest = export->slowest,
		.limit = CLEW_PAGE_LIMIT,
		.progress = export->progress,
		.progress_context = export->progress_context,
	};
	int r = report_make(export->trace, export->relations, &chosen, export->from, export->to,
			    &report);

	if (r == 0)
		r = clew_page_write(export->out, &options);
	report_done(&report);
	return r;
}
