/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs at entries and exits of functions, in user space and in the kernel. */
#include "function.h"
#include "arch.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <linux/types.h>

SEC("uprobe")
int clew_function(struct pt_regs *registers)
{
	if (enabled)
		function_at(registers, cookie_of(registers));
	return 0;
}

SEC("kprobe.multi")
int clew_kernel_function(struct pt_regs *registers)
{
	if (enabled)
		kernel_function_at(registers, bpf_get_attach_cookie(registers));
	return 0;
}
