/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs at the begin and end of interrupts, softirqs and inter-processor
 * interrupts.
 */
#include "context.h"
#include "extent.h"
#include "kernel_io.h"
#include "napi.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

/* Returns this CPU's state, NULL if nothing is recorded; level_leave() does the
 * same. */
static __always_inline struct clew_cpu_state *level_enter(enum level level, __u8 kind, __u64 object,
							  __u64 handler)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state;
	struct clew_level *here;

	if (!enabled)
		return NULL;
	cpu_state = this_cpu_state(cpu);
	if (!cpu_state)
		return NULL;
	here = &cpu_state->levels[level & 1];
	cpu_state->interrupted = 1;
	here->outer.kind = kind;
	here->outer.object = object;
	here->outer.handler = handler;
	here->outer.last_request = 0;
	here->inner.kind = 0;
	here->request = 0;
	return cpu_state;
}

static __always_inline struct clew_cpu_state *level_leave(enum level level)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state;
	struct clew_level *here;

	if (!enabled)
		return NULL;
	cpu_state = this_cpu_state(cpu);
	if (!cpu_state)
		return NULL;
	here = &cpu_state->levels[level & 1];
	here->outer.kind = 0;
	here->inner.kind = 0;
	here->request = 0;
	return cpu_state;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(clew_irq_handler_entry, int number, struct irqaction *action)
{
	struct clew_cpu_state *cpu_state =
		level_enter(LEVEL_HARD, CLEW_CAUSE_IRQ, (__u32)number, (__u64)action);

	if (cpu_state)
		napi_before_interrupt(cpu_state);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(clew_irq_handler_exit, int number, struct irqaction *action)
{
	struct clew_cpu_state *cpu_state = level_leave(LEVEL_HARD);

	if (cpu_state)
		napi_after_interrupt(cpu_state, number, (__u64)action);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(clew_softirq_entry, unsigned int vector)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct clew_cpu_state *cpu_state = this_cpu_state(cpu);

	level_enter(LEVEL_SOFT, CLEW_CAUSE_SOFTIRQ, vector, 0);
	if (cpu_state && enabled) {
		packet_end(cpu_state);
		extents_age(cpu_state, cpu);
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(clew_softirq_exit)
{
	level_leave(LEVEL_SOFT);
	return 0;
}

/* Inter-processor interrupts that run functions. Interrupts that only
 * reschedule wake no task. */
#if defined(__TARGET_ARCH_x86)
SEC("?tp_btf/call_function_entry")
int BPF_PROG(clew_call_function_entry)
{
	level_enter(LEVEL_HARD, CLEW_CAUSE_IPI, 0, 0);
	return 0;
}

SEC("?tp_btf/call_function_exit")
int BPF_PROG(clew_call_function_exit)
{
	level_leave(LEVEL_HARD);
	return 0;
}

SEC("?tp_btf/call_function_single_entry")
int BPF_PROG(clew_call_function_single_entry)
{
	level_enter(LEVEL_HARD, CLEW_CAUSE_IPI, 1, 0);
	return 0;
}

SEC("?tp_btf/call_function_single_exit")
int BPF_PROG(clew_call_function_single_exit)
{
	level_leave(LEVEL_HARD);
	return 0;
}

SEC("?tp_btf/irq_work_entry")
int BPF_PROG(clew_irq_work_entry)
{
	level_enter(LEVEL_HARD, CLEW_CAUSE_IPI, 2, 0);
	return 0;
}

SEC("?tp_btf/irq_work_exit")
int BPF_PROG(clew_irq_work_exit)
{
	level_leave(LEVEL_HARD);
	return 0;
}
#else
/* `reason` is a name of the kernel's, such as "Function call interrupts". */
SEC("?tp_btf/ipi_entry")
int BPF_PROG(clew_ipi_entry, const char *reason)
{
	char first = 0;

	bpf_probe_read_kernel(&first, sizeof(first), reason);
	if (first == 'F')
		level_enter(LEVEL_HARD, CLEW_CAUSE_IPI, 0, 0);
	else if (first == 'I')
		level_enter(LEVEL_HARD, CLEW_CAUSE_IPI, 2, 0);
	return 0;
}

SEC("?tp_btf/ipi_exit")
int BPF_PROG(clew_ipi_exit)
{
	level_leave(LEVEL_HARD);
	return 0;
}
#endif
