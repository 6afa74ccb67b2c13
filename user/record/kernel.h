/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the running kernel is and gives. */
#ifndef CLEW_RECORD_KERNEL_H
#define CLEW_RECORD_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "record/recorder.h"

struct btf;

/* Whether this process may load tracing programs (CAP_SYS_ADMIN, or CAP_BPF and CAP_PERFMON). */
bool clew_kernel_privileged(void);

/* Whether BPF programs are interpreted, which newer kernels refuse those of tracepoints with BTF.
 */
bool clew_kernel_jit_off(void);

/* Whether this process sees all tasks there are: false in a PID namespace of its own. */
bool clew_kernel_shows_all_tasks(void);

/* The kernel's BTF, or NULL with words: too old, or built without. The caller frees it. */
struct btf *clew_kernel_btf(struct clew_message *message);

/* Bytes from a CPU's struct rq to its preempt count; 0: this kernel's BTF does not tell. */
int64_t clew_kernel_preempt_count_offset(const struct btf *btf);

/* The same to its struct softnet_data, where the network devices are that the CPU shall poll. */
int64_t clew_kernel_softnet_offset(const struct btf *btf);

/* Whether an argument of a tracepoint, counted from 0, is a pointer to that structure. */
bool clew_kernel_tracepoint_takes(const struct btf *btf, const char *name, unsigned argument,
				  const char *structure);

/* Whether a structure has that member, in the kernel itself or in a module that is loaded. */
bool clew_kernel_has_member(struct btf *btf, const char *module, const char *structure,
			    const char *member);

/* How many CPUs there are, of which those with rings are numbered below the result. */
int clew_kernel_cpus(void);

#endif
