/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of the kernel among what is recorded, which one link attaches to and one to their
 * returns. */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_KERNEL_H
#define CLEW_RECORD_FUNCTIONS_TRACED_KERNEL_H

#include "record/functions/traced_file.h"

/* True if this kernel takes many probes at once and lists addresses. */
bool traced_kernel_multi(void);
/* 0, or -ENOTSUP with a message: this kernel takes no probes at its own functions. */
int traced_kernel_possible(struct clew_message *message);
/*
 * Adds the functions of some globs. `kernel`: the file that stands for it. Measures the cost of
 * a probe, into traced->cost.kernel. `say`: takes a line about that, or NULL. 0, -EINVAL with a
 * message, or -errno; -ENOSPC: there is no number for a site any more.
 */
int traced_kernel_add(struct traced *traced, struct traced_file *kernel, const char *const *globs,
		      size_t count, void (*say)(const char *line), struct clew_message *message);

#endif
