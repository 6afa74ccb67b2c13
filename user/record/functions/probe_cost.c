/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tries probes at functions of clew's own. The kernel's release decides which instructions it
 * emulates and which it single-steps, and the processor and its hypervisor decide the cost of
 * both: so it is measured. Only this process meets the probes.
 */
#include "record/functions/probe_cost.h"

#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/machine.h"
#include "record/functions/probe.h"
#include "record/stream/kernel.h"
#include "symbol/code/function.h"

#define WARM_CALLS 20 /* the first meet a breakpoint, and the kernel then writes what it will */
#define ROUNDS	   5
#define CALLS	   200 /* a round: the fastest round counts, the others met something else */
#define PMU_TYPE   "/sys/bus/event_source/devices/uprobe/type"
#define PMU_RETURN "/sys/bus/event_source/devices/uprobe/format/retprobe"

/* Measured under Linux 6.18 on an AMD EPYC in a guest. */
static const struct clew_probe_cost other = {
	.emulated = 530, .nop5 = 355, .stepped = 10500, .trampoline = 300};

uint32_t clew_probe_cost_of(const struct clew_probe_cost *cost, unsigned class)
{
	return class == CLEW_PROBE_EMULATED	 ? cost->emulated
	       : class == CLEW_PROBE_NOP5	 ? cost->nop5
	       : class == CLEW_SITE_CLASS_KERNEL ? cost->kernel
						 : cost->stepped;
}

/* Functions that begin with each class of instruction. */
void clew_probe_push(void);
void clew_probe_nop4(void);
void clew_probe_nop5(void);
void clew_probe_move(void);
void clew_probe_returning(void);
#define OWN_FUNCTION(name, instructions)                                                           \
	__asm__(".pushsection .text\n"                                                             \
		".balign 16\n"                                                                     \
		".globl " name "\n"                                                                \
		".hidden " name "\n"                                                               \
		".type " name ", %function\n" name ": " instructions "\n"                          \
		"ret\n"                                                                            \
		".size " name ", . - " name "\n"                                                   \
		".popsection\n")
OWN_FUNCTION("clew_probe_push", CLEW_CODE_EMULATED);
OWN_FUNCTION("clew_probe_nop4", CLEW_CODE_NOP);
OWN_FUNCTION("clew_probe_nop5", CLEW_CODE_NOP5);
OWN_FUNCTION("clew_probe_move", CLEW_CODE_STEPPED);
OWN_FUNCTION("clew_probe_returning", CLEW_CODE_EMULATED);

#define CALL_OPCODE 0xe8

enum own { OWN_PUSH, OWN_NOP4, OWN_NOP5, OWN_MOVE, OWN_RETURNING, OWN_COUNT };

static void (*const own_functions[])(void) = {
	[OWN_PUSH] = clew_probe_push,		[OWN_NOP4] = clew_probe_nop4,
	[OWN_NOP5] = clew_probe_nop5,		[OWN_MOVE] = clew_probe_move,
	[OWN_RETURNING] = clew_probe_returning,
};

/* Where in the program's file the functions are, of the first object, which is the program. */
static int find_own(struct dl_phdr_info *info, size_t size, void *ret_offsets)
{
	uint64_t *offsets = ret_offsets;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *program = &info->dlpi_phdr[i];

		for (unsigned k = 0; program->p_type == PT_LOAD && k < OWN_COUNT; k++) {
			uint64_t address = (uintptr_t)own_functions[k] - info->dlpi_addr;

			if (address - program->p_vaddr < program->p_memsz)
				offsets[k] = address - program->p_vaddr + program->p_offset;
		}
	}
	return 1;
}

#ifdef __x86_64__
bool clew_probe_calls_nop5(void)
{
	uint64_t offsets[OWN_COUNT] = {0};
	int program, link;
	bool calls;

	if (!clew_probe_multi())
		return false;
	program = clew_probe_load_empty(true);
	if (program < 0)
		return true;
	dl_iterate_phdr(find_own, offsets);
	link = clew_probe_link_own(program, &offsets[OWN_NOP5], 1, false);
	close(program);
	if (link < 0)
		return true;
	clew_probe_nop5();
	clew_probe_nop5();
	calls = *(const volatile uint8_t *)(uintptr_t)clew_probe_nop5 == CALL_OPCODE;
	close(link);
	return calls;
}
#else
bool clew_probe_calls_nop5(void)
{
	return false;
}
#endif

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* ns of a call in the fastest round. */
static uint32_t time_calls(enum own own)
{
	void (*volatile function)(void) = own_functions[own];
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < WARM_CALLS; i++)
		function();
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t start = now(), taken;

		for (unsigned i = 0; i < CALLS; i++)
			function();
		taken = now() - start;
		if (taken < best)
			best = taken;
	}
	return (uint32_t)(best / CALLS);
}

/* One probe by a perf event, where the kernel has no links of many: its descriptor or -errno. */
static int open_event(int program, uint64_t offset, bool returns)
{
	int type = clew_probe_read_number(PMU_TYPE), bit = clew_probe_read_number(PMU_RETURN),
	    event;
	struct perf_event_attr attributes = {
		.type = (uint32_t)type,
		.size = sizeof(attributes),
		.config = returns && bit >= 0 ? 1ull << bit : 0,
		.uprobe_path = (uintptr_t) "/proc/self/exe",
		.probe_offset = offset,
	};

	if (type < 0 || bit < 0)
		return -EOPNOTSUPP;
	event = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, program) < 0 ||
	    ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		int r = -errno;

		close(event);
		return r;
	}
	return event;
}

/* Puts probes at all functions; 0 or -errno. `descriptors` has all that was opened, to close. */
static int open_probes(int program, bool multi, const uint64_t *offsets, int descriptors[OWN_COUNT])
{
	int r = 0;

	if (multi) {
		descriptors[0] = clew_probe_link_own(program, offsets, OWN_RETURNING, false);
		descriptors[1] = clew_probe_link_own(program, &offsets[OWN_RETURNING], 1, true);
		return descriptors[0] < 0   ? descriptors[0]
		       : descriptors[1] < 0 ? descriptors[1]
					    : 0;
	}
	for (unsigned i = 0; r >= 0 && i < OWN_COUNT; i++)
		r = descriptors[i] = open_event(program, offsets[i], i == OWN_RETURNING);
	return r < 0 ? r : 0;
}

static void measure(struct clew_probe_cost *ret)
{
	uint32_t times[OWN_COUNT];

	for (unsigned i = 0; i < OWN_COUNT; i++)
		times[i] = time_calls(i);
	*ret = (struct clew_probe_cost){
		.emulated = times[OWN_PUSH],
		.nop5 = times[OWN_NOP5],
		.stepped = times[OWN_MOVE],
		.trampoline = times[OWN_RETURNING] > times[OWN_PUSH]
				      ? times[OWN_RETURNING] - times[OWN_PUSH]
				      : 0,
		.measured = true,
		.long_nops_stepped = 2 * times[OWN_NOP4] > times[OWN_PUSH] + times[OWN_MOVE],
	};
}

void clew_probe_cost_measure(struct clew_probe_cost *ret)
{
	int descriptors[OWN_COUNT] = {-1, -1, -1, -1, -1}, program;
	bool multi = clew_probe_multi();
	uint64_t offsets[OWN_COUNT] = {0};

	*ret = other;

	ret->long_nops_stepped = !clew_kernel_is(6, CLEW_NOPS_SINCE_MINOR);
	program = clew_probe_load_empty(multi);
	if (program < 0)
		return;
	dl_iterate_phdr(find_own, offsets);
	if (open_probes(program, multi, offsets, descriptors) >= 0)
		measure(ret);
	for (unsigned i = 0; i < OWN_COUNT; i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	close(program);
}
