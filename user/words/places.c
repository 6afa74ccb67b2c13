/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that threads of a causal trace ran in. */
#include "words/places.h"

#include <clew/kernel/calls.h>
#include <clew/tokens.h>

#include "words/running.h"

void clew_print_place_sum(FILE *out, const struct clew_place_sum *sum)
{
	const struct clew_running running = {.call = CLEW_NO_CALL, .faults = sum->faults};

	if (sum->stay.call == CLEW_NO_CALL)
		fputs("outside of known calls", out);
	else
		fputs(sum->stay.evidence == CLEW_EVIDENCE_CANDIDATE ? "perhaps " : "", out);
	if (sum->stay.call != CLEW_NO_CALL)
		clew_print_call_of(out, &sum->stay);
	clew_print_running(out, &running);
}

void clew_json_place_sum(struct clew_json *json, const struct clew_place_sum *sum)
{
	bool known = sum->stay.call != CLEW_NO_CALL;

	clew_json_unsigned(json, "ns", sum->ns);
	clew_json_string(json, "call", clew_call_name(sum->stay.call));
	clew_json_unsigned(json, "faults", sum->faults);
	clew_json_string(json, "evidence", known ? clew_evidence_name(sum->stay.evidence) : NULL);
	clew_json_string(json, "memory", known ? clew_memory_word(sum->stay.reason) : NULL);
}
