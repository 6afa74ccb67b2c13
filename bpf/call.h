/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The system call that a task is in, read from its saved user registers. No
 * system call is traced for this.
 */
#ifndef CLEW_BPF_CALL_H
#define CLEW_BPF_CALL_H

#include "arch.h"
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

/* The saved user registers, as the call's arguments. */
struct call {
	__u64 argument[4];
	__s64 number; /* 64-bit number; < 0: none, or the 64-bit table has no such call */
	bool compat;
	bool outside; /* in no system call */
	__u8 class;   /* enum clew_call_class */
	__u8 stands;  /* STANDS_*, for describe_call() */
};

/*
 * Memory of a map, read again: to the verifier it is any value of its type, and all ways that lead
 * here are one.
 */
#define AGAIN(field) (*(volatile typeof(field) *)&(field))

static __always_inline __u8 class_of_number(__s64 number)
{
	if (number < 0 || number >= CLEW_CALL_COUNT)
		return CLEW_CALL_PLAIN;
	return call_class[number & (CLEW_CALL_COUNT - 1)];
}

static __always_inline void read_call(struct task_struct *task, struct call *ret_call)
{
	struct pt_regs *registers = saved_registers(task);
	__s64 number = register_call(registers);

	ret_call->compat = in_compat_call(task);
	if (unlikely(ret_call->compat)) {
		ret_call->argument[0] = register_compat_argument(registers, 0);
		ret_call->argument[1] = register_compat_argument(registers, 1);
		ret_call->argument[2] = register_compat_argument(registers, 2);
		ret_call->argument[3] = register_compat_argument(registers, 3);
		number = register_compat_call(registers, number);
		ret_call->outside = number < 0;
		if (number >= 0)
			number = number < CLEW_CALL_COUNT
					 ? (__s64)compat_call[number & (CLEW_CALL_COUNT - 1)]
					 : CLEW_NO_CALL;
		if (number == CLEW_NO_CALL)
			number = -1;
	} else {
		ret_call->outside = number < 0;
		ret_call->argument[0] = register_argument(registers, 0);
		ret_call->argument[1] = register_argument(registers, 1);
		ret_call->argument[2] = register_argument(registers, 2);
		ret_call->argument[3] = register_argument(registers, 3);
	}
	/* A task that was killed in a call has left it, though its registers
	 * still name the call. */
	if (unlikely(task->flags & PF_EXITING))
		number = CALL_EXIT_GROUP;
	ret_call->number = number;
	ret_call->class = class_of_number(number);
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

#endif
