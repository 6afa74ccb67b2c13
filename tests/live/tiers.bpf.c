/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts calls of two functions of the kernel that one process makes, by each way to see them. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

volatile __u32 target; /* process */
__u64 entries;
__u64 returns;

/* `first`: the calls of the process's first thread, else those of all others. */
static __always_inline int count(__u64 *of, bool first)
{
	__u64 task = bpf_get_current_pid_tgid();

	if (task >> 32 == target && ((__u32)task == target) == first)
		__sync_fetch_and_add(of, 1);
	return 0;
}

#define PAIR(way, entry, exit, first)                                                              \
	SEC(entry)                                                                                 \
	int way##_entry(void *context)                                                             \
	{                                                                                          \
		return count(&entries, first);                                                     \
	}                                                                                          \
	SEC(exit)                                                                                  \
	int way##_return(void *context)                                                            \
	{                                                                                          \
		return count(&returns, first);                                                     \
	}

PAIR(fentry_write, "fentry/vfs_write", "fexit/vfs_write", true)
PAIR(fentry_read, "fentry/vfs_read", "fexit/vfs_read", false)
PAIR(many_write, "kprobe.multi/vfs_write", "kretprobe.multi/vfs_write", true)
PAIR(many_read, "kprobe.multi/vfs_read", "kretprobe.multi/vfs_read", false)
PAIR(single_write, "kprobe/vfs_write", "kretprobe/vfs_write", true)
PAIR(single_read, "kprobe/vfs_read", "kretprobe/vfs_read", false)
