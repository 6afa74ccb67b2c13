/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine x86-64: its registers, its code and its frames. Included by arch.h alone. */
#ifndef CLEW_BPF_ARCH_X86_H
#define CLEW_BPF_ARCH_X86_H

#include <linux/bpf.h>

#include "kernel.h"
#include "read.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

#define TS_COMPAT 0x0002 /* in thread_info.status: in a 32-bit system call */
#define CODE_32	  0x23	 /* code segment of 32-bit programs */

#define KERNEL_STACK_SIZE 32768 /* no kernel stack is larger */

#define CALL_PUSHES 8 /* bytes that a call puts on the stack, and the return takes from it */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
};

#pragma clang attribute pop

static __always_inline __u64 register_ip(struct pt_regs *registers)
{
	return registers->ip;
}

static __always_inline __u64 register_sp(struct pt_regs *registers)
{
	return registers->sp;
}

/* The same of registers that the verifier does not know. */
static __always_inline __u64 read_register_ip(struct pt_regs *registers)
{
	return READ(registers, ip);
}

static __always_inline bool in_compat_call(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

/* True if the registers are those of 32-bit code. */
static __always_inline bool is_compat_code(struct pt_regs *registers)
{
	return (registers->cs & 0xffff) == CODE_32;
}

/* The number of the system call with which the kernel was entered; < 0: with none. */
static __always_inline __s64 register_call(struct pt_regs *registers)
{
	return registers->orig_ax;
}

/* The same of a 32-bit call, by its own number. `number`: what register_call() said. */
static __always_inline __s64 register_compat_call(struct pt_regs *registers, __s64 number)
{
	return (__s32)number;
}

/* An argument of that call, 0 to 3, and the same of a 32-bit call. */
static __always_inline __u64 register_argument(struct pt_regs *registers, int number)
{
	switch (number) {
	case 0:
		return registers->di;
	case 1:
		return registers->si;
	case 2:
		return registers->dx;
	default:
		return registers->r10;
	}
}

static __always_inline __u32 register_compat_argument(struct pt_regs *registers, int number)
{
	switch (number) {
	case 0:
		return registers->bx;
	case 1:
		return registers->cx;
	case 2:
		return registers->dx;
	default:
		return registers->si;
	}
}

/* The processor's flags by which conditional jumps go. */
#define FLAG_CARRY    (1u << 0)
#define FLAG_PARITY   (1u << 2)
#define FLAG_ZERO     (1u << 6)
#define FLAG_SIGN     (1u << 7)
#define FLAG_OVERFLOW (1u << 11)

static __always_inline bool jump_taken(struct pt_regs *registers, __u32 condition)
{
	__u64 flags = registers->flags;
	bool less = !(flags & FLAG_SIGN) != !(flags & FLAG_OVERFLOW), taken;

	switch (condition >> 1) {
	case 0:
		taken = flags & FLAG_OVERFLOW;
		break;
	case 1:
		taken = flags & FLAG_CARRY;
		break;
	case 2:
		taken = flags & FLAG_ZERO;
		break;
	case 3:
		taken = flags & (FLAG_CARRY | FLAG_ZERO);
		break;
	case 4:
		taken = flags & FLAG_SIGN;
		break;
	case 5:
		taken = flags & FLAG_PARITY;
		break;
	case 6:
		taken = less;
		break;
	default:
		taken = less || (flags & FLAG_ZERO);
	}
	return taken != (condition & 1);
}

/* The stack pointer where a longjmp goes to, 0 unknown. */
static __always_inline __u64 jump_stack(struct pt_regs *registers, struct task_struct *task,
					struct clew_function_site *site)
{
	__u64 stack = 0, guard = 0, thread;

	if (bpf_probe_read_user(&stack, sizeof(stack), (void *)registers->di + 0x30))
		return 0;
	if (site->buffer == CLEW_JMP_BUF_MUSL)
		return stack;
	thread = READ(task, thread.fsbase);
	if (bpf_probe_read_user(&guard, sizeof(guard), (void *)thread + 0x30))
		return 0;
	return (stack >> 17 | stack << 47) ^ guard;
}

/* The current task's own memory of its threads' variables. */
static __always_inline __u64 thread_pointer(void)
{
	return READ_NUMBER(bpf_get_current_task_btf(), thread.fsbase);
}

/* Entries of page tables. */
#define ENTRY_PRESENT 1ull
#define ENTRY_LARGE   128ull
#define ENTRY_FRAME   0x000ffffffffff000ull /* bits of the page frame's address */

static __always_inline bool entry_is_large(__u64 entry)
{
	return entry & ENTRY_LARGE;
}

#endif
