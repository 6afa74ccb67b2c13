/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder's state, for the files of user/builder only. Each subject has a header
 * with its structures and functions; the state is one structure that contains them all.
 *
 * Files form no circles but one, which is real: block, request, flight, journal,
 * writeback, work and cause call each other. A bio is written because of what its task
 * does; that may be a work item, whose cause may be a request, which consists of bios.
 */
#ifndef CLEW_BUILDER_BUILDER_H
#define CLEW_BUILDER_BUILDER_H

#include "base/map.h"
#include "base/vector.h"
#include "builder/backing.h"
#include "builder/block.h"
#include "builder/build.h"
#include "builder/cpu.h"
#include "builder/frame.h"
#include "builder/futex.h"
#include "builder/journal.h"
#include "builder/pages.h"
#include "builder/ring.h"
#include "builder/task.h"
#include "builder/work.h"
#include "builder/writeback.h"

struct clew_builder {
	struct clew_builder_options options;
	struct clew_finding_taker *takers;
	size_t taker_count;
	uint32_t wanted;       /* tags that some taker wants */
	uint64_t needed_kinds; /* kinds of records that some wanted finding depends on */
	struct block_table blocks;
	struct work_table works;
	struct ring_table rings;
	struct page_table pages;
	struct backing_table backings;
	struct writeback_table writebacks;
	struct journal_table journals;
	struct map function_kinds; /* address or hash of a function's name -> kind of waits in it */
	struct map quotas;	   /* cgroup -> struct quota * */
	size_t quotas_kept;	   /* how many were in use when unused ones were last forgotten */
	struct vector links;	   /* struct clew_link; of one sleep at a time */
	struct task_table tasks;
	struct frame_table frames;
	struct futex_table futexes;
	struct cpu *cpus;
	size_t cpu_count;
	uint64_t sleep_count;
	uint64_t loss_to;     /* when the last gap ended, 0 none */
	uint64_t last_switch; /* time of the last SWITCH record */
	uint64_t now;	      /* the horizon */
	uint64_t stepped;     /* the last multiple of CLEW_STEP that takers know of */
	bool steps;	      /* some taker wants to know */
	int error;	      /* what a taker returned, or -ENOMEM */
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif
