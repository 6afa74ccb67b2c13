/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The top of a page: what was recorded, the headline, one bar, and at the end the foot. */
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "page/internal.h"
#include "page_text.h"
#include "words/ledger.h"

#define LEAST_WORDS 7 /* percent of a bar that have room for words */

void page_put_bar(struct page *page, const uint64_t *sums, bool words)
{
	static const uint8_t order[] = {PAGE_RUNNING, PAGE_READY,   PAGE_QUOTA,
					PAGE_LOCK,    PAGE_DISK,    PAGE_OTHERS,
					PAGE_MEMORY,  PAGE_UNKNOWN, PAGE_IDLE};
	struct document *document = &page->document;
	uint64_t whole = 0;
	const char *separator = "";

	for (unsigned i = 0; i < PAGE_CLASS_COUNT; i++)
		whole += sums[i];
	document_put(document, "<div class=\"%s\" role=\"img\" aria-label=\"",
		     words ? "bar" : "mini");
	for (unsigned i = 0; i < sizeof(order); i++) {
		if (!sums[order[i]])
			continue;
		document_say(document, "%s%s %u %%", separator, page_class_name(order[i]),
			     clew_percent(sums[order[i]], whole));
		separator = ", ";
	}
	document_put(document, "\">");
	for (unsigned i = 0; i < sizeof(order); i++) {
		uint64_t ns = sums[order[i]];

		if (ns * 1000 < whole || !ns)
			continue;
		document_put(document, "<i class=\"k%u\" style=\"width:%.2f%%\" title=\"%s %s\">",
			     order[i], 100.0 * (double)ns / (double)whole,
			     page_class_name(order[i]), CLEW_DURATION(ns));
		if (words && clew_percent(ns, whole) >= LEAST_WORDS)
			document_say(document, "%s %u %%", page_class_name(order[i]),
				     clew_percent(ns, whole));
		document_put(document, "</i>");
	}
	document_put(document, "</div>\n");
}

static void put_meta(struct page *page, const char *key, const char *before)
{
	const char *value = clew_trace_meta(page->trace, key);

	if (!value || !value[0])
		return;
	document_put(&page->document, "<span>%s", before);
	clew_print_safe(document_words(&page->document), value);
	document_put(&page->document, "</span>\n");
}

static void put_records(struct page *page, const struct clew_capture_info *info)
{
	struct document *document = &page->document;
	struct clew_ledger_sum sum;

	clew_ledger_add_up(info, &sum);
	document_put(document, "<span>%llu records</span>\n",
		     (unsigned long long)clew_capture_records(info));
	if (sum.total.lost || sum.missing)
		document_put(document,
			     "<span class=\"badge bad\">%s%llu records are missing</span>\n",
			     sum.uncounted ? "at least " : "",
			     (unsigned long long)(sum.total.lost + sum.missing));
	else if (!sum.balanced || !info->complete)
		document_put(document,
			     "<span class=\"badge bad\">the recording was cut off</span>\n");
	else if (sum.uncounted)
		document_put(document,
			     "<span class=\"badge bad\">a part of it is missing</span>\n");
	else
		document_put(document, "<span class=\"badge ok\">nothing lost</span>\n");
	if (info->cost.bpf_sampled && info->end > info->start)
		document_put(document,
			     "<span class=\"badge\">recording took %.1f %% of one CPU</span>\n",
			     100.0 * (double)(info->cost.user_ns + info->cost.bpf_ns) /
				     (double)(info->end - info->start));
}

/* Says what was recorded, where and when. */
static void put_truth(struct page *page)
{
	const struct clew_capture_info *info = clew_trace_info(page->trace);
	const struct report *report = page->report;
	struct document *document = &page->document;
	char wall[40];

	document_put(document, "<header><b>clew</b>\n");
	put_meta(page, "command", "");
	put_meta(page, "host", "on ");
	put_meta(page, "kernel", "Linux ");
	if (info)
		document_put(document, "<span>%u CPUs</span>\n", info->cpus);
	document_put(document, "<span>%s</span>\n", CLEW_DURATION(report->to - report->from));
	if (report->base.has_wall)
		document_put(document, "<span>from %s</span>\n",
			     clew_format_wall(report->from, &report->base, wall, sizeof(wall)));
	if (info)
		put_records(page, info);
	document_put(document, "</header>\n");
}

static int largest_first(const void *left, const void *right, void *context)
{
	const uint64_t *ns = context;
	uint8_t a = *(const uint8_t *)left, b = *(const uint8_t *)right;

	return ns[a] != ns[b] ? (ns[a] > ns[b] ? -1 : 1) : a - b;
}

/* All that the headline's program did, by class, and how long operations took. */
static void put_second_line(struct page *page, const struct clew_program *program,
			    const uint64_t *sums)
{
	static const char *const words[PAGE_CLASS_COUNT] = {
		[PAGE_RUNNING] = "running",
		[PAGE_READY] = "ready to run without a CPU",
		[PAGE_LOCK] = "waiting for locks",
		[PAGE_DISK] = "waiting for files and disks",
		[PAGE_OTHERS] = "waiting for others",
		[PAGE_MEMORY] = "waiting for memory",
		[PAGE_UNKNOWN] = "unknown",
		[PAGE_IDLE] = "idle",
		[PAGE_QUOTA] = "kept off the CPU by a quota"};
	struct document *document = &page->document;
	uint8_t order[PAGE_CLASS_COUNT];
	const char *separator = ": ";

	for (unsigned i = 0; i < PAGE_CLASS_COUNT; i++)
		order[i] = (uint8_t)i;
	qsort_r(order, PAGE_CLASS_COUNT, 1, largest_first, (void *)sums);
	document_put(document, "<p class=\"sub\">");
	document_say(document, "Its %zu thread%s spent ", program->tasks,
		     program->tasks == 1 ? "" : "s together");
	document_put(document, "<b>%s</b>", CLEW_DURATION(program->total));
	for (unsigned i = 0;
	     i < PAGE_CLASS_COUNT && sums[order[i]] * 200 >= program->total && sums[order[i]];
	     i++) {
		document_say(document, "%s%s %s", separator, CLEW_DURATION(sums[order[i]]),
			     words[order[i]]);
		separator = ", ";
	}
	document_say(document, ".");
	if (page->histogram.count)
		document_say(document,
			     " There were %zu operations like the slowest: half of them took at "
			     "most %s, one in a hundred %s or more, the slowest %s.",
			     page->histogram.count, CLEW_DURATION(page->histogram.p50),
			     CLEW_DURATION(page->histogram.p99),
			     CLEW_DURATION(page->histogram.greatest));
	document_put(document, "</p>\n");
}

void page_put_head(struct page *page)
{
	const struct report *report = page->report;
	struct document *document = &page->document;
	uint64_t sums[PAGE_CLASS_COUNT];

	document_put(document, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			       "<meta name=\"viewport\" content=\"width=device-width,"
			       "initial-scale=1\">\n"
			       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			       "'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
			       "img-src data:\">\n<title>clew: ");
	clew_print_safe(document_words(document), page->options->name);
	document_put(document, "</title>\n<style>\n%s</style></head><body><main>\n",
		     page_style_text);
	put_truth(page);
	document_put(document, "<h1>");
	report_print_headline(document_words(document), report);
	document_put(document, "</h1>\n");
	if (report->program == UINT32_MAX)
		return;
	page_class_sums(&report->summary.programs[report->program], sums);
	put_second_line(page, &report->summary.programs[report->program], sums);
	page_put_bar(page, sums, true);
}

void page_put_foot(struct page *page)
{
	const struct clew_capture_info *info = clew_trace_info(page->trace);
	struct document *document = &page->document;

	document_put(document, "<footer><p>");
	document_say(document,
		     "This file needs no network. It has %llu pieces of time of %zu "
		     "threads and %zu CPUs",
		     (unsigned long long)page->lanes.spans,
		     page->lanes.lanes.count - page->lanes.cpus, page->lanes.cpus);
	if (page->lanes.left_out)
		document_say(document,
			     "; %zu more threads that ran were left out: --all takes "
			     "them, too",
			     page->lanes.left_out);
	document_say(document, ". Threads that never ran meanwhile, and clew's own, are not shown. "
			       "Time that the recording could not see is shown as unknown, never "
			       "guessed.");
	document_put(document, "</p>\n<pre>");
	clew_print_ledger(document_words(document), page->trace, page->report->from,
			  page->report->to);
	clew_print_cost(document_words(document), info);
	document_put(document, "</pre></footer>\n");
}
