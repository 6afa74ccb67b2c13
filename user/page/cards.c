/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cards below the explanations: where time went, who had what others waited for, what was
 * waited for. */
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "page/internal.h"
#include "trace/name.h"
#include "words/functions.h"

#define MOST_ROWS     6
#define MOST_PROGRAMS 8

static void begin_card(struct page *page, const char *title, const char *class)
{
	document_put(&page->document,
		     "<section class=\"card %s\"><h2>%s</h2>\n<table><col class=\"n\"><col "
		     "class=\"b\"><col>",
		     class, title);
}

static void end_card(struct page *page)
{
	document_put(&page->document, "</table></section>\n");
}

/* Begins a row: a time, and a bar of a class. The caller writes the words and end_row(). */
static void begin_row(struct page *page, uint64_t ns, uint64_t most, enum page_class class)
{
	document_put(&page->document,
		     "<tr><td class=\"n\">%s</td><td class=\"b\"><i class=\"k%u\" "
		     "style=\"width:%.1f%%\"></i></td><td>",
		     CLEW_DURATION(ns), class, most ? 100.0 * (double)ns / (double)most : 0);
}

static void end_row(struct page *page)
{
	document_put(&page->document, "</td></tr>\n");
}

static void put_programs(struct page *page)
{
	const struct clew_summary *summary = &page->report->summary;
	struct document *document = &page->document;
	size_t shown = 0, busy = 0;

	begin_card(page, "Where each program's time went", "programs");
	for (size_t i = 0; i < summary->count; i++) {
		const struct clew_program *program = &summary->programs[i];
		uint64_t sums[PAGE_CLASS_COUNT];

		busy += program->total > 0;
		if (!program->total || shown == MOST_PROGRAMS)
			continue;
		shown++;
		page_class_sums(program, sums);
		document_put(document, "<tr><td class=\"n\">%s</td><td class=\"w\">",
			     CLEW_DURATION(program->total));
		page_put_bar(page, sums, false);
		document_put(document, "</td><td>");
		clew_print_safe(document_words(document), program->name);
		if (program->tasks > 1)
			document_say(document, " (%zu threads)", program->tasks);
		end_row(page);
	}
	if (busy > shown)
		document_put(document, "<tr><td></td><td></td><td>and %zu more programs</td></tr>",
			     busy - shown);
	end_card(page);
}

/* A program and how long it had something. */
struct had {
	const struct clew_program *program;
	uint64_t ns;
};

static int longest_first(const void *left, const void *right)
{
	const struct had *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->program->name, b->program->name);
}

/* The programs that had most of what is at `offset` of a struct clew_program. */
static void put_had(struct page *page, const char *title, size_t offset, enum page_class class)
{
	const struct clew_summary *summary = &page->report->summary;
	struct had *had = calloc(summary->count + 1, sizeof(*had));
	size_t count = 0;

	for (size_t i = 0; i < summary->count && had; i++) {
		uint64_t ns;

		memcpy(&ns, (const char *)&summary->programs[i] + offset, sizeof(ns));
		if (ns)
			had[count++] = (struct had){&summary->programs[i], ns};
	}
	if (count) {
		qsort(had, count, sizeof(*had), longest_first);
		begin_card(page, title, "had");
	}
	for (size_t i = 0; i < count && i < MOST_ROWS; i++) {
		begin_row(page, had[i].ns, had[0].ns, class);
		clew_print_safe(document_words(&page->document), had[i].program->name);
		end_row(page);
	}
	if (count)
		end_card(page);
	free(had);
}

static void put_disks(struct page *page)
{
	const struct report *report = page->report;
	struct document *document = &page->document;

	if (report->disk_count)
		begin_card(page, "Disks that were waited for", "disks");
	for (size_t i = 0; i < report->disk_count && i < MOST_ROWS; i++) {
		const struct report_disk *disk = &report->disks[i];

		begin_row(page, disk->busy_ns, report->disks[0].busy_ns, PAGE_DISK);
		document_say(document, "%s: %zu requests, %s",
			     CLEW_DISK(report->trace, disk->device), disk->requests,
			     CLEW_BYTES(disk->bytes));
		if (disk->program != UINT32_MAX) {
			document_say(document, ", most of the time by ");
			clew_print_safe(document_words(document),
					report->summary.programs[disk->program].name);
		}
		end_row(page);
	}
	if (report->disk_count)
		end_card(page);
}

static void put_sums(struct page *page, const char *title, const struct report_waits *waits,
		     uint64_t most, enum page_class class)
{
	const struct clew_sum *sums = waits->sums;
	struct document *document = &page->document;

	if (waits->count)
		begin_card(page, title, "objects");
	for (size_t i = 0; i < waits->count && i < MOST_ROWS; i++) {
		begin_row(page, sums[i].total, most, class);
		report_print_awaited(document_words(document), page->report,
				     report_longest(waits, i));
		document_put(document, "<small>%zu wait%s, at most %s</small>", sums[i].count,
			     sums[i].count == 1 ? "" : "s", CLEW_DURATION(sums[i].max));
		end_row(page);
	}
	if (waits->count)
		end_card(page);
}

static void put_functions(struct page *page)
{
	const struct clew_function_sums *sums = &page->report->functions;
	struct document *document = &page->document;
	unsigned shown = 0;

	for (uint32_t i = 0; i < sums->count && shown < MOST_ROWS; i++) {
		const struct clew_function_time *time = &sums->times[i];

		if (time->function == CLEW_NO_NUMBER || !time->ns)
			continue;
		if (!shown++)
			begin_card(page, "Traced functions that ran", "functions");
		begin_row(page, time->ns, sums->times[0].ns, PAGE_RUNNING);
		clew_print_function(document_words(document), page->trace, time->function);
		document_put(document, "<small>entered %llu times</small>",
			     (unsigned long long)time->calls);
		end_row(page);
	}
	if (shown)
		end_card(page);
}

void page_put_cards(struct page *page)
{
	const struct report *report = page->report;
	uint64_t most = report->files.count ? report->files.sums[0].total : 0;

	if (report->locks.count && report->locks.sums[0].total > most)
		most = report->locks.sums[0].total;
	document_put(&page->document, "<div class=\"cards\">\n");
	put_programs(page);
	put_had(page, "Who had the CPU that others waited for",
		offsetof(struct clew_program, had_cpu), PAGE_READY);
	put_had(page, "Who had locks that others waited for",
		offsetof(struct clew_program, had_lock), PAGE_LOCK);
	put_disks(page);
	put_sums(page, "Files and disks that were waited for", &report->files, most, PAGE_DISK);
	put_sums(page, "Locks that were waited for", &report->locks, most, PAGE_LOCK);
	put_functions(page);
	document_put(&page->document, "</div>\n");
}
