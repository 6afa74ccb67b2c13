/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A comparison as a page without scripts: for each class the causes of the time after, as wide as
 * they take, below their classes of time. Only what changed beyond noise has a colour. Causes that
 * are there no more have a strip of their own, to the same scale.
 */
#include "answers/compare/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain/spent.h"
#include "format/text.h"

#define LEAST_WIDTH 0.05 /* percent; boxes below this are left out */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<title>clew compare</title><style>\n"
	"body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;"
	"color:#222;background:#fff}\n"
	"h2{font-size:1.1em;margin:2em 0 .2em}p{margin:.3em 0}pre{white-space:pre-wrap}\n"
	".strip{display:flex;height:1.7em;margin-top:1px;background:#f4f4f4}\n"
	".box{box-sizing:border-box;overflow:hidden;white-space:nowrap;font-size:12px;"
	"padding:.2em .3em;border-right:1px solid #fff;background:#d9d9d9;color:#222}\n"
	".more{background:#c0392b;color:#fff}.less{background:#2471a3;color:#fff}\n"
	"td{padding:.1em .8em .1em 0;vertical-align:top}td.n{text-align:right;"
	"font-variant-numeric:tabular-nums}\n"
	"@media(prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}"
	".strip{background:#262626}.box{background:#444;color:#eee;border-color:#1b1b1b}"
	".more{background:#c0392b}.less{background:#2e86c1}}\n"
	"</style></head><body>\n<h1>What changed</h1>\n";

static void print_html(FILE *out, const char *text)
{
	char *safe = clew_safe(text);

	for (const char *byte = safe ?: ""; *byte; byte++) {
		if (*byte == '&')
			fputs("&amp;", out);
		else if (*byte == '<')
			fputs("&lt;", out);
		else if (*byte == '>')
			fputs("&gt;", out);
		else if (*byte == '"')
			fputs("&quot;", out);
		else
			fputc(*byte, out);
	}
	free(safe);
}

static const char *colour_of(const struct compare_row *row)
{
	if (!row->changed)
		return "";
	return compare_change(row) > 0 ? " more" : " less";
}

static void print_signed(FILE *out, int64_t ns)
{
	fprintf(out, "%c%s", ns < 0 ? '-' : '+',
		CLEW_DURATION(ns < 0 ? (uint64_t)-ns : (uint64_t)ns));
}

/* A box whose title says what is in it. `row` NULL: it is of several rows. */
static void print_box(FILE *out, const char *name, uint64_t ns, uint64_t scale,
		      const struct compare_row *row)
{
	double width = scale ? 100.0 * (double)ns / (double)scale : 0;

	if (width < LEAST_WIDTH)
		return;
	fprintf(out, "<div class=\"box%s\" style=\"width:%.3f%%\" title=\"",
		row ? colour_of(row) : "", width);
	print_html(out, name);
	fprintf(out, ": %s", CLEW_DURATION(ns));
	if (row) {
		fputs(", ", out);
		print_signed(out, compare_change(row));
	}
	fputs("\">", out);
	print_html(out, name);
	fputs("</div>", out);
}

static int spent_of(const struct clew_compare_answer *answer, const struct compare_row *row)
{
	if (row->cause == UINT32_MAX)
		return CLEW_SPENT_COUNT;
	return compare_name_at(&answer->compare->causes, row->cause)->spent;
}

/* Classes of time above, causes below, both in the order of classes. */
static void print_after(FILE *out, const struct clew_compare_answer *answer,
			const struct compare_class *class, uint64_t scale)
{
	fputs("<div class=\"strip\">", out);
	for (int spent = 0; spent <= CLEW_SPENT_COUNT; spent++) {
		const char *word = clew_spent_word((enum clew_spent)spent);
		uint64_t ns = 0;

		for (size_t i = 0; i < class->row_count; i++)
			if (spent_of(answer, &class->rows[i]) == spent)
				ns += class->rows[i].sides[COMPARE_AFTER].mean_ns;
		print_box(out, word ?: "others", ns, scale, NULL);
	}
	fputs("</div>\n<div class=\"strip\">", out);
	for (int spent = 0; spent <= CLEW_SPENT_COUNT; spent++)
		for (size_t i = 0; i < class->row_count; i++)
			if (spent_of(answer, &class->rows[i]) == spent)
				print_box(out, CLEW_ROW_NAME(answer, &class->rows[i]),
					  class->rows[i].sides[COMPARE_AFTER].mean_ns, scale,
					  &class->rows[i]);
	fputs("</div>\n", out);
}

static void print_gone(FILE *out, const struct clew_compare_answer *answer,
		       const struct compare_class *class, uint64_t scale)
{
	bool any = false;

	for (size_t i = 0; i < class->row_count; i++) {
		const struct compare_row *row = &class->rows[i];

		if (row->sides[COMPARE_AFTER].ns || !row->sides[COMPARE_BEFORE].mean_ns)
			continue;
		if (!any)
			fputs("<p>There no more:</p><div class=\"strip\">", out);
		any = true;
		print_box(out, CLEW_ROW_NAME(answer, row), row->sides[COMPARE_BEFORE].mean_ns,
			  scale, row);
	}
	if (any)
		fputs("</div>\n", out);
}

static void print_rows(FILE *out, const struct clew_compare_answer *answer,
		       const struct compare_class *class)
{
	fputs("<table>", out);
	for (size_t i = 0; i < class->row_count; i++) {
		const struct compare_row *row = &class->rows[i];

		if (!row->changed)
			continue;
		fputs("<tr><td class=\"n\">", out);
		print_signed(out, compare_change(row));
		fputs("</td><td class=\"n\">", out);
		print_signed(out, (int64_t)row->difference.low);
		fputs(" .. ", out);
		print_signed(out, (int64_t)row->difference.high);
		fputs("</td><td>", out);
		print_html(out, CLEW_ROW_NAME(answer, row));
		fputs("</td></tr>", out);
	}
	fputs("</table>\n", out);
}

static void print_class(FILE *out, const struct clew_compare_answer *answer,
			const struct compare_class *class)
{
	const struct compare_part *total = class->total.sides;
	uint64_t before = total[COMPARE_BEFORE].mean_ns, after = total[COMPARE_AFTER].mean_ns;

	fputs("<h2>", out);
	print_html(out, compare_name_at(&answer->compare->classes, class->class)->text);
	fprintf(out,
		"</h2><p>%s: mean %s &rarr; %s of %" PRIu64 " and %" PRIu64 " operations</p>\n",
		clew_compare_verdict(class), CLEW_DURATION(before), CLEW_DURATION(after),
		class->count[COMPARE_BEFORE], class->count[COMPARE_AFTER]);
	print_after(out, answer, class, before > after ? before : after);
	print_gone(out, answer, class, before > after ? before : after);
	print_rows(out, answer, class);
}

void clew_html_compare(FILE *out, const struct clew_compare_answer *answer)
{
	char *text = NULL;
	size_t size;
	FILE *stream;

	fputs(head, out);
	fputs("<p>Each bar is the mean operation afterwards, divided among its causes. Red "
	      "causes take longer than before, and blue ones less long, beyond noise.</p>\n",
	      out);
	for (size_t i = 0; i < answer->result->class_count; i++)
		print_class(out, answer, &answer->result->classes[i]);
	stream = open_memstream(&text, &size);
	if (stream) {
		clew_print_compare(stream, answer);
		fclose(stream);
		fputs("<h2>In words</h2><pre>", out);
		for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			print_html(out, line);
			fputc('\n', out);
		}
		fputs("</pre>\n", out);
		free(text);
	}
	fputs("</body></html>\n", out);
}
