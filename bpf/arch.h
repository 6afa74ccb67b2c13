/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The machine, x86-64: its registers, its system calls by number, its code and its frames. Another
 * machine is another such header.
 *
 * Two other places rest on the machine: foreign.h walks its page tables, and slot_publish() in
 * record.h needs stores that stay in order.
 */
#ifndef CLEW_BPF_ARCH_H
#define CLEW_BPF_ARCH_H

#include <linux/bpf.h>

#include "kernel.h"
#include "read.h"
#include <asm/unistd.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

#define FAULT_WRITES 0x2 /* of a page fault's code: it is a store */

/* The system calls that programs know apart. */
#define CALL_READ	     __NR_read
#define CALL_WRITE	     __NR_write
#define CALL_CLOSE	     __NR_close
#define CALL_POLL	     __NR_poll
#define CALL_PREAD64	     __NR_pread64
#define CALL_READV	     __NR_readv
#define CALL_WRITEV	     __NR_writev
#define CALL_SCHED_YIELD     __NR_sched_yield
#define CALL_MSYNC	     __NR_msync
#define CALL_SENDFILE	     __NR_sendfile
#define CALL_CONNECT	     __NR_connect
#define CALL_SENDTO	     __NR_sendto
#define CALL_RECVFROM	     __NR_recvfrom
#define CALL_SENDMSG	     __NR_sendmsg
#define CALL_RECVMSG	     __NR_recvmsg
#define CALL_SHUTDOWN	     __NR_shutdown
#define CALL_CLONE	     __NR_clone
#define CALL_FORK	     __NR_fork
#define CALL_VFORK	     __NR_vfork
#define CALL_EXECVE	     __NR_execve
#define CALL_FCNTL	     __NR_fcntl
#define CALL_FLOCK	     __NR_flock
#define CALL_FSYNC	     __NR_fsync
#define CALL_FDATASYNC	     __NR_fdatasync
#define CALL_TRUNCATE	     __NR_truncate
#define CALL_FTRUNCATE	     __NR_ftruncate
#define CALL_SYNC	     __NR_sync
#define CALL_EXIT_GROUP	     __NR_exit_group
#define CALL_MQ_SEND	     __NR_mq_timedsend
#define CALL_MQ_RECEIVE	     __NR_mq_timedreceive
#define CALL_PPOLL	     __NR_ppoll
#define CALL_TEE	     __NR_tee
#define CALL_SYNC_FILE_RANGE __NR_sync_file_range
#define CALL_VMSPLICE	     __NR_vmsplice
#define CALL_FALLOCATE	     __NR_fallocate
#define CALL_RECVMMSG	     __NR_recvmmsg
#define CALL_EPOLL_PWAIT2    __NR_epoll_pwait2
#define CALL_SYNCFS	     __NR_syncfs
#define CALL_SENDMMSG	     __NR_sendmmsg
#define CALL_EXECVEAT	     __NR_execveat
#define CALL_CLONE3	     __NR_clone3

#define TS_COMPAT 0x0002 /* in thread_info.status: in a 32-bit system call */
#define CODE_32	  0x23	 /* code segment of 32-bit programs */

#define KERNEL_STACK_SIZE 32768 /* no kernel stack is larger */

/* The registers that the kernel puts on the stack for a signal's handler lie so
 * far above the frame of the code that returns from it (struct rt_sigframe). */
#define SIGNAL_BP 120
#define SIGNAL_SP 160
#define SIGNAL_IP 168

/* Code that makes and leaves a frame: `ret`, `ret` with a number, and both ways to
 * write `push rbp; mov rbp, rsp`. */
#define CODE_RET	 0xc3
#define CODE_RET_AND_POP 0xc2
#define CODE_PROLOGUE	 0xe5894855
#define CODE_PROLOGUE_2	 0xec8b4855

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
};

#pragma clang attribute pop

/* The registers with which a task entered the kernel. */
static __always_inline struct pt_regs *saved_registers(struct task_struct *task)
{
	return (struct pt_regs *)bpf_task_pt_regs(task);
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

static __always_inline bool jump_taken(__u64 flags, __u32 condition)
{
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

static __always_inline bool is_prologue(__u32 code)
{
	return code == CODE_PROLOGUE || code == CODE_PROLOGUE_2;
}

#endif
