/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs that the kernel left out: of a program that is at work on a CPU already it
 * starts no second run there, as in an interrupt. It counts them by program, so they
 * are rows of no CPU, of the kind that the program is about.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <string.h>

#include "clew.skel.h"
#include "internal.h"

/* By how a program's name begins; the first that fits. */
static const struct {
	const char *start;
	unsigned kind;
} kinds[] = {
	{"clew_sched_switch", CLEW_KIND_SWITCH},
	{"clew_page_fault_kernel", CLEW_KIND_SWITCH},
	{"clew_direct_reclaim", CLEW_KIND_SWITCH},
	{"clew_group_reclaim", CLEW_KIND_SWITCH},
	{"clew_compaction", CLEW_KIND_SWITCH},
	{"clew_task_newtask", CLEW_KIND_FORK},
	{"clew_sched_process_exec", CLEW_KIND_EXEC},
	{"clew_sched_process_exit", CLEW_KIND_EXIT},
	{"clew_task_rename", CLEW_KIND_RENAME},
	{"clew_workqueue", CLEW_KIND_WORK},
	{"clew_block_bio", CLEW_KIND_BIO},
	{"clew_block", CLEW_KIND_REQUEST},
	{"clew_contention", CLEW_KIND_LOCK},
	{"clew_io_uring", CLEW_KIND_RING},
	{"clew_cache_writeback", CLEW_KIND_WRITEBACK},
	{"clew_cache_jbd2", CLEW_KIND_JOURNAL},
	{"clew_cache", CLEW_KIND_EXTENT},
	{"clew_announced", CLEW_KIND_ANNOUNCE},
	/* Interrupts, timers, packets: what a wake came from. */
	{"", CLEW_KIND_WAKE},
};

static void add_object(const struct bpf_object *object, uint64_t *counts)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);
		size_t i = 0;

		if (bpf_program__fd(program) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			continue;
		while (strncmp(bpf_program__name(program), kinds[i].start, strlen(kinds[i].start)))
			i++;
		counts[kinds[i].kind] += info.recursion_misses;
	}
}

void clew_missed_runs(const struct clew_recorder *recorder, uint64_t *ret_counts)
{
	memset(ret_counts, 0, CLEW_KIND_COUNT * sizeof(*ret_counts));
	add_object(recorder->bpf->obj, ret_counts);
	for (unsigned i = 0; i < recorder->more_count; i++)
		add_object(recorder->more[i]->obj, ret_counts);
}
