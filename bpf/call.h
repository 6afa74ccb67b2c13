/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system call that a task is in, read from its saved user registers. No
 * system call is traced for this.
 */
#ifndef CLEW_BPF_CALL_H
#define CLEW_BPF_CALL_H

#include "context.h"
#include "kernel.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/calls.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* Fixed at load: which arguments a call waits by (enum clew_call_class), and
 * the 64-bit number of a 32-bit call. */
const volatile __u8 call_class[CLEW_CALL_COUNT];
const volatile __u16 compat_call[CLEW_CALL_COUNT];

#define CALL_READ	     0
#define CALL_WRITE	     1
#define CALL_CLOSE	     3
#define CALL_POLL	     7
#define CALL_PREAD64	     17
#define CALL_READV	     19
#define CALL_WRITEV	     20
#define CALL_SCHED_YIELD     24
#define CALL_SENDFILE	     40
#define CALL_SENDTO	     44
#define CALL_RECVFROM	     45
#define CALL_SENDMSG	     46
#define CALL_RECVMSG	     47
#define CALL_SHUTDOWN	     48
#define CALL_FCNTL	     72
#define CALL_FLOCK	     73
#define CALL_EXIT_GROUP	     231
#define CALL_MQ_SEND	     242
#define CALL_MQ_RECEIVE	     243
#define CALL_PPOLL	     271
#define CALL_TEE	     276
#define CALL_VMSPLICE	     278
#define CALL_SYNC_FILE_RANGE 277
#define CALL_RECVMMSG	     299
#define CALL_SENDMMSG	     307

/* The saved user registers, as the call's arguments. */
struct call {
	__u64 argument[4];
	__s64 number; /* 64-bit number; < 0: none, or the 64-bit table has no such call */
	bool compat;
	bool outside; /* in no system call */
};

static __always_inline void read_call(struct task_struct *task, struct call *ret_call)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__s64 number = regs->orig_ax;

	ret_call->compat = task->thread_info.status & TS_COMPAT;
	if (unlikely(ret_call->compat)) {
		ret_call->argument[0] = (__u32)regs->bx;
		ret_call->argument[1] = (__u32)regs->cx;
		ret_call->argument[2] = (__u32)regs->dx;
		ret_call->argument[3] = (__u32)regs->si;
		number = (__s32)number;
		ret_call->outside = number < 0;
		if (number >= 0)
			number = number < CLEW_CALL_COUNT
					 ? (__s64)compat_call[number & (CLEW_CALL_COUNT - 1)]
					 : CLEW_NO_CALL;
		if (number == CLEW_NO_CALL)
			number = -1;
	} else {
		ret_call->outside = number < 0;
		ret_call->argument[0] = regs->di;
		ret_call->argument[1] = regs->si;
		ret_call->argument[2] = regs->dx;
		ret_call->argument[3] = regs->r10;
	}
	/* A task that was killed in a call has left it, though its registers
	 * still name the call. */
	if (unlikely(task->flags & PF_EXITING))
		number = CALL_EXIT_GROUP;
	ret_call->number = number;
}

/* The call that the task here is in, as clew_bio.call has it. */
static __always_inline __u32 context_call(const struct context *context)
{
	struct call call;

	if (context->level != LEVEL_TASK || context->task->flags & PF_KTHREAD)
		return 0;
	read_call(context->task, &call);
	return call.number + 1;
}

/* Calls that receive data. A task that sleeps in one found no data; a task that
 * is in one sends no data of its own. */
static __always_inline bool receives(__s64 number)
{
	switch (number) {
	case CALL_READ:
	case CALL_READV:
	case CALL_RECVFROM:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
		return true;
	}
	return false;
}

/* Calls that do nothing but move data from or to their descriptor. */
static __always_inline bool moves_data(__s64 number)
{
	switch (number) {
	case CALL_WRITE:
	case CALL_WRITEV:
	case CALL_SENDTO:
	case CALL_SENDMSG:
	case CALL_SENDMMSG:
		return true;
	}
	return receives(number);
}

static __always_inline __u8 class_of(const struct call *call)
{
	if (call->number < 0 || call->number >= CLEW_CALL_COUNT)
		return CLEW_CALL_PLAIN;
	return call_class[call->number & (CLEW_CALL_COUNT - 1)];
}

static __always_inline __s32 spliced_to(const struct call *call)
{
	return call->number == CALL_TEE ? call->argument[1] : call->argument[2];
}

static __always_inline bool polls_entries(const struct call *call)
{
	return call->number == CALL_POLL || call->number == CALL_PPOLL;
}

static __always_inline bool locks_files(__s64 number)
{
	return number == CALL_FLOCK || number == CALL_FCNTL;
}

static __always_inline __u16 call_after(const struct clew_wait *wait)
{
	return wait->call == CLEW_NO_CALL ? CLEW_NO_CALL : wait->call + 1;
}

#define CALL_SYNC_FILE_RANGE 277

#endif
