/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page of `clew report --html` as one more format. */
#include "answers/report/report_sum.h"
#include "export/export.h"
#include "page/page.h"

int clew_export_html(const struct clew_export *export)
{
	const struct report_asked asked = {
		.chosen = {.wants = export->wanted, .context = export->context},
		.from = export->from,
		.to = export->to};
	struct report report = {};
	const struct clew_page_options options = {
		.report = &report,
		.name = export->name,
		.slowest = export->slowest,
		.limit = CLEW_PAGE_LIMIT,
		.progress = export->progress,
		.progress_context = export->progress_context,
	};
	int r = report_make(export->trace, export->relations, &asked, &report);

	if (r == 0)
		r = clew_page_write(export->out, &options);
	report_done(&report);
	return r;
}
