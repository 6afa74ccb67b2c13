/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which interrupt makes the kernel take in a network device's packets. Its handler does not do that
 * itself: it appends the device's queue (napi_struct) to its CPU's list of those to be polled, and
 * a softirq does the rest, after other interrupts too, which ask for no softirq of their own while
 * one polls. What a handler appended is the list's last when it returns.
 *
 * A packet says which queue it came by; one of a driver that leaves this out is held for one of its
 * device's last queue here.
 */
#ifndef CLEW_BPF_NAPI_H
#define CLEW_BPF_NAPI_H

#include "kernel_io.h"
#include "read.h"
#include "state.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: from a CPU's struct rq to its struct softnet_data; 0 unknown. */
const volatile __s64 softnet_offset;

#define NAPI_SLOTS 4096

struct napi_slot {
	__u32 napi; /* a queue's own number, 0 none */
	__u32 interrupt;
	__u64 action; /* address of what handles it */
};

/* By the queue's number. Each has but one interrupt, so that CPUs that write at once write the
 * same. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAPI_SLOTS);
	__type(key, __u32);
	__type(value, struct napi_slot);
} clew_napi SEC(".maps");

static __always_inline struct napi_slot *napi_slot(__u32 napi)
{
	__u32 index = napi & (NAPI_SLOTS - 1);

	return bpf_map_lookup_elem(&clew_napi, &index);
}

/* Address of the last of this CPU's list of queues to be polled, or of the list's head, 0 if that
 * is not known. */
static __always_inline __u64 last_to_poll(struct clew_cpu_state *cpu_state)
{
	__u64 here = variable_here(cpu_state, softnet_offset);

	return here ? READ_NUMBER((struct softnet_data *)here, poll_list.prev) : 0;
}

static __always_inline void napi_before_interrupt(struct clew_cpu_state *cpu_state)
{
	cpu_state->last_to_poll = last_to_poll(cpu_state);
}

static __always_inline void napi_after_interrupt(struct clew_cpu_state *cpu_state, __u32 interrupt,
						 __u64 action)
{
	bool numbered = bpf_core_field_exists(struct napi_struct, napi_id);
	__u64 last = last_to_poll(cpu_state), device;
	struct napi_struct *queue;
	struct napi_slot *slot;
	__u32 napi;

	/* Of the first interrupt here the beginning may not have been seen. */
	if (likely(last == cpu_state->last_to_poll) || !cpu_state->last_to_poll)
		return;
	queue = (struct napi_struct *)(last - bpf_core_field_offset(struct napi_struct, poll_list));
	napi = numbered ? READ(queue, napi_id) : 0;
	device = READ_NUMBER(queue, dev);
	/* A queue of what was sent has no number, and nothing is received by it. */
	if (numbered && !napi && device)
		return;
	cpu_state->polled_device = device;
	cpu_state->polled_interrupt = interrupt;
	cpu_state->polled_action = action;
	slot = napi ? napi_slot(napi) : NULL;
	if (!slot || (slot->napi == napi && slot->action == action))
		return;
	slot->interrupt = interrupt;
	slot->action = action;
	slot->napi = napi;
}

/* The interrupt that had a packet taken in; ret_action: the address of what handles it, 0 if none
 * is known. */
static __always_inline __u32 napi_interrupt(struct clew_cpu_state *cpu_state,
					    struct sk_buff *packet, __u64 *ret_action)
{
	__u32 napi = bpf_core_field_exists(packet->napi_id) ? packet->napi_id : 0;
	struct napi_slot *slot = napi ? napi_slot(napi) : NULL;

	*ret_action = 0;
	if (slot && slot->napi == napi) {
		*ret_action = slot->action;
		return slot->interrupt;
	}
	/* What a handler takes in itself waits in the CPU's own queue, which is of no device. */
	if (!napi &&
	    (!cpu_state->polled_device || cpu_state->polled_device == READ_NUMBER(packet, dev))) {
		*ret_action = cpu_state->polled_action;
		return cpu_state->polled_interrupt;
	}
	return 0;
}

#endif
