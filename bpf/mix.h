/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hash of several numbers, one after the other. Only equality of hashes means
 * anything.
 */
#ifndef CLEW_BPF_MIX_H
#define CLEW_BPF_MIX_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <linux/types.h>

static __always_inline __u64 mix(__u64 hash, __u64 number)
{
	hash = (hash ^ number) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

#endif
