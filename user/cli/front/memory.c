/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory that a capture takes when it is read. */
#include "cli/front/memory.h"

#include "base/memory_left.h"
#include "cli/front/fail.h"

/*
 * The least that a record takes, bytes: two thirds of what was measured for a trace (77 for calls
 * of functions, 158 to 300 for all others) and for a causal trace made of it (205, 490 to 800), so
 * that what is refused would have failed.
 */
#define TRACE_CALL   50
#define TRACE_OTHER  105
#define MODEL_CALL   135
#define MODEL_OTHER  325
#define BEFORE_PART  10000000000ull /* ns that are read before an interval, at least */
#define MEBIBYTES(n) ((double)(n) / (1 << 20))

static uint64_t least_of(const struct clew_capture_info *info, bool model)
{
	uint64_t calls = info->counts[CLEW_KIND_FUNCTION],
		 others = clew_capture_records(info) - calls;

	return calls * (model ? MODEL_CALL : TRACE_CALL) +
	       others * (model ? MODEL_OTHER : TRACE_OTHER);
}

/* The share of a capture that is read for a part of it. */
static double share_of(const struct clew_capture_info *info, uint64_t from, uint64_t to)
{
	uint64_t length = to - from + BEFORE_PART;

	if ((!from && !to) || info->end <= info->start || length >= info->end - info->start)
		return 1;
	return (double)length / (double)(info->end - info->start);
}

int clew_memory_check(const char *name, const struct clew_capture_info *info, uint64_t from,
		      uint64_t to, bool model)
{
	uint64_t least = (uint64_t)(share_of(info, from, to) * (double)least_of(info, model)),
		 left = memory_left();

	/* Without the right to, it is as likely to be killed as others. */
	(void)memory_yield();
	if (least <= left)
		return 0;
	return clew_fail(
		CLEW_EXIT_SYSTEM,
		"%s: reading this takes at least %.0f MiB of memory, and %.0f MiB are left: "
		"choose less with --from and --to, or free some",
		name, MEBIBYTES(least), MEBIBYTES(left));
}
