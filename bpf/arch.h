/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The machine: its system calls by number here, its registers, its code and its frames in the
 * header of each machine. Its way over stacks is in unwind_x86.h and unwind_arm64.h.
 */
#ifndef CLEW_BPF_ARCH_H
#define CLEW_BPF_ARCH_H

#include <linux/bpf.h>

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/call_numbers.h>

#if defined(__TARGET_ARCH_x86)
#include "arch_x86.h"
#elif defined(__TARGET_ARCH_arm64)
#include "arch_arm64.h"
#endif

#define FAULT_WRITES 0x2 /* of a page fault's code: it is a store */

/* The system calls that programs know apart. */
#define CALL_READ	     CLEW_NR_read
#define CALL_WRITE	     CLEW_NR_write
#define CALL_CLOSE	     CLEW_NR_close
#define CALL_POLL	     CLEW_NR_poll
#define CALL_PREAD64	     CLEW_NR_pread64
#define CALL_READV	     CLEW_NR_readv
#define CALL_WRITEV	     CLEW_NR_writev
#define CALL_SCHED_YIELD     CLEW_NR_sched_yield
#define CALL_MSYNC	     CLEW_NR_msync
#define CALL_SENDFILE	     CLEW_NR_sendfile
#define CALL_CONNECT	     CLEW_NR_connect
#define CALL_SENDTO	     CLEW_NR_sendto
#define CALL_RECVFROM	     CLEW_NR_recvfrom
#define CALL_SENDMSG	     CLEW_NR_sendmsg
#define CALL_RECVMSG	     CLEW_NR_recvmsg
#define CALL_SHUTDOWN	     CLEW_NR_shutdown
#define CALL_CLONE	     CLEW_NR_clone
#define CALL_FORK	     CLEW_NR_fork
#define CALL_VFORK	     CLEW_NR_vfork
#define CALL_EXECVE	     CLEW_NR_execve
#define CALL_FCNTL	     CLEW_NR_fcntl
#define CALL_FLOCK	     CLEW_NR_flock
#define CALL_FSYNC	     CLEW_NR_fsync
#define CALL_FDATASYNC	     CLEW_NR_fdatasync
#define CALL_TRUNCATE	     CLEW_NR_truncate
#define CALL_FTRUNCATE	     CLEW_NR_ftruncate
#define CALL_SYNC	     CLEW_NR_sync
#define CALL_EXIT_GROUP	     CLEW_NR_exit_group
#define CALL_MQ_SEND	     CLEW_NR_mq_timedsend
#define CALL_MQ_RECEIVE	     CLEW_NR_mq_timedreceive
#define CALL_PPOLL	     CLEW_NR_ppoll
#define CALL_TEE	     CLEW_NR_tee
#define CALL_SYNC_FILE_RANGE CLEW_NR_sync_file_range
#define CALL_VMSPLICE	     CLEW_NR_vmsplice
#define CALL_FALLOCATE	     CLEW_NR_fallocate
#define CALL_RECVMMSG	     CLEW_NR_recvmmsg
#define CALL_EPOLL_PWAIT2    CLEW_NR_epoll_pwait2
#define CALL_SYNCFS	     CLEW_NR_syncfs
#define CALL_SENDMMSG	     CLEW_NR_sendmmsg
#define CALL_EXECVEAT	     CLEW_NR_execveat
#define CALL_CLONE3	     CLEW_NR_clone3

/* The registers with which a task entered the kernel. */
static __always_inline struct pt_regs *saved_registers(struct task_struct *task)
{
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

#endif
