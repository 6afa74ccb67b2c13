/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Announced calls that have a key, as text. */
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdio.h>

#include "answers/spans/spans.h"
#include "format/position.h"
#include "format/text.h"

const char *clew_keys_name(const struct clew_keys_call *call, char buffer[CLEW_KEYS_NAME_SIZE])
{
	snprintf(buffer, CLEW_KEYS_NAME_SIZE, "%s.%s", call->interface, call->operation);
	return buffer;
}

static void print_caller(FILE *out, const struct clew_keys *keys, const struct clew_keys_call *call)
{
	struct clew_keys_call caller;
	char name[CLEW_KEYS_NAME_SIZE];

	if (!call->caller_count || !clew_keys_call(keys, clew_keys_caller(call, 0), &caller))
		return;
	if (call->caller_count > 1) {
		fprintf(out, ", for one of %" PRIu32 " calls", call->caller_count);
		return;
	}
	fputs(", for ", out);
	clew_print_safe(out, clew_keys_name(&caller, name));
	fputs(" of ", out);
	clew_print_safe(out, caller.comm);
	fprintf(out, "-%" PRIu32 " (%s)", caller.tid, clew_evidence_name(call->evidence));
}

void clew_print_keys_call(FILE *out, const struct clew_keys *keys,
			  const struct clew_keys_call *call)
{
	const struct clew_keys_about *about = clew_keys_about(keys);
	struct clew_keys_word word;
	char name[CLEW_KEYS_NAME_SIZE];
	size_t at = 0;

	fprintf(out, "+%-13s ", CLEW_OFFSET(call->begin - about->start, about->end - about->start));
	fprintf(out, "%9s  ",
		call->end == CLEW_TIME_OPEN ? "open" : CLEW_DURATION(call->end - call->begin));
	clew_print_safe(out, call->comm);
	fprintf(out, "-%" PRIu32 "  ", call->tid);
	clew_print_safe(out, clew_keys_name(call, name));
	for (uint32_t i = 0; i < call->word_count && clew_keys_word(keys, call, &at, &word); i++) {
		fputs(word.attribute ? " @" : " ", out);
		clew_print_safe(out, word.type);
		fputc('=', out);
		clew_print_safe(out, word.value);
	}
	print_caller(out, keys, call);
	fputc('\n', out);
}

void clew_print_keys_end(FILE *out, const struct clew_keys *keys, const char *key, uint64_t count)
{
	const struct clew_keys_about *about = clew_keys_about(keys);

	fprintf(out, "\n%" PRIu64 " call%s ", count, count == 1 ? " has" : "s have");
	clew_print_safe(out, key);
	fputc('\n', out);
	if (about->lost || about->missing)
		fprintf(out, "%" PRIu64 " records of the recording were lost: calls may lack\n",
			about->lost + about->missing);
	else if (about->has_ledger && !about->lost_known)
		fputs("the recording's losses are not known: calls may lack\n", out);
}
