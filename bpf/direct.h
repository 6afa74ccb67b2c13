/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct I/O by a task. One record at the end of its request says all, if one
 * bio, or a part of one, is all of the request. If there are several bios, each
 * gets a record when the request is issued. Until then what is known of a bio
 * is kept here in a slot, by the bio's address, which many bios have one after
 * the other.
 *
 * Invariants: a slot belongs to its bio until it is freed. A slot that is being
 * written is SLOT_BUSY and no other program touches it. A bio whose end was
 * never seen holds its slot for at most SLOT_AGE. A bio without a slot gets
 * records of its own.
 */
#ifndef CLEW_BPF_DIRECT_H
#define CLEW_BPF_DIRECT_H

#include <linux/bpf.h>

#include "order.h"
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#define DIRECT_SET_BITS 13
#define DIRECT_SLOTS	4
#define SLOT_FREE	0
#define SLOT_BUSY	1
#define SLOT_AGE	60000000000ULL /* ns: longer than drivers wait for a device */

/* One cache line. */
struct direct {
	__u64 bio;
	__u64 queued;
	__u64 issued;
	__u64 request;
	__u64 inode;
	__u64 offset;
	__u64 whole; /* the bio that this one was split from, 0 none */
	__u32 file_device;
	__u32 task;
};

/* The slots that a bio may have, by its address. */
struct direct_set {
	struct direct slots[DIRECT_SLOTS];
};

/* An array: its lookup is no call. Mapped arrays start at a cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << DIRECT_SET_BITS);
	__type(key, __u32);
	__type(value, struct direct_set);
} clew_direct SEC(".maps");

static __always_inline struct direct_set *direct_set(__u64 bio)
{
	__u32 index = bio * 0x9e3779b97f4a7c15ULL >> (64 - DIRECT_SET_BITS);

	return bpf_map_lookup_elem(&clew_direct, &index);
}

static __always_inline bool direct_take(struct direct *slot, __u64 from)
{
	return __sync_bool_compare_and_swap(&slot->bio, from, SLOT_BUSY);
}

/* Publishes what was written to the slot as the bio's. */
static __always_inline void direct_keep(struct direct *slot, __u64 bio)
{
	keep_order();
	*(volatile __u64 *)&slot->bio = bio;
}

static __always_inline void direct_free(struct direct *slot)
{
	direct_keep(slot, SLOT_FREE);
}

/*
 * A bio is queued at an address: the end of the earlier one there was not seen.
 */
static __always_inline void direct_forget(__u64 bio)
{
	struct direct_set *set = direct_set(bio);
	int i;

	if (!set)
		return;
#pragma unroll
	for (i = 0; i < DIRECT_SLOTS; i++)
		if (set->slots[i].bio == bio && direct_take(&set->slots[i], bio))
			direct_free(&set->slots[i]);
}

/* A slot for the bio, to be written and then published by direct_keep(). NULL:
 * there is none, and nothing is kept of the bio. */
static __always_inline struct direct *direct_claim(__u64 bio, __u64 now)
{
	struct direct_set *set = direct_set(bio);
	int i;

	if (!set)
		return NULL;
#pragma unroll
	for (i = 0; i < DIRECT_SLOTS; i++) {
		struct direct *slot = &set->slots[i];
		__u64 held = *(volatile __u64 *)&slot->bio;

		if ((held == SLOT_FREE || held == bio ||
		     (held != SLOT_BUSY && (__s64)(now - slot->queued) > (__s64)SLOT_AGE)) &&
		    direct_take(slot, held))
			return slot;
	}
	direct_forget(bio);
	return NULL;
}

static __always_inline struct direct *direct_find(__u64 bio, __u64 whole)
{
	struct direct_set *set = direct_set(bio);
	int i;

	if (!set)
		return NULL;
#pragma unroll
	for (i = 0; i < DIRECT_SLOTS; i++)
		if (set->slots[i].bio == bio)
			return set->slots[i].whole == whole ? &set->slots[i] : NULL;
	return NULL;
}

#endif
