/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Properties of the running kernel. */
#ifndef CLEW_RECORD_STREAM_KERNEL_H
#define CLEW_RECORD_STREAM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "record/stream/recording.h"

struct btf;

/*
 * True if this process may load tracing programs (CAP_SYS_ADMIN, or CAP_BPF and
 * CAP_PERFMON).
 */
bool clew_kernel_privileged(void);
/* True if no program may read the kernel's memory, whoever loads it. */
bool clew_kernel_is_confidential(void);
/* True without CAP_SYS_ADMIN: libbpf does not find the types of modules then. */
bool clew_kernel_hides_modules(void);

/*
 * True if BPF programs are interpreted. Newer kernels then refuse programs of
 * BTF tracepoints.
 */
bool clew_kernel_jit_off(void);

/* True if this process sees all tasks: it is in the initial PID namespace. */
bool clew_kernel_shows_all_tasks(void);

/* For tests: the file that stands for the kernel's BTF, but for what programs are attached to.
 * NULL: none. */
const char *clew_kernel_test_btf(void);

/*
 * The kernel's BTF, which the caller frees. NULL: `message` says why there is
 * none.
 */
struct btf *clew_kernel_btf(struct clew_message *message);

/*
 * Bytes from a CPU's struct rq to its preempt count; 0: the kernel's BTF does
 * not say.
 */
int64_t clew_kernel_preempt_count_offset(const struct btf *btf);

/* True if it is known whether a task or an interrupt acts. On arm64 the task has the count. */
bool clew_kernel_knows_contexts(const struct btf *btf);

/* The bits of the preempt count that are set in a hard or a non-maskable interrupt. */
uint32_t clew_kernel_hardirq_bits(const struct btf *btf);

/*
 * Bytes from a CPU's struct rq to its struct softnet_data, which lists the
 * network devices that the CPU is to poll; 0: the kernel's BTF does not say.
 */
int64_t clew_kernel_softnet_offset(const struct btf *btf);

/*
 * True if an argument of a tracepoint, counted from 0, is a pointer to a
 * structure of that name.
 */
bool clew_kernel_tracepoint_takes(const struct btf *btf, const char *name, unsigned argument,
				  const char *structure);

/*
 * True if a structure of the kernel, or of `module` if that is loaded, has a
 * member of that name.
 */
bool clew_kernel_has_member(struct btf *btf, const char *module, const char *structure,
			    const char *member);

/* True if the kernel's release is this one or a later one. Only for a difference that neither BTF
 * nor a tracepoint shows. */
bool clew_kernel_is(unsigned major, unsigned minor);

/*
 * The number of CPUs that the machine can have; their numbers are below the result. Or
 * -errno.
 */
int clew_kernel_cpus(void);

#endif
