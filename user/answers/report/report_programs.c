/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where time went, by program and by place: the words for classes of time, and the tables. */
#include <stdlib.h>
#include <string.h>

#include "answers/report/report.h"
#include "answers/report/report_places.h"
#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"

#define MOST_ROWS    8
#define BAR_WIDTH    16
#define TIME_WIDTH   11 /* columns of the time behind a name, and of the margin */
#define COLUMN_WIDTH 6

static const struct {
	char bar;
	enum clew_style style;
	const char *headline; /* behind the program's name, before its share */
} spent_words[CLEW_SPENT_COUNT] = {
	[CLEW_SPENT_RUNNING] = {'#', CLEW_STYLE_RUNNING, "was computing"},
	[CLEW_SPENT_READY] = {'r', CLEW_STYLE_READY, "was ready to run but had no CPU"},
	[CLEW_SPENT_QUOTA] = {'Q', CLEW_STYLE_QUOTA, "was held back by a CPU quota"},
	[CLEW_SPENT_LOCK] = {'L', CLEW_STYLE_LOCK, "waited for locks"},
	[CLEW_SPENT_DISK] = {'D', CLEW_STYLE_DISK, "waited for files and disks"},
	[CLEW_SPENT_NETWORK] = {'N', CLEW_STYLE_NETWORK, "waited at sockets"},
	[CLEW_SPENT_REMOTE] = {'H', CLEW_STYLE_NETWORK, "waited for other hosts"},
	[CLEW_SPENT_MEMORY] = {'M', CLEW_STYLE_MEMORY, "waited for memory"},
	[CLEW_SPENT_PEER] = {'P', CLEW_STYLE_PLAIN,
			     "kept clients waiting while it waited for other threads"},
	[CLEW_SPENT_PIPE] = {'I', CLEW_STYLE_PLAIN, "waited for pipes and terminals"},
	[CLEW_SPENT_THREAD] = {'T', CLEW_STYLE_PLAIN,
			       "waited for other threads, at locks or conditions"},
	[CLEW_SPENT_PROCESS] = {'C', CLEW_STYLE_PLAIN, "waited for children or other processes"},
	[CLEW_SPENT_TIMER] = {'S', CLEW_STYLE_PLAIN, "slept by its own choice"},
	[CLEW_SPENT_OTHER] = {'.', CLEW_STYLE_PLAIN, "waited for something else"},
};

const char *report_spent_words(enum clew_spent spent)
{
	return spent_words[spent].headline;
}

/* A bar of letters, rounded so that it is full. */
static void print_bar(FILE *out, const struct report_spent *row)
{
	uint64_t sum = 0;
	unsigned drawn = 0;

	fputs("  ", out);
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++) {
		unsigned until;

		sum += row->spent[spent];
		until = (unsigned)((sum * BAR_WIDTH + row->total / 2) / row->total);
		fputs(clew_style_begin(spent_words[spent].style), out);
		for (; drawn < until; drawn++)
			fputc(spent_words[spent].bar, out);
		fputs(clew_style_end(spent_words[spent].style), out);
	}
}

static void print_share(FILE *out, const struct report_spent *row, enum clew_spent spent,
			uint64_t ns)
{
	fprintf(out, " %s%4u%%%s", clew_style_begin(spent_words[spent].style),
		clew_percent(ns, row->total), clew_style_end(spent_words[spent].style));
}

/* The classes of time that have a column; the others are part of the last one. */
struct columns {
	bool shown[CLEW_SPENT_COUNT];
};

static uint64_t total_of(const struct report_table *table, int spent)
{
	uint64_t total = 0;

	for (size_t i = 0; i < table->count; i++)
		total += table->rows[i].spent[spent];
	return total;
}

/* True if a class has a column, though no time is of it, if there is room. */
static bool is_usual(int spent)
{
	return spent != CLEW_SPENT_QUOTA && spent != CLEW_SPENT_REMOTE && spent < CLEW_SPENT_PIPE;
}

/* The usual ones if there is room, or else those that occur, as many as there is room for: the
 * larger ones. */
static struct columns choose_columns(const struct report_table *table, size_t room)
{
	struct columns columns = {.shown[CLEW_SPENT_OTHER] = true};
	uint64_t totals[CLEW_SPENT_COUNT];
	size_t occur = 0, used = 1;

	for (int spent = 0; spent < CLEW_SPENT_OTHER; spent++) {
		totals[spent] = total_of(table, spent);
		occur += is_usual(spent) || totals[spent] > 0;
	}
	for (int spent = 0; spent < CLEW_SPENT_OTHER && occur < room; spent++)
		if (is_usual(spent)) {
			columns.shown[spent] = true;
			used++;
		}
	while (used < room) {
		int most = -1;

		for (int spent = 0; spent < CLEW_SPENT_OTHER; spent++)
			if (!columns.shown[spent] && totals[spent] &&
			    (most < 0 || totals[spent] > totals[most]))
				most = spent;
		if (most < 0)
			break;
		columns.shown[most] = true;
		used++;
	}
	return columns;
}

/* The time of a class, or in the last column that of all without one. */
static uint64_t in_column(const struct columns *columns, const struct report_spent *row, int column)
{
	uint64_t ns = row->spent[column];

	for (int spent = 0; spent < CLEW_SPENT_COUNT && column == CLEW_SPENT_OTHER; spent++)
		ns += columns->shown[spent] ? 0 : row->spent[spent];
	return ns;
}

static void print_row(FILE *out, const struct columns *columns, const struct report_spent *row,
		      size_t width, bool bars)
{
	char *name = NULL;
	size_t size;
	FILE *stream = open_memstream(&name, &size);

	if (!stream)
		return;
	clew_print_safe(stream, row->name);
	if (row->tasks > 1)
		fprintf(stream, " (%zu)", row->tasks);
	fclose(stream);
	fputs("  ", out);
	clew_print_column(out, name, width);
	fprintf(out, " %8s", CLEW_DURATION(row->total));
	free(name);
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++) {
		uint64_t ns = in_column(columns, row, spent);

		if (columns->shown[spent] && ns)
			print_share(out, row, (enum clew_spent)spent, ns);
		else if (columns->shown[spent])
			fputs("     -", out);
	}
	if (bars)
		print_bar(out, row);
	fputc('\n', out);
}

void report_print_table(FILE *out, const struct report_table *table, size_t width, bool bars)
{
	const size_t taken = TIME_WIDTH + table->width + (bars ? BAR_WIDTH + 2 : 0);
	const struct columns columns =
		choose_columns(table, width > taken ? (width - taken) / COLUMN_WIDTH : 1);
	size_t shown = 0, busy = 0;

	report_print_heading(out, table->heading);
	fprintf(out, "  %-*s %8s", (int)table->width, table->what, "time");
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++)
		if (columns.shown[spent])
			fprintf(out, " %5s", clew_spent_word(spent));
	fputc('\n', out);
	for (size_t i = 0; i < table->count; i++) {
		if (!table->rows[i].total)
			continue;
		busy++;
		if (shown == MOST_ROWS)
			continue;
		shown++;
		print_row(out, &columns, &table->rows[i], table->width, bars);
	}
	if (busy > shown)
		fprintf(out, "  and %zu more %s\n", busy - shown, table->more);
}

void report_print_programs(FILE *out, const struct report *report, size_t width, bool bars)
{
	const struct clew_summary *summary = &report->summary;
	struct report_table table = {
		.heading = "Where each program's time went, all its threads added up",
		.what = "program (threads)",
		.width = 20,
		.more = "programs",
		.rows = calloc(summary->count + 1, sizeof(*table.rows)),
	};

	for (size_t i = 0; table.rows && i < summary->count; i++) {
		const struct clew_program *program = &summary->programs[i];
		struct report_spent *row = &table.rows[table.count++];

		row->name = program->name;
		row->tasks = program->tasks;
		row->total = program->total;
		memcpy(row->spent, program->spent, sizeof(row->spent));
	}
	report_print_table(out, &table, width, bars);
	free(table.rows);
}
