/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each program is about: the kind of record whose counts its runs belong to. */
#include <string.h>

#include "record/internal.h"

/* By how a program's name begins; the first that fits. */
static const struct program_kind kinds[] = {
	{"clew_sched_switch", CLEW_KIND_SWITCH, true},
	{"clew_page_fault_kernel", CLEW_KIND_SWITCH, false},
	{"clew_direct_reclaim", CLEW_KIND_SWITCH, false},
	{"clew_group_reclaim", CLEW_KIND_SWITCH, false},
	{"clew_compaction", CLEW_KIND_SWITCH, false},
	{"clew_sched_waking", CLEW_KIND_WAKE, true},
	{"clew_task_newtask", CLEW_KIND_FORK, true},
	{"clew_sched_process_exec", CLEW_KIND_EXEC, true},
	{"clew_sched_process_exit", CLEW_KIND_EXIT, true},
	{"clew_task_rename", CLEW_KIND_RENAME, true},
	{"clew_workqueue", CLEW_KIND_WORK, false},
	{"clew_block_bio", CLEW_KIND_BIO, false},
	{"clew_block", CLEW_KIND_REQUEST, false},
	{"clew_contention", CLEW_KIND_LOCK, false},
	{"clew_io_uring", CLEW_KIND_RING, false},
	{"clew_cache_writeback", CLEW_KIND_WRITEBACK, false},
	{"clew_cache_jbd2", CLEW_KIND_JOURNAL, false},
	{"clew_cache", CLEW_KIND_EXTENT, false},
	{"clew_announced", CLEW_KIND_ANNOUNCE, false},
	/* Interrupts, timers, packets: what a wake came from. */
	{"", CLEW_KIND_WAKE, false},
};

const struct program_kind *clew_program_kind(const char *name)
{
	const struct program_kind *kind = kinds;

	while (strncmp(name, kind->start, strlen(kind->start)))
		kind++;
	return kind;
}
