/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel side of clew, one object. Each subject is a header of its own:
 * state (maps, counters), identity (paths, addresses), wait, filelock, wake, sched,
 * life, announce, iterate, pagecache, writeback, journal.
 */
#include "announce.h"
#include "iterate.h"
#include "journal.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Counts switches by itself, behind the same gate, to check the ledger against; loaded on request.
 */
__u64 verify_switches;

SEC("?tp_btf/sched_switch")
int BPF_PROG(clew_verify_switch)
{
	if (enabled)
		__sync_fetch_and_add(&verify_switches, 1);
	return 0;
}
