/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel side of clew as one object: this file includes the programs of all
 * subjects. Were each subject an object of its own, linked by `bpftool gen object`,
 * helpers that are functions of their own would be compiled once for each object that
 * uses them, and maps and settings would be external symbols of all but one.
 *
 * The order is that in which programs are attached, so the one in which the kernel runs
 * programs of the same tracepoint.
 */
/* clang-format off */
#include "context.bpf.c"
#include "filelock.bpf.c"
#include "timer.bpf.c"
#include "work.bpf.c"
#include "block.bpf.c"
#include "net.bpf.c"
#include "lock.bpf.c"
#include "memory.bpf.c"
#include "ring.bpf.c"
#include "wake.bpf.c"
#include "sched.bpf.c"
#include "life.bpf.c"
#include "announce.bpf.c"
#include "iterate.bpf.c"
#include "pagecache.bpf.c"
#include "writeback.bpf.c"
#include "journal.bpf.c"
/* clang-format on */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Counts switches by itself, to check the ledger against; loaded on request. */
__u64 verify_switches;

SEC("?tp_btf/sched_switch")
int BPF_PROG(clew_verify_switch)
{
	if (enabled)
		__sync_fetch_and_add(&verify_switches, 1);
	return 0;
}
