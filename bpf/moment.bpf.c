/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program at points of runtimes. */
#include "moment.h"
#include "arch.h"
#include "state.h"
#include <bpf/bpf_helpers.h>

SEC("uprobe")
int clew_moment(struct pt_regs *registers)
{
	if (enabled)
		moment_at(registers, bpf_get_attach_cookie(registers));
	return 0;
}
