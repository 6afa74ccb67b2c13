/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger and the cost of a recording. See ledger.h.
 */
#include "words/ledger.h"

#include <inttypes.h>
#include <string.h>

#include "words/missed.h"
#include "words/text.h"

bool clew_ledger_row_balanced(const struct clew_ledger_row *row)
{
	return row->seen == row->filtered + row->reserved + row->lost + row->missed &&
	       row->reserved == row->read && row->read == row->stored;
}

void clew_ledger_add_up(const struct clew_capture_info *info, struct clew_ledger_sum *ret_sum)
{
	struct clew_ledger_row *total = &ret_sum->total;

	memset(ret_sum, 0, sizeof(*ret_sum));
	for (size_t i = 0; i < info->gap_count; i++) {
		if (!(info->gaps[i].header.flags & CLEW_GAP_IN_FILE))
			continue;
		if (info->gaps[i].count == CLEW_GAP_UNCOUNTED)
			ret_sum->uncounted = true;
		else
			ret_sum->missing += info->gaps[i].count;
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
}

/* The cost is written with each ledger: a capture that was cut off before the first one lacks it.
 */
static bool cost_known(const struct clew_capture_info *info)
{
	return info->complete || info->ledger_count > 0;
}

void clew_json_cost(struct clew_json *json, const struct clew_capture_info *info)
{
	clew_json_object(json, "cost");
	if (cost_known(info)) {
		clew_json_unsigned(json, "user_ns", info->cost.user_ns);
		clew_json_unsigned(json, "bpf_ns", info->cost.bpf_ns);
	} else {
		clew_json_null(json, "user_ns");
		clew_json_null(json, "bpf_ns");
	}
	clew_json_bool(json, "bpf_sampled", info->cost.bpf_sampled);
	clew_json_object_end(json);
}

void clew_json_ledger(struct clew_json *json, const struct clew_trace *trace, uint64_t from,
		      uint64_t to)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	const struct clew_gap *first;
	uint64_t missed[CLEW_KIND_COUNT];
	struct clew_ledger_sum sum;

	if (!info) {
		clew_json_null(json, "ledger");
		clew_json_null(json, "hidden");
		clew_json_null(json, "cost");
		return;
	}
	clew_ledger_add_up(info, &sum);
	clew_missed_add_up(info, missed);
	clew_json_object(json, "ledger");
	clew_json_bool(json, "balanced", sum.balanced);
	clew_json_bool(json, "complete", info->complete);
	clew_json_unsigned(json, "lost", sum.total.lost);
	clew_json_unsigned(json, "missed", sum.total.missed);
	clew_json_missed(json, missed);
	clew_json_unsigned(json, "missing", sum.missing);
	clew_json_unsigned(json, "damaged_chunks", info->damaged_chunks);
	clew_json_unsigned(json, "gaps", clew_trace_gaps(trace, from, to, &first));
	clew_json_object_end(json);
	clew_json_unsigned(json, "hidden", clew_trace_hidden(trace));
	clew_json_cost(json, info);
}

void clew_print_cost(FILE *out, const struct clew_capture_info *info)
{
	uint64_t length;

	if (!info)
		return;
	if (!cost_known(info)) {
		fputs("clew's own cost: not known, the recording was cut off before it was "
		      "written\n",
		      out);
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

/* What was lost and missed while recording, and what the kernel kept from it. */
static void print_lost(FILE *out, const struct clew_trace *trace,
		       const struct clew_capture_info *info, const struct clew_ledger_sum *sum)
{
	uint64_t missed[CLEW_KIND_COUNT], hidden = clew_trace_hidden(trace);

	if (!sum->total.lost && !sum->total.missed)
		fputs(sum->missing || !info->complete ? ", nothing lost while recording"
						      : ", nothing lost",
		      out);
	else
		fprintf(out, ", %" PRIu64 " records lost and %" PRIu64 " missed", sum->total.lost,
			sum->total.missed);
	if (sum->total.missed) {
		clew_missed_add_up(info, missed);
		fputs(": answers may lack ", out);
		clew_print_missed(out, missed);
	}
	if (hidden)
		fprintf(out, "; %s switches of %" PRIu64 " wait%s: what ended them may be unknown",
			sum->total.missed && missed[CLEW_KIND_SWITCH]
				? "this kernel hid or clew missed"
				: "this kernel hid",
			hidden, hidden == 1 ? "" : "s");
}

void clew_print_ledger(FILE *out, const struct clew_trace *trace, uint64_t from, uint64_t to)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	const struct clew_gap *first = NULL;
	size_t gaps = clew_trace_gaps(trace, from, to, &first);
	struct clew_ledger_sum sum;

	if (!info)
		return;
	clew_ledger_add_up(info, &sum);
	fprintf(out, "ledger: %s",
		sum.balanced	     ? "balanced"
		: info->ledger_count ? "NOT balanced"
				     : "none was written");
	if (!info->complete)
		fputs(", the recording was cut off", out);
	if (info->damaged_chunks)
		fprintf(out, ", %" PRIu64 " damaged chunks skipped", info->damaged_chunks);
	if (sum.missing)
		fprintf(out, ", %" PRIu64 " records missing from the file%s", sum.missing,
			sum.uncounted ? " at least" : "");
	print_lost(out, trace, info, &sum);
	if (gaps && first) {
		uint64_t start = clew_trace_start(trace);

		fprintf(out, "; BLIND here in %zu gap%s, the first ", gaps, gaps == 1 ? "" : "s");
		if (first->header.cpu != CLEW_STREAM_USER)
			fprintf(out, "on CPU %u ", first->header.cpu);
		fprintf(out, "from +%s to +%s: what this says of them may be wrong",
			CLEW_DURATION(first->from > start ? first->from - start : 0),
			CLEW_DURATION(first->header.time - start));
	} else if (sum.total.lost || sum.missing) {
		fputs(", none of it here", out);
	}
	/*
	 * The kernel side repeats one-time records after a loss of its own. It
	 * does not know of losses in the file.
	 */
	if (sum.missing || info->damaged_chunks)
		fputs("; names and objects may be lacking or old, whenever they were told", out);
	putc('\n', out);
}

void clew_print_ledger_and_cost(FILE *out, const struct clew_trace *trace)
{
	clew_print_ledger(out, trace, clew_trace_start(trace), clew_trace_end(trace));
	clew_print_cost(out, clew_trace_info(trace));
}
