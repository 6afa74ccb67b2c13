/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's structures of a process's memory; see kernel.h. */
#ifndef CLEW_BPF_KERNEL_MM_H
#define CLEW_BPF_KERNEL_MM_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct maple_tree {
	void *ma_root;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct___tree {
	struct maple_tree mm_mt;
	mm_context_t context;
	void *pgd;
};

/* The first three fields lie side by side in this order in all kernels since 6.1. */
struct vm_area_struct___mm {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

#pragma clang attribute pop

#endif
