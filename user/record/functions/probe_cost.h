/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures the cost of a probe on this machine and kernel, and its effect on a 5-byte nop. */
#ifndef CLEW_RECORD_FUNCTIONS_PROBE_COST_H
#define CLEW_RECORD_FUNCTIONS_PROBE_COST_H

#include <stdbool.h>
#include <stdint.h>

/* ns of a probe at an instruction of each class, with a program that does nothing. */
struct clew_probe_cost {
	uint32_t emulated;
	uint32_t nop5;
	uint32_t stepped;
	uint32_t trampoline;	/* of a return, besides its entry */
	uint32_t kernel;	/* of an entry of a kernel function, or of a return from it; 0 until
				   one is recorded */
	bool measured;		/* false: nobody may probe here; these are another machine's */
	bool long_nops_stepped; /* by this kernel; not only where a nop is stepped is it slow */
};

/* Measures with functions of clew's own, 1,000 calls each: some 40 ms, more before Linux 6.6. */
void clew_probe_cost_measure(struct clew_probe_cost *ret);
/* ns of a probe, by enum clew_probe_class. */
uint32_t clew_probe_cost_of(const struct clew_probe_cost *cost, unsigned class);

/*
 * True if the kernel turns a probed 5-byte nop into a call, by which it writes below the stack
 * pointer (since 6.18); also true where that cannot be tried. Takes some ten milliseconds.
 */
bool clew_probe_calls_nop5(void);

#endif
