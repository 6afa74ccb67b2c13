/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine arm64: its registers, its code and its frames. Included by arch.h alone. */
#ifndef CLEW_BPF_ARCH_ARM64_H
#define CLEW_BPF_ARCH_ARM64_H

#include <linux/bpf.h>

#include "kernel.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/calls.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

#define THREAD_32 (1u << 22) /* in thread_info.flags: a task of 32 bits (TIF_32BIT) */
#define STATE_32  (1u << 4)  /* in pstate: the registers are those of 32-bit code */

#define KERNEL_STACK_SIZE 32768 /* no kernel stack is larger */

#define CALL_PUSHES 0 /* a call leaves the stack as it is: the address is in x30 */

#define REGISTER_FRAME 29
#define REGISTER_LINK  30

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	__u64 regs[31], sp, pc, pstate, orig_x0;
	__s32 syscallno;
};

#pragma clang attribute pop

static __always_inline __u64 register_ip(struct pt_regs *registers)
{
	return registers->pc;
}

static __always_inline __u64 register_sp(struct pt_regs *registers)
{
	return registers->sp;
}

/* The current task's own memory of its threads' variables. */
static __always_inline __u64 thread_pointer(void)
{
	return READ_NUMBER(bpf_get_current_task_btf(), thread.uw.tp_value);
}

/* The same of registers that the verifier does not know. */
static __always_inline __u64 read_register_ip(struct pt_regs *registers)
{
	return READ(registers, pc);
}

/* A 32-bit task makes 32-bit calls only. */
static __always_inline bool in_compat_call(struct task_struct *task)
{
	return task->thread_info.flags & THREAD_32;
}

/* True if the registers are those of 32-bit code. */
static __always_inline bool is_compat_code(struct pt_regs *registers)
{
	return registers->pstate & STATE_32;
}

/* Fixed at load: the number of a call by this machine's own number. */
const volatile __u16 own_call[CLEW_CALL_COUNT];

/* The number of the system call with which the kernel was entered; < 0: with none. */
static __always_inline __s64 register_call(struct pt_regs *registers)
{
	__s32 number = registers->syscallno;

	if (number < 0 || number >= CLEW_CALL_COUNT)
		return number;
	return own_call[number & (CLEW_CALL_COUNT - 1)];
}

/* The same of a 32-bit call, by its own number. `number`: what register_call() said. */
static __always_inline __s64 register_compat_call(struct pt_regs *registers, __s64 number)
{
	return registers->syscallno;
}

/* An argument of that call, 0 to 3, and the same of a 32-bit call. The first one's register gets
 * the result when the call ends. */
static __always_inline __u64 register_argument(struct pt_regs *registers, int number)
{
	switch (number) {
	case 0:
		return registers->orig_x0;
	case 1:
		return registers->regs[1];
	case 2:
		return registers->regs[2];
	default:
		return registers->regs[3];
	}
}

static __always_inline __u32 register_compat_argument(struct pt_regs *registers, int number)
{
	return register_argument(registers, number);
}

/* The processor's flags by which conditional jumps go. */
#define FLAG_OVERFLOW (1u << 28)
#define FLAG_CARRY    (1u << 29)
#define FLAG_ZERO     (1u << 30)
#define FLAG_NEGATIVE (1u << 31)

static __always_inline bool jump_taken(struct pt_regs *registers, __u32 condition)
{
	__u64 flags = registers->pstate;
	bool less = !(flags & FLAG_NEGATIVE) != !(flags & FLAG_OVERFLOW), taken;

	switch (condition >> 1) {
	case 0:
		taken = flags & FLAG_ZERO;
		break;
	case 1:
		taken = flags & FLAG_CARRY;
		break;
	case 2:
		taken = flags & FLAG_NEGATIVE;
		break;
	case 3:
		taken = flags & FLAG_OVERFLOW;
		break;
	case 4:
		taken = (flags & FLAG_CARRY) && !(flags & FLAG_ZERO);
		break;
	case 5:
		taken = !less;
		break;
	case 6:
		taken = !less && !(flags & FLAG_ZERO);
		break;
	default:
		return true;
	}
	return taken != (condition & 1);
}

/* The stack pointer where a longjmp goes to, 0 unknown: glibc keeps it behind a word that only the
 * dynamic linker has. */
static __always_inline __u64 jump_stack(struct pt_regs *registers, struct task_struct *task,
					struct clew_function_site *site)
{
	__u64 stack = 0;

	if (site->buffer != CLEW_JMP_BUF_MUSL ||
	    bpf_probe_read_user(&stack, sizeof(stack), (void *)registers->regs[0] + 0x68))
		return 0;
	return stack;
}

/* Entries of page tables. An address above 50 bits of memory is none. */
#define ENTRY_PRESENT 1ull
#define ENTRY_TABLE   2ull /* above the last level: it leads to a table, not to a large page */
#define ENTRY_FRAME   0x0003fffffffff000ull /* bits of the page frame's address */

static __always_inline bool entry_is_large(__u64 entry)
{
	return !(entry & ENTRY_TABLE);
}

#endif
