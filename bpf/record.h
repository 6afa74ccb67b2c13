/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends a record to user space.
 *
 * A CPU has two rings. Switches, a thousand times as many as all other records,
 * go to slots that are written in place: reserve and submit of a ring buffer
 * would cost more than the rest of the program. All other records go to a BPF
 * ring buffer.
 *
 * Invariant: the counters of SWITCH and WAKE are only touched with interrupts
 * off, so plain increments suffice; all others are atomic.
 */
#ifndef CLEW_BPF_RECORD_H
#define CLEW_BPF_RECORD_H

#include "order.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: switch slots of each CPU, and how many bytes in a CPU's ring
 * buffer wake the drain. */
const volatile __u32 switch_slots;
const volatile __u64 ring_urgent;

/* Slots for switches, and for direct I/O that interrupts complete; see struct
 * clew_cpu_state. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clew_switch_slot);
} clew_switches SEC(".maps");

/* Ring buffers for all other records. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} clew_rings SEC(".maps") = {};

/* The CPU's next free slot. NULL if fewer than two are free: a switch may need
 * a second one for its cause. */
static __always_inline struct clew_switch_slot *slot_next(struct clew_cpu_state *cpu_state,
							  __u32 cpu)
{
	__u64 head = cpu_state->head;
	__u32 index = cpu * switch_slots + cpu_state->position;

	if (unlikely(head - *(volatile __u64 *)&cpu_state->tail >= switch_slots - 1))
		return NULL;
	return bpf_map_lookup_elem(&clew_switches, &index);
}

/* Publishes the next `used` slots to the drain: they are complete when it sees the new head. */
static __always_inline void slots_publish(struct clew_cpu_state *cpu_state, __u32 used)
{
	cpu_state->position += used;
	if (unlikely(cpu_state->position >= switch_slots))
		cpu_state->position -= switch_slots;
	keep_order();
	*(volatile __u64 *)&cpu_state->head = cpu_state->head + used;
}

/* The ring buffer of a CPU, or NULL. */
static __always_inline void *ring_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&clew_rings, &cpu);
}

/* Counts a record of `kind` that was or was not reserved. */
static __always_inline void account(struct clew_cpu_state *cpu_state, __u8 kind, bool reserved)
{
	struct clew_count_row *row = &cpu_state->counts[kind];

	if (likely(reserved)) {
		count_atomic(&row->reserved);
	} else {
		count_atomic(&row->lost);
		__sync_fetch_and_add(&cpu_state->lost, 1);
	}
}

#define DRAIN_WAKE_PERIOD 200000 /* ns */

/* Wakes the drain, which may sleep longer than a burst takes to fill the ring.
 * At most one wakeup in DRAIN_WAKE_PERIOD. */
__noinline int drain_wake(__u32 cpu, __u64 time)
{
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	void *ring = ring_of(cpu), *empty;

	if (!cpu_state || !ring || (__s64)(time - cpu_state->called) < DRAIN_WAKE_PERIOD)
		return 0;
	cpu_state->called = time;
	empty = bpf_ringbuf_reserve(ring, sizeof(__u64), 0);
	if (empty)
		bpf_ringbuf_discard(empty, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Reserves a record of `kind` on this CPU's ring and fills in its header. NULL
 * if there is no room; the loss is counted. */
static __always_inline void *record_reserve(struct clew_cpu_state *cpu_state, __u32 cpu, __u8 kind,
					    __u64 time, __u64 size)
{
	void *ring = ring_of(cpu);
	struct clew_header *header = NULL;

	count_atomic(&cpu_state->counts[kind].seen);
	if (ring) {
		if (unlikely(bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_urgent))
			drain_wake(cpu, time);
		header = bpf_ringbuf_reserve(ring, size, 0);
	}
	account(cpu_state, kind, header != NULL);
	if (!header)
		return NULL;
	header->time = time;
	header->lost = cpu_state->lost;
	header->cpu = cpu;
	header->kind = kind;
	header->flags = 0;
	return header;
}

static __always_inline void record_submit(void *record)
{
	/*
	 * The drain polls: a wakeup for each record would cost the traced task.
	 */
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

#endif
