/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of what a task tried in vain. They are as rare as what they are about. */
#ifndef CLEW_BPF_FAILED_H
#define CLEW_BPF_FAILED_H

#include "record.h"
#include "state.h"
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

/* `tried` has all but the header. */
static __always_inline void failed_emit(__u8 what, const struct clew_failed *tried)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);
	struct clew_failed *record;
	struct clew_header header;

	if (!cpu_state)
		return;
	record = record_reserve(cpu_state, cpu, CLEW_KIND_FAILED, clock_ns(), sizeof(*record));
	if (!record)
		return;
	header = record->header;
	*record = *tried;
	record->header = header;
	record->header.flags = what;
	record_submit(record);
}

#endif
