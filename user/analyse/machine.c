/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the description of the machine from a trace: where the wait of a gap ends and the run queue
 * begins, and which hierarchy is which.
 */
#include <clew/tokens.h>
#include <ctype.h>
#include <string.h>

#include "analyse/path/internal.h"

size_t row_word(const char **at, char *word, size_t size)
{
	size_t length = 0;

	while (**at == ' ')
		(*at)++;
	for (; **at && **at != ' ' && **at != ','; (*at)++) {
		if (**at == '\\' && (*at)[1])
			(*at)++;
		if (length + 1 < size)
			word[length++] = **at;
	}
	word[length] = 0;
	return length;
}

bool next_holder(const char **at, clew_time from, clew_time to, struct holder_row *ret_row)
{
	char word[sizeof(ret_row->name)];

	if (!**at)
		return false;
	row_word(at, ret_row->name, sizeof(ret_row->name));
	ret_row->from = from;
	ret_row->to = to;
	if (row_word(at, word, sizeof(word)) && isdigit((unsigned char)word[0])) {
		ret_row->from = (clew_time)strtoull(word, NULL, 10);
		if (row_word(at, word, sizeof(word)))
			ret_row->to = (clew_time)strtoull(word, NULL, 10);
	}
	ret_row->coming = false;
	ret_row->evidence = CLEW_EVIDENCE_EXACT;
	while (**at && **at != ',') {
		row_word(at, word, sizeof(word));
		ret_row->coming = !strcmp(word, "coming");
		for (unsigned i = 0; i < CLEW_EVIDENCE_COUNT; i++)
			if (!strcmp(word, clew_evidence_name(i)))
				ret_row->evidence = i;
	}
	*at += **at == ',';
	ret_row->from = ret_row->from < from ? from : ret_row->from;
	ret_row->to = ret_row->to > to ? to : ret_row->to;
	return true;
}

clew_time gap_ready(const struct clew_model *model, uint32_t es)
{
	clew_time from = model->es[es - 1].end, start = model->es[es].start, ready = start;
	uint32_t wait = model->es[es].wait, trigger = usable_trigger(model, es);
	const char *runqueue = NULL;

	if (wait != CLEW_NONE) {
		if (model->waits[wait].kind == CLEW_SEGMENT_RUNQUEUE)
			return from;
		/* A wait that its dependency does not end says so itself. */
		runqueue = clew_model_attribute(model, model->waits[wait].attributes, "runqueue");
	}
	if (runqueue)
		ready = start - (clew_time)strtoull(runqueue, NULL, 10);
	else if (trigger != CLEW_NONE)
		ready = model->es[trigger].end;
	return ready < from ? from : ready > start ? start : ready;
}

uint32_t hierarchy_named(const struct clew_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		if (!strcmp(clew_model_string(model, model->hierarchies[i]), name))
			return i;
	return CLEW_NONE;
}
