// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a wait leads to: who held what it waited for, else who ended it, else a leaf.
 * A leaf of the wait's own kind says that nothing here can be followed; wherever the
 * capture fails to tell, the leaf is unknown.
 */
#include <analyse/why_internal.h>

/* Waits for what no task has to give. */
static bool waits_for_nobody(unsigned kind)
{
	switch (kind) {
	case CLEW_WAIT_SLEEP:
	case CLEW_WAIT_IDLE:
	case CLEW_WAIT_STOPPED:
	case CLEW_WAIT_TTY:
	case CLEW_WAIT_THROTTLE:
		return true;
	default:
		return false;
	}
}

bool why_waits_for_disk(unsigned kind)
{
	switch (kind) {
	case CLEW_WAIT_READ:
	case CLEW_WAIT_WRITE:
	case CLEW_WAIT_FSYNC:
	case CLEW_WAIT_FILE:
	case CLEW_WAIT_IO:
	case CLEW_WAIT_FAULT:
		return true;
	default:
		return false;
	}
}

static unsigned leaf_kind(const struct clew_sleep *sleep)
{
	bool interrupt = sleep->context != CLEW_WAKE_UNKNOWN && sleep->context != CLEW_WAKE_TASK;

	if (sleep->blind)
		return CLEW_WAIT_UNKNOWN;
	if (waits_for_nobody(sleep->kind) && (interrupt || sleep->end == CLEW_TIME_OPEN))
		return sleep->kind;
	if (why_waits_for_disk(sleep->kind) && interrupt)
		return sleep->kind;
	return CLEW_WAIT_UNKNOWN;
}

struct why_cause why_cause_of(const struct clew_sleep *sleep, uint64_t from, uint64_t to)
{
	struct why_cause cause = {.until = to, .kind = (uint8_t)leaf_kind(sleep)};
	const struct clew_holder *holders = sleep->holders;
	uint32_t low = 0, high = sleep->holder_count;

	if (sleep->blind)
		return cause;
	/* The first holder that still held it at `from`. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (holders[middle].to <= from)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < sleep->holder_count && holders[low].from <= from) {
		cause.task = holders[low].task;
		cause.edge_type = CLEW_EDGE_UNLOCK;
		cause.evidence = holders[low].evidence;
		cause.until = holders[low].to < to ? holders[low].to : to;
		return cause;
	}
	if (low < sleep->holder_count && holders[low].from < to)
		cause.until = holders[low].from;
	if (sleep->end != CLEW_TIME_OPEN && sleep->ended_by != CLEW_NO_TASK && sleep->edge_type >= 0) {
		cause.task = sleep->ended_by;
		cause.edge_type = (uint8_t)sleep->edge_type;
		cause.evidence = sleep->edge_evidence;
	}
	return cause;
}
