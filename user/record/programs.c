/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which programs this kernel can take, and the addresses they compare with.
 *
 * A program marked optional in the object is loaded if its tracepoint is there;
 * what the kernel lacks is lost, and `clew doctor` says so.
 */
#include "programs.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "clew.skel.h"
#include "kernel.h"

/* Of two programs for one tracepoint, the one that fits its third argument. */
#define COMPLETE_ENTRY "clew_io_uring_complete_entry"
#define COMPLETE_DATA  "clew_io_uring_complete"

static bool is_wanted(const struct btf *btf, const struct bpf_program *program, bool verify)
{
	const char *name = bpf_program__name(program), *tracepoint = strchr(bpf_program__section_name(program), '/');

	if (!strcmp(name, "clew_verify_switch"))
		return verify;
	if (!tracepoint || strncmp(bpf_program__section_name(program), "tp_btf/", 7))
		return true;
	if (!clew_kernel_has_tracepoint(btf, tracepoint + 1))
		return false;
	if (!strcmp(name, COMPLETE_ENTRY))
		return clew_kernel_tracepoint_takes(btf, tracepoint + 1, 2, "io_uring_cqe");
	if (!strcmp(name, COMPLETE_DATA))
		return !clew_kernel_tracepoint_takes(btf, tracepoint + 1, 2, "io_uring_cqe");
	return true;
}

void clew_programs_choose(struct clew_bpf *bpf, const struct btf *btf, bool verify)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj) bpf_program__set_autoload(program, is_wanted(btf, program, verify));
}

/* Without symbols the kernel side does without: faults in calls, functions, armers and quotas are not told. */
void clew_programs_addresses(struct clew_bpf *bpf, const struct clew_kernel_symbols *symbols)
{
	const struct {
		const char *symbol;
		const volatile __u64 *start, *end;
	} addresses[] = {
		{"asm_exc_page_fault", &bpf->rodata->fault_entry, &bpf->rodata->fault_entry_end},
		{"__sched_text_start", &bpf->rodata->sched_text, NULL},
		{"__sched_text_end", &bpf->rodata->sched_text_end, NULL},
		{"timerfd_tmrproc", &bpf->rodata->timer_timerfd, NULL},
		{"posix_timer_fn", &bpf->rodata->timer_posix, NULL},
		{"it_real_fn", &bpf->rodata->timer_interval, NULL},
		{"delayed_work_timer_fn", &bpf->rodata->timer_delayed, NULL},
		{"sched_cfs_period_timer", &bpf->rodata->timer_period, NULL},
		{"sched_cfs_slack_timer", &bpf->rodata->timer_slack, NULL},
		{"wq_barrier_func", &bpf->rodata->work_barrier, NULL},
		{"iomap_dio_bio_end_io", &bpf->rodata->direct_end_io, NULL},
		{"lo_rw_aio_complete", &bpf->rodata->loop_complete, NULL},
	};
	uint64_t start, end;

	if (!symbols)
		return;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		if (clew_kernel_symbol_find(symbols, addresses[i].symbol, &start, &end))
			continue;
		*(__u64 *)addresses[i].start = start;
		if (addresses[i].end)
			*(__u64 *)addresses[i].end = end;
	}
	if (!bpf->rodata->sched_text || !bpf->rodata->sched_text_end)
		bpf->rodata->sched_text = bpf->rodata->sched_text_end = 0;
}
