/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew info` as text. */
#include <inttypes.h>
#include <string.h>

#include "answers/functions/left_alone.h"
#include "answers/info/internal.h"
#include "format/text.h"
#include "words/ledger.h"
#include "words/missed.h"
#include "words/wall.h"

static void print_field(const char *name, const char *value)
{
	printf("%-10s ", name);
	clew_print_safe(stdout, value ?: "not said");
	putchar('\n');
}

/* Prints when the recording began, in local time of the recording. */
static void print_begin(const struct clew_info_source *source, const struct clew_capture_info *info)
{
	const char *offset = info_meta(source, "utc_offset");
	struct clew_time_base base;
	char text[40];
	long minutes = offset ? strtol(offset, NULL, 10) / 60 : 0;

	clew_wall_base_of(info, offset, &base);
	if (!base.has_wall)
		return;
	printf("%-10s %s UTC", "begun", clew_format_wall(info->start, &base, text, sizeof(text)));
	if (minutes)
		printf("%c%02ld:%02ld", minutes < 0 ? '-' : '+', labs(minutes) / 60,
		       labs(minutes) % 60);
	printf(" (%zu clock readings)\n", info->clock_count);
}

/* Columns of the table's numbers, wide enough for the sums. */
struct widths {
	int of[7];
};

static void get_counts(const struct clew_ledger_row *row, uint64_t *ret_counts)
{
	const uint64_t counts[] = {row->seen,	row->filtered, row->reserved, row->read,
				   row->stored, row->lost,     row->missed};

	memcpy(ret_counts, counts, sizeof(counts));
}

static void print_row(const char *cpu, const char *kind, const struct clew_ledger_row *row,
		      const struct widths *widths, bool balanced)
{
	uint64_t counts[7];

	get_counts(row, counts);
	printf("%4s %-9s", cpu, kind);
	for (size_t i = 0; i < 7; i++)
		printf(" %*" PRIu64, widths->of[i], counts[i]);
	puts(balanced ? "" : " <- NOT balanced");
}

static void print_header(const struct clew_ledger_row *total, struct widths *ret_widths)
{
	static const char *const names[7] = {"seen",   "filtered", "reserved", "read",
					     "stored", "lost",	   "missed"};
	uint64_t counts[7];

	get_counts(total, counts);
	printf("%4s %-9s", "cpu", "kind");
	for (size_t i = 0; i < 7; i++) {
		int digits = snprintf(NULL, 0, "%" PRIu64, counts[i]);
		int length = (int)strlen(names[i]);

		ret_widths->of[i] = digits > length ? digits : length;
		printf(" %*s", ret_widths->of[i], names[i]);
	}
	putchar('\n');
}

static void print_ledger(const struct clew_capture_info *info)
{
	struct clew_ledger_sum sum;
	struct widths widths;

	clew_ledger_add_up(info, &sum);
	if (!info->ledger_count) {
		printf("ledger: %s%s\n",
		       info->imported ? "none, another tracer recorded this" : "none was written",
		       info->complete ? "" : ": the recording was cut off early");
		return;
	}
	puts("ledger: seen = filtered + reserved + lost + missed; reserved = read = stored");
	print_header(&sum.total, &widths);
	for (size_t i = 0; i < info->ledger_count; i++) {
		const struct clew_ledger_row *row = &info->ledger[i];
		char cpu[16] = "user";

		if (row->cpu != CLEW_STREAM_USER)
			snprintf(cpu, sizeof(cpu), "%u", row->cpu);
		print_row(cpu, info_record_kind(row->kind), row, &widths,
			  clew_ledger_row_balanced(row));
	}
	print_row("all", "", &sum.total, &widths, true);
	if (sum.balanced)
		puts("It balances.");
	else if (info->complete)
		puts("It does NOT balance: do not trust answers from this capture.");
	else
		puts("It does not balance: the recording was cut off after this ledger was "
		     "written.");
}

/* Lost, missed and hidden records, beside their times. */
static void print_losses(const struct clew_info_source *source,
			 const struct clew_capture_info *info)
{
	uint64_t counts[CLEW_KIND_COUNT];
	struct clew_ledger_sum sum;

	clew_ledger_add_up(info, &sum);
	clew_missed_add_up(info, counts);
	if (sum.total.lost)
		printf("%" PRIu64 " record%s lost: the rings were full.\n", sum.total.lost,
		       sum.total.lost == 1 ? " was" : "s were");
	else if (sum.total.missed)
		fputs("No record was lost, but ", stdout);
	if (sum.total.missed) {
		clew_print_folds(stdout,
				 "%" PRIu64 " w%s missed: the kernel gave no room to make them.",
				 sum.total.missed, sum.total.missed == 1 ? "as" : "ere");
		clew_print_missed(stdout, "Answers may lack ", counts);
	}
	clew_print_hidden(stdout, info->imported ? "The other tracer or its" : "This",
			  source->hidden, counts[CLEW_KIND_SWITCH]);
	if (!sum.lost_known && !sum.total.lost && !info->imported)
		puts("Losses are not known: the file has no ledger.");
	if (sum.total.lost || sum.total.missed || info->gap_count)
		return;
	if (!info->ledger_count || !info->complete)
		printf("No loss is known%s.\n",
		       info->complete ? "" : ", but the recording was cut off");
	else if (info->damaged_chunks)
		puts("Nothing was lost while recording, but parts of the file are damaged.");
	else
		puts("Nothing was lost: no gaps.");
}

static void print_gaps(const struct clew_capture_info *info)
{
	enum { MOST_SHOWN = 20 };

	if (!info->gap_count)
		return;
	printf("gaps: %zu\n", info->gap_count);
	for (size_t i = 0; i < info->gap_count && i < MOST_SHOWN; i++) {
		const struct clew_gap *gap = &info->gaps[i];
		uint64_t from = gap->from > info->start ? gap->from - info->start : 0;
		uint64_t to = gap->header.time > info->start ? gap->header.time - info->start : 0;

		if (gap->header.cpu == CLEW_STREAM_USER)
			fputs(gap->count == CLEW_GAP_UNCOUNTED ? "  CPUs without a record"
							       : "  user ",
			      stdout);
		else
			printf("  CPU %u", gap->header.cpu);
		printf(" from +%s to +%s: ", CLEW_DURATION(from), CLEW_DURATION(to));
		if (gap->count == CLEW_GAP_UNCOUNTED)
			printf("%swhat came then is missing from the file\n",
			       info->complete ? "" : "cut off, ");
		else
			printf("%" PRIu64 " records %s\n", (uint64_t)gap->count,
			       gap->header.flags & CLEW_GAP_IN_FILE ? "missing from the file"
								    : "lost");
	}
	if (info->gap_count > MOST_SHOWN)
		printf("  and %zu more: --json lists them all\n", info->gap_count - MOST_SHOWN);
}

static void print_events(const struct clew_capture_info *info)
{
	int column = printf("%-10s", "events");

	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
		char word[48];
		int length;

		if (!info->counts[kind])
			continue;
		length = snprintf(word, sizeof(word), " %s %" PRIu64, info_record_kind(kind),
				  info->counts[kind]);
		if (column + length > 80)
			column = printf("\n%-10s", "") - 1;
		column += printf("%s", word);
	}
	putchar('\n');
}

/* The line about the cost, which is one line elsewhere, in two. */
static void print_cost(const struct clew_capture_info *info)
{
	char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size);

	if (!line)
		return;
	clew_print_cost(line, info);
	if (!fclose(line)) {
		text[strcspn(text, "\n")] = '\0';
		clew_print_folded(stdout, text);
	}
	free(text);
}

/* Prints the same in words. */
static void print_without(const char *lines)
{
	for (size_t length; lines && *lines; lines += length + (lines[length] == '\n')) {
		char line[512];

		length = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, lines);
		print_field("without", line);
	}
}

void clew_print_info(const struct clew_info_source *source, const struct clew_capture_info *info)
{
	print_field("kernel", info_meta(source, "kernel"));
	print_field("host", info_meta(source, "host"));
	if (info_meta(source, "command"))
		print_field("command", info_meta(source, "command"));
	print_without(info_meta(source, "without"));
	printf("%-10s %u\n", "cpus", info->cpus);
	print_begin(source, info);
	printf("%-10s %s\n", "duration", CLEW_DURATION(info_duration(info)));
	printf("%-10s %s (%" PRIu64 " bytes)\n", "size", CLEW_BYTES(info->bytes), info->bytes);
	if (info->counts[CLEW_KIND_SWITCH])
		printf("%-10s %.2f bytes a switch in its columns, %.2f in the whole file\n", "",
		       info_column_bytes(info), info_file_bytes(info));
	printf("%-10s %s\n", "complete",
	       info->complete ? "yes"
			      : "no: the recording was cut off, what had been written is here");
	if (info->damaged_chunks)
		printf("%-10s %" PRIu64 " chunks skipped\n", "damaged", info->damaged_chunks);
	if (info->quick_records)
		printf("%-10s %" PRIu64 " record%s not been made small, as CPUs were busy\n", "raw",
		       info->quick_records, info->quick_records == 1 ? " has" : "s have");
	print_events(info);
	putchar('\n');
	print_ledger(info);
	print_losses(source, info);
	print_gaps(info);
	clew_print_left_alone(stdout, "", info_meta(source, "left_alone"));
	clew_print_late_files(stdout, "", info_late_files(source));
	putchar('\n');
	print_cost(info);
}
