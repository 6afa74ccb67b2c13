/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ledger and the cost of a recording. */
#include "words/ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "words/hosts.h"
#include "words/missed.h"

bool clew_ledger_row_balanced(const struct clew_ledger_row *row)
{
	return row->seen == row->filtered + row->reserved + row->lost + row->missed &&
	       row->reserved == row->read && row->read == row->stored;
}

/*
 * A capture that was cut off before its first ledger, or whose ledgers are damaged, lacks them. A
 * ledger has the losses and the cost.
 */
static bool ledger_known(const struct clew_capture_info *info)
{
	return info->ledger_count > 0 ||
	       (info->complete && !info->damaged_chunks && !info->imported);
}

void clew_ledger_add_up(const struct clew_capture_info *info, struct clew_ledger_sum *ret_sum)
{
	struct clew_ledger_row *total = &ret_sum->total;
	uint64_t lost = 0;

	memset(ret_sum, 0, sizeof(*ret_sum));
	ret_sum->lost_known = ledger_known(info);
	for (size_t i = 0; i < info->gap_count; i++) {
		if (info->gaps[i].count == CLEW_GAP_UNCOUNTED)
			ret_sum->uncounted = true;
		else if (info->gaps[i].header.flags & CLEW_GAP_IN_FILE)
			ret_sum->missing += info->gaps[i].count;
		else
			lost += info->gaps[i].count;
	}
	/*
	 * A capture without a ledger was cut off before its first one: nothing
	 * shows that it is complete.
	 */
	ret_sum->balanced = info->ledger_count > 0;
	for (size_t i = 0; i < info->ledger_count; i++) {
		const struct clew_ledger_row *row = &info->ledger[i];

		ret_sum->balanced &= clew_ledger_row_balanced(row);
		total->seen += row->seen;
		total->filtered += row->filtered;
		total->reserved += row->reserved;
		total->read += row->read;
		total->stored += row->stored;
		total->lost += row->lost;
		total->missed += row->missed;
	}
	/* The ledger of a capture that was cut off is older than its last gaps. */
	if (lost > total->lost) {
		total->seen += lost - total->lost;
		total->lost = lost;
	}
}

void clew_json_cost(struct clew_json *json, const struct clew_capture_info *info)
{
	clew_json_object(json, "cost");
	if (ledger_known(info)) {
		clew_json_unsigned(json, "user_ns", info->cost.user_ns);
		clew_json_unsigned(json, "bpf_ns", info->cost.bpf_ns);
	} else {
		clew_json_null(json, "user_ns");
		clew_json_null(json, "bpf_ns");
	}
	clew_json_bool(json, "bpf_sampled", info->cost.bpf_sampled);
	clew_json_object_end(json);
}

/* Ranges of files, and blocks of metadata, that the builder had no room for. */
static uint64_t forgotten_of(const struct clew_trace *trace)
{
	struct clew_builder_forgotten forgotten = clew_trace_forgotten(trace);

	return forgotten.pages + forgotten.blocks;
}

void clew_json_lost(struct clew_json *json, const struct clew_ledger_sum *sum)
{
	/* Gaps may tell of losses without a ledger. */
	clew_json_maybe(json, "lost", sum->lost_known || sum->total.lost, sum->total.lost);
	clew_json_maybe(json, "missed", sum->lost_known, sum->total.missed);
}

void clew_json_ledger(struct clew_json *json, const struct clew_trace *trace, uint64_t from,
		      uint64_t to)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	const struct clew_gap *first;
	uint64_t missed[CLEW_KIND_COUNT];
	struct clew_ledger_sum sum;

	clew_json_hosts(json, trace);
	if (!info) {
		clew_json_null(json, "ledger");
		clew_json_null(json, "hidden");
		clew_json_null(json, "cost");
		return;
	}
	if (info->imported) {
		clew_json_null(json, "ledger");
		clew_json_unsigned(json, "hidden", clew_trace_hidden(trace));
		clew_json_cost(json, info);
		return;
	}
	clew_ledger_add_up(info, &sum);
	clew_missed_add_up(info, missed);
	clew_json_object(json, "ledger");
	clew_json_bool(json, "balanced", sum.balanced);
	clew_json_bool(json, "complete", info->complete);
	clew_json_lost(json, &sum);
	clew_json_missed(json, missed);
	clew_json_unsigned(json, "missing", sum.missing);
	clew_json_unsigned(json, "damaged_chunks", info->damaged_chunks);
	clew_json_unsigned(json, "gaps", clew_trace_gaps(trace, from, to, &first));
	if (forgotten_of(trace))
		clew_json_unsigned(json, "forgotten", forgotten_of(trace));
	clew_json_object_end(json);
	clew_json_unsigned(json, "hidden", clew_trace_hidden(trace));
	clew_json_cost(json, info);
}

void clew_print_cost(FILE *out, const struct clew_capture_info *info)
{
	uint64_t length;

	if (!info)
		return;
	if (!ledger_known(info)) {
		fprintf(out, "clew's own cost: not known, %s\n",
			info->imported	 ? "another tracer recorded this"
			: info->complete ? "it is damaged in the file"
					 : "the recording was cut off before it was written");
		return;
	}
	length = info->end - info->start;
	fprintf(out, "clew's own cost: %s%s of CPU time", info->complete ? "" : "at least ",
		CLEW_DURATION(info->cost.user_ns));
	if (!info->cost.bpf_sampled) {
		fputs("; its programs in the kernel were not measured\n", out);
		return;
	}
	fprintf(out, " and %s in its programs in the kernel (sampled)",
		CLEW_DURATION(info->cost.bpf_ns));
	if (length)
		fprintf(out, ", together %.2f %% of one CPU",
			100.0 * (info->cost.user_ns + info->cost.bpf_ns) / length);
	putc('\n', out);
}

void clew_print_damage(FILE *out, const char *name, bool derived,
		       const struct clew_capture_info *info)
{
	const char *before = derived ? "the capture behind " : "", *comma = "";
	struct clew_ledger_sum sum;

	clew_ledger_add_up(info, &sum);
	if (!info->damaged_chunks && !sum.missing) {
		if (!info->complete)
			fprintf(out, "clew: %s%s is cut off: answers may lack its end\n", before,
				name);
		return;
	}
	fprintf(out, "clew: %s%s is damaged: ", before, name);
	if (info->damaged_chunks) {
		fprintf(out, "%" PRIu64 " part%s unreadable", info->damaged_chunks,
			info->damaged_chunks == 1 ? "" : "s");
		comma = ", ";
	}
	if (sum.missing) {
		fprintf(out, "%s%" PRIu64 " record%s missing%s", comma, sum.missing,
			sum.missing == 1 ? "" : "s", sum.uncounted ? " at least" : "");
		comma = ", ";
	}
	if (!info->complete)
		fprintf(out, "%sits end cut off", comma);
	fputs(": answers may lack them\n", out);
}

void clew_print_hidden(FILE *out, const char *before, uint64_t hidden, uint64_t missed)
{
	if (hidden)
		clew_print_folds(out,
				 "%s kernel hid%s switches of %" PRIu64
				 " wait%s: what ended them may be unknown",
				 before, missed ? " or clew missed" : "", hidden,
				 hidden == 1 ? "" : "s");
}

/* The words about what was lost and missed while recording, after a comma. */
static void print_lost(FILE *out, const struct clew_capture_info *info,
		       const struct clew_ledger_sum *sum)
{
	if (sum->total.lost || sum->total.missed)
		fprintf(out, ", %" PRIu64 " records lost and %" PRIu64 " missed", sum->total.lost,
			sum->total.missed);
	else if (!info->ledger_count)
		fputs(", losses are not known", out);
	else if (!info->complete)
		fputs(", nothing lost until its last ledger", out);
	else
		fputs(sum->missing || sum->uncounted || info->damaged_chunks
			      ? ", nothing lost while recording"
			      : ", nothing lost",
		      out);
}

static void print_blind(FILE *out, const struct clew_trace *trace, size_t gaps,
			const struct clew_gap *first)
{
	uint64_t start = clew_trace_start(trace);
	char cpu[32] = "";

	if (first->header.cpu != CLEW_STREAM_USER)
		snprintf(cpu, sizeof(cpu), "on CPU %u ", first->header.cpu);
	clew_print_folds(out,
			 "  BLIND here in %zu gap%s, the first %sfrom +%s to +%s: what this says "
			 "of them may be wrong",
			 gaps, gaps == 1 ? "" : "s", cpu,
			 CLEW_DURATION(first->from > start ? first->from - start : 0),
			 CLEW_DURATION(first->header.time - start));
}

/* The first line about the ledger: what is lost in all. */
static void print_sum(FILE *out, const struct clew_capture_info *info,
		      const struct clew_ledger_sum *sum, bool here)
{
	char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size);

	if (!line)
		return;
	fprintf(line, "ledger: %s",
		sum->balanced	     ? "balanced"
		: info->ledger_count ? "NOT balanced"
		: info->imported     ? "none, another tracer recorded this"
				     : "none was written");
	if (!info->complete)
		fputs(", the recording was cut off", line);
	if (info->damaged_chunks)
		fprintf(line, ", %" PRIu64 " damaged chunks skipped", info->damaged_chunks);
	if (sum->missing)
		fprintf(line, ", %" PRIu64 " records missing from the file%s", sum->missing,
			sum->uncounted ? " at least" : "");
	else if (sum->uncounted && info->complete)
		fputs(", an unknown number of records missing from the file", line);
	print_lost(line, info, sum);
	if (!here && (sum->total.lost || sum->missing))
		fputs(", none of it here", line);
	if (!fclose(line))
		clew_print_folded(out, text);
	free(text);
}

void clew_print_ledger(FILE *out, const struct clew_trace *trace, uint64_t from, uint64_t to)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	const struct clew_gap *first = NULL;
	size_t gaps = clew_trace_gaps(trace, from, to, &first);
	uint64_t missed[CLEW_KIND_COUNT];
	struct clew_ledger_sum sum;

	if (!info)
		return;
	clew_print_hosts(out, trace);
	clew_ledger_add_up(info, &sum);
	clew_missed_add_up(info, missed);
	print_sum(out, info, &sum, gaps && first);
	if (gaps && first)
		print_blind(out, trace, gaps, first);
	if (sum.total.missed)
		clew_print_missed(out, "  answers may lack ", missed);
	clew_print_hidden(out, info->imported ? "  The other tracer or its" : "  This",
			  clew_trace_hidden(trace), missed[CLEW_KIND_SWITCH]);
	if (forgotten_of(trace))
		fprintf(out,
			"  forgotten for want of room: who wrote or read %" PRIu64
			" ranges of files\n",
			forgotten_of(trace));
	/*
	 * The kernel side repeats one-time records after a loss of its own. It
	 * does not know of losses in the file.
	 */
	if (sum.missing || info->damaged_chunks)
		clew_print_folded(out, "  names and objects may be lacking or old, whenever they "
				       "were told");
}
