/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of waits, and of who held what was waited for. */
#include <clew/tokens.h>

#include "answers/waits/waits.h"
#include "tables/internal.h"

static const struct clew_sleep *wait_at(const struct table_source *source, size_t item)
{
	size_t count;

	return clew_trace_sleeps(source->trace, &count) + item;
}

static size_t wait_count(struct table_source *source)
{
	size_t count;

	clew_trace_sleeps(source->trace, &count);
	return count;
}

static size_t wait_parts(const struct table_source *source, size_t item)
{
	const struct clew_sleep *sleep = wait_at(source, item);

	return clew_trace_task(source->trace, sleep->task) &&
	       row_wanted(source, sleep->task, sleep->start, sleep->end);
}

static const void *wait_item(const struct table_source *source, size_t item)
{
	return wait_at(source, item);
}

const struct table table_waits = {.name = "waits",
				  .meaning = "times in which a thread slept",
				  .columns = clew_wait_columns,
				  .count = wait_count,
				  .parts = wait_parts,
				  .item = wait_item};

/* ---- holders ---- */

enum {
	HOLDER_WAIT,
	HOLDER_TID,
	HOLDER_PID,
	HOLDER_COMM,
	HOLDER_START,
	HOLDER_END,
	HOLDER_NS,
	HOLDER_EVIDENCE,
	HOLDER_BARGED,
	HOLDER_COMING
};

static const struct clew_column holder_columns[] = {
	[HOLDER_WAIT] = CLEW_INTEGER("wait", "the wait, waits.id"),
	[HOLDER_TID] = CLEW_INTEGER("tid", "a thread that held what was waited for"),
	[HOLDER_PID] = CLEW_INTEGER("pid", "its process"),
	[HOLDER_COMM] = CLEW_TEXT("comm", "its name then"),
	[HOLDER_START] = CLEW_INTEGER("start", "from then on, within the wait"),
	[HOLDER_END] = CLEW_INTEGER("end", "until then"),
	[HOLDER_NS] = CLEW_INTEGER("ns", "how long"),
	[HOLDER_EVIDENCE] = CLEW_TEXT("evidence", "exact, observed or candidate"),
	[HOLDER_BARGED] = CLEW_INTEGER("barged", "1: it took the lock before those in line"),
	[HOLDER_COMING] = CLEW_INTEGER("coming", "1: woken for the lock, it had no CPU yet"),
	{},
};

static size_t holder_parts(const struct table_source *source, size_t item)
{
	return wait_parts(source, item) ? wait_at(source, item)->holder_count : 0;
}

static int holder_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_holder *holder = &wait_at(source, cursor->item)->holders[cursor->part];
	uint64_t to = clew_trace_until(source->trace, holder->to);

	switch (column) {
	case HOLDER_WAIT:
		clew_set_number(value, cursor->item);
		break;
	case HOLDER_TID:
		clew_set_tid(source->trace, holder->task, value);
		break;
	case HOLDER_PID:
		clew_set_pid(source->trace, holder->task, value);
		break;
	case HOLDER_COMM:
		clew_set_comm(source->trace, holder->task, holder->from, value);
		break;
	case HOLDER_START:
		clew_set_number(value, holder->from);
		break;
	case HOLDER_END:
		clew_set_number(value, to);
		break;
	case HOLDER_NS:
		clew_set_number(value, to - holder->from);
		break;
	case HOLDER_EVIDENCE:
		clew_set_string(value, clew_evidence_name(holder->evidence));
		break;
	case HOLDER_BARGED:
		clew_set_number(value, holder->barged);
		break;
	case HOLDER_COMING:
		clew_set_number(value, holder->coming);
		break;
	}
	return 0;
}

const struct table table_holders = {.name = "holders",
				    .meaning = "who held what a wait was for, one after the other",
				    .columns = holder_columns,
				    .count = wait_count,
				    .parts = holder_parts,
				    .value = holder_value};
