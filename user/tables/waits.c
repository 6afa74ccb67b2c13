/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of waits, and of who held what was waited for. */
#include <clew/tokens.h>

#include "answers/report/report.h"
#include "explain/operations.h"
#include "explain/summary.h"
#include "explain/wait_groups.h"
#include "tables/internal.h"
#include "words/wait.h"

enum {
	WAIT_ID,
	WAIT_TID,
	WAIT_PID,
	WAIT_COMM,
	WAIT_PROCESS,
	WAIT_START,
	WAIT_END,
	WAIT_NS,
	WAIT_KIND,
	WAIT_CLASS,
	WAIT_CALL,
	WAIT_OBJECT_KIND,
	WAIT_OBJECT,
	WAIT_RUNQUEUE,
	WAIT_ENDED_BY_TID,
	WAIT_ENDED_BY,
	WAIT_CONTEXT,
	WAIT_TYPE,
	WAIT_EVIDENCE,
	WAIT_HOLDER_TID,
	WAIT_HOLDER,
	WAIT_OPEN,
	WAIT_BLIND,
	WAIT_IDLE,
	WAIT_SELF
};

static const struct table_column wait_columns[] = {
	[WAIT_ID] = {"id", TABLE_INTEGER, "number of the wait"},
	[WAIT_TID] = {"tid", TABLE_INTEGER, "the thread that waited"},
	[WAIT_PID] = {"pid", TABLE_INTEGER, "its process"},
	[WAIT_COMM] = {"comm", TABLE_TEXT, "its name then"},
	[WAIT_PROCESS] = {"process", TABLE_TEXT, "name of its process's first thread"},
	[WAIT_START] = {"start", TABLE_INTEGER, "when it went to sleep"},
	[WAIT_END] = {"end", TABLE_INTEGER, "when it was woken; NULL not in the capture"},
	[WAIT_NS] = {"ns", TABLE_INTEGER, "how long it slept, at most until the capture's end"},
	[WAIT_KIND] = {"kind", TABLE_TEXT, "kind of wait, as in clew waits"},
	[WAIT_CLASS] = {"class", TABLE_TEXT,
			"quota, lock, disk, net, mem, peer, pipe, thread, proc, timer or other; "
			"NULL idle"},
	[WAIT_CALL] = {"call", TABLE_TEXT, "system call that it waited in; NULL none"},
	[WAIT_OBJECT_KIND] = {"object_kind", TABLE_TEXT, "kind of what it waited for"},
	[WAIT_OBJECT] = {"object", TABLE_TEXT, "name of what it waited for"},
	[WAIT_RUNQUEUE] = {"runqueue_ns", TABLE_INTEGER, "then ready, until it had a CPU"},
	[WAIT_ENDED_BY_TID] = {"ended_by_tid", TABLE_INTEGER, "the thread that woke it"},
	[WAIT_ENDED_BY] = {"ended_by", TABLE_TEXT, "name of that thread"},
	[WAIT_CONTEXT] = {"context", TABLE_TEXT, "where the wake came from: task, timer, .."},
	[WAIT_TYPE] = {"type", TABLE_TEXT, "type of the dependency that ended it"},
	[WAIT_EVIDENCE] = {"evidence", TABLE_TEXT, "exact, observed or candidate"},
	[WAIT_HOLDER_TID] = {"holder_tid", TABLE_INTEGER, "the thread that held it longest"},
	[WAIT_HOLDER] = {"holder", TABLE_TEXT, "name of that thread"},
	[WAIT_OPEN] = {"open", TABLE_TEXT, "start, end or both: those are not in the capture"},
	[WAIT_BLIND] = {"blind", TABLE_INTEGER, "1: records are missing, the end may be wrong"},
	[WAIT_IDLE] = {"idle", TABLE_INTEGER, "1: a wait for work, which clew waits leaves out"},
	[WAIT_SELF] = {"self", TABLE_INTEGER, "1: a wait of clew itself"},
	{},
};

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

static const char *class_of(const struct table_source *source, const struct clew_sleep *sleep)
{
	enum clew_spent spent = clew_spent_within(source->trace, sleep);

	return spent == CLEW_SPENT_COUNT ? NULL : report_spent_name(spent);
}

/* Columns about its end and about who held it. */
static void wait_end_value(const struct table_source *source, const struct clew_sleep *sleep,
			   unsigned column, struct table_value *value)
{
	const struct clew_holder *holder = clew_wait_main_holder(sleep);
	bool ended = sleep->end != CLEW_TIME_OPEN;

	switch (column) {
	case WAIT_ENDED_BY_TID:
		if (ended)
			set_tid(source, sleep->ended_by, value);
		break;
	case WAIT_ENDED_BY:
		if (ended)
			set_comm(source, sleep->ended_by, sleep->raw_end ?: sleep->end, value);
		break;
	case WAIT_CONTEXT:
		set_string(value, ended ? clew_context_name(sleep->context) : NULL);
		break;
	case WAIT_TYPE:
		if (sleep->edge_type >= 0)
			set_string(value,
				   clew_trace_type_name(source->trace, (unsigned)sleep->edge_type));
		break;
	case WAIT_EVIDENCE:
		if (sleep->edge_type >= 0)
			set_string(value, clew_evidence_name(sleep->edge_evidence));
		break;
	case WAIT_HOLDER_TID:
		if (holder)
			set_tid(source, holder->task, value);
		break;
	case WAIT_HOLDER:
		if (holder)
			set_comm(source, holder->task, holder->from, value);
		break;
	}
}

static void wait_plain_value(const struct table_source *source, const struct clew_sleep *sleep,
			     unsigned column, struct table_value *value)
{
	switch (column) {
	case WAIT_TID:
		set_tid(source, sleep->task, value);
		break;
	case WAIT_PID:
		set_pid(source, sleep->task, value);
		break;
	case WAIT_COMM:
		set_comm(source, sleep->task, sleep->start, value);
		break;
	case WAIT_PROCESS:
		set_process(source, sleep->task, sleep->start, value);
		break;
	case WAIT_START:
		set_number(value, sleep->start);
		break;
	case WAIT_END:
		set_known(value, sleep->end, CLEW_TIME_OPEN);
		break;
	case WAIT_NS:
		set_number(value, clew_wait_end(source->trace, sleep) - sleep->start);
		break;
	case WAIT_KIND:
		set_string(value, clew_wait_kind_name(sleep->kind));
		break;
	case WAIT_CLASS:
		set_string(value, class_of(source, sleep));
		break;
	case WAIT_CALL:
		set_string(value, clew_call_name(sleep->call));
		break;
	case WAIT_RUNQUEUE:
		set_number(value, clew_wait_runqueue(source->trace, sleep));
		break;
	case WAIT_OPEN:
		set_string(value, clew_wait_open_name(sleep->open));
		break;
	case WAIT_BLIND:
		set_number(value, sleep->blind);
		break;
	case WAIT_IDLE:
		set_number(value, sleep_is_idle(source->trace, sleep));
		break;
	case WAIT_SELF:
		set_number(value, (clew_trace_task(source->trace, sleep->task)->flags &
				   CLEW_TASK_SELF) != 0);
		break;
	}
}

static int wait_value(struct table_cursor *cursor, unsigned column, struct table_value *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_sleep *sleep = wait_at(source, cursor->item);

	if (column == WAIT_ID)
		set_number(value, cursor->item);
	else if (column == WAIT_OBJECT || column == WAIT_OBJECT_KIND)
		return set_object(cursor, &sleep->object, sleep, column == WAIT_OBJECT, value);
	else if (column >= WAIT_ENDED_BY_TID && column <= WAIT_HOLDER)
		wait_end_value(source, sleep, column, value);
	else
		wait_plain_value(source, sleep, column, value);
	return 0;
}

const struct table table_waits = {.name = "waits",
				  .meaning = "times in which a thread slept",
				  .columns = wait_columns,
				  .count = wait_count,
				  .parts = wait_parts,
				  .value = wait_value};

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

static const struct table_column holder_columns[] = {
	[HOLDER_WAIT] = {"wait", TABLE_INTEGER, "the wait, waits.id"},
	[HOLDER_TID] = {"tid", TABLE_INTEGER, "a thread that held what was waited for"},
	[HOLDER_PID] = {"pid", TABLE_INTEGER, "its process"},
	[HOLDER_COMM] = {"comm", TABLE_TEXT, "its name then"},
	[HOLDER_START] = {"start", TABLE_INTEGER, "from then on, within the wait"},
	[HOLDER_END] = {"end", TABLE_INTEGER, "until then"},
	[HOLDER_NS] = {"ns", TABLE_INTEGER, "how long"},
	[HOLDER_EVIDENCE] = {"evidence", TABLE_TEXT, "exact, observed or candidate"},
	[HOLDER_BARGED] = {"barged", TABLE_INTEGER, "1: it took the lock before those in line"},
	[HOLDER_COMING] = {"coming", TABLE_INTEGER, "1: woken for the lock, it had no CPU yet"},
	{},
};

static size_t holder_parts(const struct table_source *source, size_t item)
{
	return wait_parts(source, item) ? wait_at(source, item)->holder_count : 0;
}

static int holder_value(struct table_cursor *cursor, unsigned column, struct table_value *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_holder *holder = &wait_at(source, cursor->item)->holders[cursor->part];
	uint64_t to = clew_trace_until(source->trace, holder->to);

	switch (column) {
	case HOLDER_WAIT:
		set_number(value, cursor->item);
		break;
	case HOLDER_TID:
		set_tid(source, holder->task, value);
		break;
	case HOLDER_PID:
		set_pid(source, holder->task, value);
		break;
	case HOLDER_COMM:
		set_comm(source, holder->task, holder->from, value);
		break;
	case HOLDER_START:
		set_number(value, holder->from);
		break;
	case HOLDER_END:
		set_number(value, to);
		break;
	case HOLDER_NS:
		set_number(value, to - holder->from);
		break;
	case HOLDER_EVIDENCE:
		set_string(value, clew_evidence_name(holder->evidence));
		break;
	case HOLDER_BARGED:
		set_number(value, holder->barged);
		break;
	case HOLDER_COMING:
		set_number(value, holder->coming);
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
