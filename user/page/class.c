/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The classes of time. */
#include "page/class.h"

#include <clew/tokens.h>
#include <string.h>

static const char *const names[PAGE_CLASS_COUNT] = {
	[PAGE_UNKNOWN] = "unknown", [PAGE_RUNNING] = "running", [PAGE_READY] = "ready, no CPU",
	[PAGE_LOCK] = "lock",	    [PAGE_DISK] = "disk",	[PAGE_OTHERS] = "others",
	[PAGE_MEMORY] = "memory",   [PAGE_IDLE] = "idle",	[PAGE_QUOTA] = "CPU quota",
};

static const uint8_t class_of_spent[CLEW_SPENT_COUNT + 1] = {
	[CLEW_SPENT_RUNNING] = PAGE_RUNNING, [CLEW_SPENT_READY] = PAGE_READY,
	[CLEW_SPENT_LOCK] = PAGE_LOCK,	     [CLEW_SPENT_DISK] = PAGE_DISK,
	[CLEW_SPENT_NETWORK] = PAGE_OTHERS,  [CLEW_SPENT_MEMORY] = PAGE_MEMORY,
	[CLEW_SPENT_QUOTA] = PAGE_QUOTA,     [CLEW_SPENT_PEER] = PAGE_OTHERS,
	[CLEW_SPENT_PIPE] = PAGE_OTHERS,     [CLEW_SPENT_THREAD] = PAGE_OTHERS,
	[CLEW_SPENT_PROCESS] = PAGE_OTHERS,  [CLEW_SPENT_TIMER] = PAGE_OTHERS,
	[CLEW_SPENT_REMOTE] = PAGE_OTHERS,   [CLEW_SPENT_OTHER] = PAGE_OTHERS,
	[CLEW_SPENT_COUNT] = PAGE_IDLE,
};

const char *page_class_name(enum page_class class)
{
	return names[class];
}

enum page_class page_class_of_kind(unsigned kind)
{
	switch (kind) {
	case CLEW_SEGMENT_RUNNING:
		return PAGE_RUNNING;
	case CLEW_SEGMENT_RUNQUEUE:
		return PAGE_READY;
	case CLEW_SEGMENT_DEVICE:
	case CLEW_SEGMENT_QUEUED:
		return PAGE_DISK;
	case CLEW_WAIT_UNKNOWN:
		return PAGE_UNKNOWN;
	default:
		return class_of_spent[clew_spent_of_kind(kind)];
	}
}

enum page_class page_class_of_piece(const struct clew_trace *trace, const struct clew_piece *piece)
{
	switch (piece->kind) {
	case CLEW_PIECE_RUNNING:
		return PAGE_RUNNING;
	case CLEW_PIECE_RUNQUEUE:
		return PAGE_READY;
	case CLEW_PIECE_SLEEP:
		return piece->sleep->kind == CLEW_WAIT_UNKNOWN
			       ? PAGE_UNKNOWN
			       : class_of_spent[clew_spent_of(trace, piece->sleep)];
	default:
		return PAGE_UNKNOWN;
	}
}

void page_class_sums(const struct clew_program *program, uint64_t *ret_ns)
{
	memset(ret_ns, 0, PAGE_CLASS_COUNT * sizeof(*ret_ns));
	for (unsigned spent = 0; spent < CLEW_SPENT_COUNT; spent++)
		ret_ns[class_of_spent[spent]] += program->spent[spent];
}
