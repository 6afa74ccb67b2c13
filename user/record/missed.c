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
#include "record/internal.h"

static void add_object(const struct bpf_object *object, uint64_t *counts)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, object) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);

		if (bpf_program__fd(program) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			continue;
		counts[clew_program_kind(bpf_program__name(program))->kind] +=
			info.recursion_misses;
	}
}

void clew_missed_runs(const struct clew_recorder *recorder, uint64_t *ret_counts)
{
	memset(ret_counts, 0, CLEW_KIND_COUNT * sizeof(*ret_counts));
	add_object(recorder->bpf->obj, ret_counts);
	for (unsigned i = 0; i < recorder->more_count; i++)
		add_object(recorder->more[i]->obj, ret_counts);
}
