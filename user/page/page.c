/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One HTML file about a recording: its parts in their order. */
#include "page/internal.h"
#include "page_text.h"

#define BYTES_OF_SPAN 3 /* in the file, about */

static void put_timeline(struct page *page)
{
	document_put(&page->document,
		     "<section id=\"timeline\" class=\"card\" hidden></section>\n");
	document_put(&page->document,
		     "<noscript><p class=\"sub\">The timeline needs scripts.</p></noscript>\n");
}

static int put_all(struct page *page)
{
	int r;

	page_put_head(page);
	document_put(&page->document, "<div class=\"upper\"><div class=\"left\">\n");
	put_timeline(page);
	page_put_slowest(page);
	document_put(&page->document, "</div>\n");
	r = page_put_why(page);
	document_put(&page->document, "</div>\n");
	if (r >= 0)
		r = page_put_flames(page);
	page_put_cards(page);
	if (r >= 0)
		r = page_put_data(page);
	page_put_foot(page);
	document_put(&page->document,
		     "</main><div id=\"tip\" role=\"status\" hidden></div>\n<script>\n%s</script>"
		     "</body></html>\n",
		     page_script_text);
	return r;
}

int clew_page_write(FILE *out, const struct clew_page_options *options)
{
	const struct report *report = options->report;
	struct page page = {.options = options, .report = report, .trace = report->trace};
	uint64_t most = options->limit == UINT64_MAX ? UINT64_MAX : options->limit / BYTES_OF_SPAN;
	int r = document_open(&page.document, out);

	if (r < 0)
		return r;
	r = texts_begin(&page.texts);
	if (r >= 0)
		r = page_operations_make(&page);
	if (r >= 0)
		r = lanes_choose(&page.lanes, page.trace, &report->chosen, &page.paths,
				 report->from, report->to, most);
	if (r >= 0)
		r = put_all(&page);
	lanes_done(&page.lanes);
	texts_done(&page.texts);
	page_operations_done(&page);
	document_close(&page.document);
	return r;
}
