/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records that were missed are counted, and nothing else is known of them. Their kind says
 * what they touch.
 */
#include "words/missed.h"

#include "format/text.h"
#include "store/kinds.h"
#include "trace/trace.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void clew_missed_add_up(const struct clew_capture_info *info, uint64_t *ret_counts)
{
	memset(ret_counts, 0, CLEW_KIND_COUNT * sizeof(*ret_counts));
	for (size_t i = 0; i < info->ledger_count; i++)
		if (info->ledger[i].kind < CLEW_KIND_COUNT)
			ret_counts[info->ledger[i].kind] += info->ledger[i].missed;
}

const char *clew_missed_words(unsigned kind)
{
	static const char *const words[CLEW_KIND_COUNT] = {
		[CLEW_KIND_SWITCH] = "who ran, and what a wait was for",
		[CLEW_KIND_STATE] = "waits that began before the capture",
		[CLEW_KIND_WAKE] = "who ended a wait",
		[CLEW_KIND_WORK] = "for whom a kernel worker works",
		[CLEW_KIND_BIO] = "who queued a request",
		[CLEW_KIND_REQUEST] = "which request a wait was for",
		[CLEW_KIND_LOCK] = "waits for kernel locks",
		[CLEW_KIND_RING] = "who submitted to an io_uring",
		[CLEW_KIND_REFILL] = "when a CPU quota was refilled",
		[CLEW_KIND_EXTENT] = "who wrote or used pages of files",
		[CLEW_KIND_PAGES] = "which pages a request carries",
		[CLEW_KIND_WRITEBACK] = "why a request was written",
		[CLEW_KIND_JOURNAL] = "who a journal's commit was for",
		[CLEW_KIND_ANNOUNCE] = "calls that programs announced",
		[CLEW_KIND_FORK] = "who made a task",
		[CLEW_KIND_END] = "who has the other end of a wait",
		[CLEW_KIND_FAILED] = "what tasks tried in vain",
		[CLEW_KIND_MESSAGE] = "what was sent and received",
		[CLEW_KIND_MOMENT] = "what runtimes did",
		[CLEW_KIND_LIMIT] = "what an I/O limit of a cgroup held back",
	};

	return (kind < CLEW_KIND_COUNT ? words[kind] : NULL)
		       ?: "names of tasks, files and other things";
}

static void list_missed(FILE *out, const uint64_t *counts)
{
	bool printed[CLEW_KIND_COUNT] = {false}, begun = false;

	for (;;) {
		const char *words;
		uint64_t sum = 0;
		unsigned most = 0;

		for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
			if (!printed[kind] && counts[kind] > (most ? counts[most] : 0))
				most = kind;
		if (!most)
			return;
		words = clew_missed_words(most);
		/* Several kinds may have the same words. */
		for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++) {
			if (printed[kind] || strcmp(clew_missed_words(kind), words))
				continue;
			printed[kind] = true;
			sum += counts[kind];
		}
		fprintf(out, "%s%s (%" PRIu64 ")", begun ? ", " : "", words, sum);
		begun = true;
	}
}

void clew_print_missed(FILE *out, const char *before, const uint64_t *counts)
{
	char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size);

	if (!line)
		return;
	fputs(before, line);
	list_missed(line, counts);
	if (!fclose(line))
		clew_print_folded(out, text);
	free(text);
}

void clew_json_missed(struct clew_json *json, const uint64_t *counts)
{
	clew_json_object(json, "missed_by");
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
		if (counts[kind])
			clew_json_unsigned(json, store_shape(kind)->name ?: "unknown",
					   counts[kind]);
	clew_json_object_end(json);
}
