/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last lines of clew record: how much was recorded, what is missing from it, and what that
 * cost.
 */
#include "cli/record/record_summary.h"

#include <stdio.h>
#include <stdlib.h>

#include "answers/functions/left_alone.h"
#include "format/text.h"
#include "store/capture.h"
#include "symbol/elf/demangle.h"
#include "trace/trace.h"
#include "words/ledger.h"
#include "words/missed.h"

#define MOST_DROPPED 10
#define FEW_RECORDS  1000000 /* it takes about a second to go through that many */
#define SURE_RECORDS 100000  /* counted even where no switch seemed to be missing */

/*
 * The waits that the missing switches touch. Where there are too many records to count these at
 * once, `clew info` is named: it counts them. Errors are left to those who open the file.
 */
static void print_hidden(const char *output, const struct clew_recorder_summary *summary)
{
	char message[300];
	struct clew_reader *reader;
	uint64_t hidden = 0;

	if (summary->records > FEW_RECORDS) {
		clew_print_folds(stderr, "clew: switches are missing that were not lost: clew info "
					 "says how many waits this touches");
		return;
	}
	if (clew_reader_open(output, &reader, message, sizeof(message)) < 0)
		return;
	if (clew_count_hidden(reader, &hidden) >= 0)
		clew_print_hidden(stderr, "clew: this", hidden,
				  summary->missed_by[CLEW_KIND_SWITCH]);
	clew_reader_close(reader);
}

static void print_dropped(const struct clew_recorder_summary *summary)
{
	for (size_t i = 0; i < summary->dropped_count && i < MOST_DROPPED; i++) {
		const struct clew_dropped_function *function = &summary->dropped[i];
		char *readable = symbol_demangle(function->name, false);

		fputs("clew: dropped ", stderr);
		clew_print_safe(stderr, readable ?: function->name);
		fprintf(stderr, ": %.0f calls a second cost %.0f %% of a CPU (--max-cost)\n",
			function->calls_per_second, function->share * 100);
		free(readable);
	}
	if (summary->dropped_count > MOST_DROPPED)
		fprintf(stderr, "clew: dropped %zu more functions: clew latency --json names all\n",
			summary->dropped_count - MOST_DROPPED);
}

void clew_print_summary(const char *title, const char *output, bool segments,
			const struct clew_recorder_summary *summary, bool verify, bool hidden)
{
	double seconds = summary->duration / 1e9;

	fprintf(stderr, "clew: %s: %.2f s, %llu records, %.1f MB, lost %llu, missed %llu%s\n",
		title, seconds, (unsigned long long)summary->records, summary->bytes / 1e6,
		(unsigned long long)summary->lost, (unsigned long long)summary->missed,
		summary->balanced ? "" : ", the ledger does not balance");
	if (summary->cost.bpf_sampled)
		fprintf(stderr,
			"clew: own cost: %.3f s of CPU time, and about %.3f s in its kernel "
			"programs\n",
			summary->cost.user_ns / 1e9, summary->cost.bpf_ns / 1e9);
	else
		fprintf(stderr,
			"clew: own cost: %.3f s of CPU time (too short to sample its kernel "
			"programs)\n",
			summary->cost.user_ns / 1e9);
	if (summary->missed)
		clew_print_missed(stderr, "clew: answers may lack ", summary->missed_by);
	if (verify)
		fprintf(stderr, "clew: switches seen %llu, counted apart %llu\n",
			(unsigned long long)summary->seen_switches,
			(unsigned long long)summary->verified_switches);
	print_dropped(summary);
	clew_print_left_alone(stderr, "clew: ", summary->left_alone);
	clew_print_late_files(stderr, "clew: ", summary->late_files);
	/* The first switch of a CPU may contradict what was found there, which `hidden` lacks. */
	if (!segments &&
	    (hidden || summary->missed_by[CLEW_KIND_SWITCH] || summary->records <= SURE_RECORDS))
		print_hidden(output, summary);
}
