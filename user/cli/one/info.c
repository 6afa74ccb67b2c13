/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew info: what a capture says of itself, its ledger and its cost.
 */
#include "store/capture.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/functions/left_alone.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "format/text.h"
#include "store/kinds.h"
#include "words/ledger.h"
#include "words/missed.h"
#include "words/wall.h"

struct info_values {
	bool json;
};

const struct clew_option clew_info_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct info_values, json)},
	CLEW_OPTION_END,
};

/* The user stream has no CPU. */
#define NO_CPU (-1)

static int cpu_of(uint32_t stream)
{
	return stream == CLEW_STREAM_USER ? NO_CPU : (int)stream;
}

static const char *record_kind_name(unsigned kind)
{
	return store_shape(kind)->name ?: "unknown";
}

static uint64_t duration_of(const struct clew_capture_info *info)
{
	return info->end > info->start ? info->end - info->start : 0;
}

/* Compressed bytes of the columns that every context switch fills: switch, wake and wait. */
static double column_bytes_per_switch(const struct clew_capture_info *info)
{
	return (double)(info->column_bytes[CLEW_KIND_SWITCH] + info->column_bytes[CLEW_KIND_WAKE]) /
	       (double)info->counts[CLEW_KIND_SWITCH];
}

static double file_bytes_per_switch(const struct clew_capture_info *info)
{
	return (double)info->bytes / (double)info->counts[CLEW_KIND_SWITCH];
}

static void json_counts(struct clew_json *json, const struct clew_ledger_row *row)
{
	clew_json_unsigned(json, "seen", row->seen);
	clew_json_unsigned(json, "filtered", row->filtered);
	clew_json_unsigned(json, "reserved", row->reserved);
	clew_json_unsigned(json, "read", row->read);
	clew_json_unsigned(json, "stored", row->stored);
}

/* Lost while recording, or in the file since. */
static void json_lost(struct clew_json *json, const struct clew_gap *gap)
{
	bool in_file = gap->header.flags & CLEW_GAP_IN_FILE || gap->count == CLEW_GAP_UNCOUNTED;

	clew_json_unsigned(json, "lost", in_file ? 0 : gap->count);
	if (gap->count == CLEW_GAP_UNCOUNTED)
		clew_json_null(json, "missing");
	else
		clew_json_unsigned(json, "missing", in_file ? gap->count : 0);
}

static void json_ledger(struct clew_json *json, const struct clew_capture_info *info)
{
	struct clew_ledger_sum sum;

	if (info->imported) {
		clew_json_null(json, "ledger");
		return;
	}
	clew_ledger_add_up(info, &sum);
	clew_json_object(json, "ledger");
	json_counts(json, &sum.total);
	clew_json_lost(json, &sum);
	clew_json_unsigned(json, "missing", sum.missing);
	clew_json_bool(json, "balanced", sum.balanced);
	clew_json_array(json, "by");
	for (size_t i = 0; i < info->ledger_count; i++) {
		clew_json_object(json, NULL);
		clew_json_signed(json, "cpu", cpu_of(info->ledger[i].cpu));
		clew_json_string(json, "kind", record_kind_name(info->ledger[i].kind));
		json_counts(json, &info->ledger[i]);
		clew_json_unsigned(json, "lost", info->ledger[i].lost);
		clew_json_unsigned(json, "missed", info->ledger[i].missed);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_array(json, "gaps");
	for (size_t i = 0; i < info->gap_count; i++) {
		clew_json_object(json, NULL);
		clew_json_signed(json, "cpu", cpu_of(info->gaps[i].header.cpu));
		clew_json_unsigned(json, "from", info->gaps[i].from);
		clew_json_unsigned(json, "to", info->gaps[i].header.time);
		json_lost(json, &info->gaps[i]);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_object_end(json);
}

/* A reader or a trace, whichever there is: it says what the file tells of itself. */
struct source {
	struct clew_reader *reader;
	struct clew_trace *trace;
	uint64_t hidden; /* as clew_trace_hidden() */
};

static const char *meta(const struct source *source, const char *key)
{
	return source->reader ? clew_reader_meta(source->reader, key)
			      : clew_trace_meta(source->trace, key);
}

/* Lines "FEATURE: REASON" say what the kernel refused; NULL: nothing. */
static void json_without(struct clew_json *json, const char *lines)
{
	clew_json_array(json, "without");
	for (size_t length; lines && *lines; lines += length + (lines[length] == '\n')) {
		char line[512], *reason;

		length = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)length, lines);
		reason = strstr(line, ": ");
		if (!reason)
			continue;
		*reason = '\0';
		clew_json_object(json, NULL);
		clew_json_string(json, "feature", line);
		clew_json_string(json, "reason", reason + 2);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static uint64_t late_files(const struct source *source)
{
	return strtoull(meta(source, "late_files") ?: "0", NULL, 10);
}

static void print_json(const struct source *source, const struct clew_capture_info *info)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_string(&json, "kernel", meta(source, "kernel") ?: "");
	clew_json_string(&json, "host", meta(source, "host") ?: "");
	clew_json_string(&json, "machine", meta(source, "machine"));
	clew_json_string(&json, "command", meta(source, "command"));
	clew_json_unsigned(&json, "cpus", info->cpus);
	clew_json_unsigned(&json, "start", info->start);
	clew_json_unsigned(&json, "end", info->end);
	clew_json_unsigned(&json, "duration_ns", duration_of(info));
	clew_json_unsigned(&json, "bytes", info->bytes);
	clew_json_object(&json, "events");
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
		if (info->counts[kind])
			clew_json_unsigned(&json, record_kind_name(kind), info->counts[kind]);
	clew_json_object_end(&json);
	clew_json_object(&json, "columns");
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
		if (info->column_bytes[kind])
			clew_json_unsigned(&json, record_kind_name(kind), info->column_bytes[kind]);
	clew_json_object_end(&json);
	clew_json_number(&json, "column_bytes_per_switch", column_bytes_per_switch(info));
	clew_json_number(&json, "file_bytes_per_switch", file_bytes_per_switch(info));
	json_ledger(&json, info);
	clew_json_unsigned(&json, "hidden", source->hidden);
	clew_json_cost(&json, info);
	clew_json_bool(&json, "complete", info->complete);
	clew_json_unsigned(&json, "damaged_chunks", info->damaged_chunks);
	clew_json_array(&json, "clocks");
	for (size_t i = 0; i < info->clock_count; i++) {
		clew_json_object(&json, NULL);
		clew_json_unsigned(&json, "monotonic", info->clocks[i].monotonic);
		clew_json_unsigned(&json, "boot", info->clocks[i].boot);
		clew_json_unsigned(&json, "wall", info->clocks[i].wall);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	json_without(&json, meta(source, "without"));
	clew_json_left_alone(&json, "left_alone", meta(source, "left_alone"));
	clew_json_unsigned(&json, "late_files", late_files(source));
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_field(const char *name, const char *value)
{
	printf("%-10s ", name);
	clew_print_safe(stdout, value ?: "not said");
	putchar('\n');
}

/* Prints when the recording began, in local time of the recording. */
static void print_begin(const struct source *source, const struct clew_capture_info *info)
{
	const char *offset = meta(source, "utc_offset");
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
		print_row(cpu, record_kind_name(row->kind), row, &widths,
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
static void print_losses(const struct source *source, const struct clew_capture_info *info)
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
		length = snprintf(word, sizeof(word), " %s %" PRIu64, record_kind_name(kind),
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

static void print_text(const struct source *source, const struct clew_capture_info *info)
{
	print_field("kernel", meta(source, "kernel"));
	print_field("host", meta(source, "host"));
	if (meta(source, "command"))
		print_field("command", meta(source, "command"));
	print_without(meta(source, "without"));
	printf("%-10s %u\n", "cpus", info->cpus);
	print_begin(source, info);
	printf("%-10s %s\n", "duration", CLEW_DURATION(duration_of(info)));
	printf("%-10s %s (%" PRIu64 " bytes)\n", "size", CLEW_BYTES(info->bytes), info->bytes);
	if (info->counts[CLEW_KIND_SWITCH])
		printf("%-10s %.2f bytes a switch in its columns, %.2f in the whole file\n", "",
		       column_bytes_per_switch(info), file_bytes_per_switch(info));
	printf("%-10s %s\n", "complete",
	       info->complete ? "yes"
			      : "no: the recording was cut off, what had been written is here");
	if (info->damaged_chunks)
		printf("%-10s %" PRIu64 " chunks skipped\n", "damaged", info->damaged_chunks);
	print_events(info);
	putchar('\n');
	print_ledger(info);
	print_losses(source, info);
	print_gaps(info);
	clew_print_left_alone(stdout, "", meta(source, "left_alone"));
	clew_print_late_files(stdout, "", late_files(source));
	putchar('\n');
	print_cost(info);
}

/* Goes through all of the capture: finds damage to it, and counts what was hidden. */
static int read_all(struct source *source)
{
	int r;

	if (!source->reader) {
		source->hidden = clew_trace_hidden(source->trace);
		return 0;
	}
	r = clew_count_hidden(source->reader, &source->hidden);
	return r < 0 ? r : clew_reader_check(source->reader);
}

int clew_command_info(const struct clew_command *command, int argc, char **argv)
{
	struct info_values values = {};
	const struct clew_capture_info *info;
	struct source source = {};
	char **operands;
	int status, r;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_info(operands[0], &source.reader, &source.trace);
	if (status)
		return status;
	info = source.reader ? clew_reader_info(source.reader) : clew_trace_info(source.trace);
	if (!info)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "%s: no capture was recorded for this trace: `clew dump` shows "
				   "what is in it",
				   operands[0]);
	else if ((r = read_all(&source)) < 0)
		status = clew_fail(CLEW_EXIT_SYSTEM, "%s: %s while reading the capture",
				   operands[0], strerror(-r));
	if (!status) {
		/* The damage to a trace was told when it was opened. */
		if (source.reader)
			clew_print_damage(stderr, operands[0], false, info);
		if (values.json)
			print_json(&source, info);
		else
			print_text(&source, info);
	}
	clew_reader_close(source.reader);
	clew_trace_free(source.trace);
	return status;
}
