/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs that the kernel skipped. It does not start a program on a CPU where the
 * same program is running already, for example in an interrupt, and counts such
 * misses by program. In the ledger they belong to no CPU, and to the kind of
 * the program's row.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <string.h>

#include "clew.skel.h"
#include "record/stream/ledger.h"
#include "record/stream/program_table.h"
#include "record/stream/recorder_state.h"

static void add_object(const struct bpf_object *object, uint64_t *counts)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, object) {
		const struct clew_program_row *row;
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);

		if (bpf_program__fd(program) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			continue;
		row = clew_program_row(bpf_program__name(program));
		if (row)
			counts[row->kind] += info.recursion_misses;
	}
}

void clew_missed_runs(const struct clew_recorder *recorder, uint64_t *ret_counts)
{
	memset(ret_counts, 0, CLEW_KIND_COUNT * sizeof(*ret_counts));
	add_object(recorder->bpf->obj, ret_counts);
	for (unsigned i = 0; i < recorder->modules.count; i++)
		add_object(recorder->modules.objects[i]->obj, ret_counts);
}
