/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the interrupt that makes the kernel receive a network device's packets. The
 * handler does not receive them itself: it appends the device's queue (struct
 * napi_struct) to its CPU's poll list, and a softirq polls the list, also after
 * other interrupts, which raise no softirq of their own while one is polling.
 * When a handler returns, the queue that it appended is the last of the list.
 *
 * A packet names the queue that received it. If a driver leaves that out, the
 * packet is attributed to the last queue of its device here.
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

/*
 * Fixed at load: from a CPU's struct rq to its struct softnet_data; 0 unknown.
 */
const volatile __s64 softnet_offset;

#define NAPI_SLOTS 4096

struct napi_slot {
	__u32 napi; /* the queue's number, 0 none */
	__u32 interrupt;
	__u64 action; /* address of the interrupt's struct irqaction */
};

/* Indexed by the queue's number. A queue has one interrupt, so CPUs that write
 * at the same time write the same. */
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

/* The address of the last entry of this CPU's poll list, or of the list's head;
 * 0 if unknown. */
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

	/*
	 * The begin of the first interrupt on this CPU may not have been seen.
	 */
	if (likely(last == cpu_state->last_to_poll) || !cpu_state->last_to_poll)
		return;
	queue = (struct napi_struct *)(last - bpf_core_field_offset(struct napi_struct, poll_list));
	napi = numbered ? READ(queue, napi_id) : 0;
	device = READ_NUMBER(queue, dev);
	/* A queue for sent packets has no number, and receives nothing. */
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

/* The interrupt that made the kernel receive a packet. `ret_action`: the
 * address of its struct irqaction, 0 if unknown. */
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
	/* Packets that a handler receives itself wait in the CPU's own queue,
	 * which belongs to no device. */
	if (!napi &&
	    (!cpu_state->polled_device || cpu_state->polled_device == READ_NUMBER(packet, dev))) {
		*ret_action = cpu_state->polled_action;
		return cpu_state->polled_interrupt;
	}
	return 0;
}

#endif
