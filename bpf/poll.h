/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The descriptor that a task polls or selects, if it is a single one. */
#ifndef CLEW_BPF_POLL_H
#define CLEW_BPF_POLL_H

#include "call.h"
#include <bpf/bpf_helpers.h>
#include <linux/types.h>

struct poll_entry {
	__s32 descriptor;
	__u16 events, ready;
};

#define SELECT_MOST 256 /* descriptors: a larger set is likely to have more than one */

/* One word of a set of the current task, with the bits that count. All bits, so
 * more than one, if it cannot be read. */
__noinline __u64 selected_word(__u64 set, __u64 index, __u64 count)
{
	__u64 word = 0;

	if (set && bpf_probe_read_user(&word, sizeof(word), (void *)(set + index * sizeof(word))))
		return ~0ULL;
	return count < (index + 1) * 64 ? word & ((1ULL << (count & 63)) - 1) : word;
}

/* The number of the lowest bit that is set, without branches: the verifier
 * would follow each one. */
static __always_inline int lowest_bit(__u64 word)
{
	__u64 count = (word & -word) - 1;

	count -= count >> 1 & 0x5555555555555555ULL;
	count = (count & 0x3333333333333333ULL) + (count >> 2 & 0x3333333333333333ULL);
	count = (count + (count >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (int)(count * 0x0101010101010101ULL >> 56);
}

/* The one descriptor in these sets of the current task, -1 if there are several
 * or none. */
__noinline int selected_alone(__u64 count, __u64 reads, __u64 writes, __u64 exceptions)
{
	int found = -1;
	__u64 i;

	if (count > SELECT_MOST)
		return -1;
	for (i = 0; i < SELECT_MOST / 64 && i * 64 < count; i++) {
		__u64 word = selected_word(reads, i, count) | selected_word(writes, i, count) |
			     selected_word(exceptions, i, count);

		if (!word)
			continue;
		if (found >= 0 || word & (word - 1))
			return -1;
		found = (int)i * 64 + lowest_bit(word);
	}
	return found;
}

/* The descriptor that the current task polls if it is the only one, else -1. */
static __always_inline __s32 polled_alone(const struct call *call)
{
	struct poll_entry entry;

	if (!polls_entries(call))
		return selected_alone(call->argument[0], call->argument[1], call->argument[2],
				      call->argument[3]);
	if (call->argument[1] != 1 ||
	    bpf_probe_read_user(&entry, sizeof(entry), (void *)call->argument[0]))
		return -1;
	return entry.descriptor;
}

#endif
