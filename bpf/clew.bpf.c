/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel side of clew as one object: this file includes the programs of all
 * subjects. With an object for each subject, linked by `bpftool gen object`,
 * helpers that are not inlined would be compiled into each object that uses
 * them, and maps and settings would be external symbols of all objects but one.
 *
 * The order is the order of attaching, in which the kernel runs programs of the
 * same tracepoint.
 */
/* clang-format off */
#include "context.bpf.c"
#include "filelock.bpf.c"
#include "timer.bpf.c"
#include "work.bpf.c"
#include "block.bpf.c"
#include "net.bpf.c"
#include "failed.bpf.c"
#include "refused.bpf.c"
#include "message.bpf.c"
#include "lock.bpf.c"
#include "memory.bpf.c"
#include "ring.bpf.c"
#include "wake.bpf.c"
#include "sched.bpf.c"
#include "waited.bpf.c"
#include "where.bpf.c"
#include "sample.bpf.c"
#include "life.bpf.c"
#include "announce.bpf.c"
#include "function.bpf.c"
#include "moment.bpf.c"
#include "iterate.bpf.c"
#include "end.bpf.c"
#include "pagecache.bpf.c"
#include "writeback.bpf.c"
#include "journal.bpf.c"
/* clang-format on */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Counts switches on its own, to check the ledger; loaded on request. */
__u64 verify_switches;

SEC("?tp_btf/sched_switch")
int BPF_PROG(clew_verify_switch)
{
	if (enabled)
		__sync_fetch_and_add(&verify_switches, 1);
	return 0;
}
