/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Says what calls of its functions take, which begin with an instruction of each class
 * that a probe may be at: for each line that it reads, one object of JSON with the ns of a
 * call, in the fastest of some rounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

void costs_push(void);
void costs_nop5(void);
void costs_move(void);

#define FUNCTION(name, instructions)                                                               \
	__asm__(".pushsection .text\n"                                                             \
		".globl " name "\n"                                                                \
		".type " name ", %function\n"                                                      \
		".balign 16\n" name ": " instructions "\n"                                         \
		"ret\n"                                                                            \
		".size " name ", . - " name "\n"                                                   \
		".popsection\n")
#ifdef __aarch64__
FUNCTION("costs_push", "b 1f; 1:");
FUNCTION("costs_nop5", "nop");
FUNCTION("costs_move", "add x0, x0, #0");
#else
FUNCTION("costs_push", "push %rax; pop %rax");
FUNCTION("costs_nop5", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
FUNCTION("costs_move", "mov %rdi, %rax");
#endif

#define WARM   20
#define ROUNDS 10
#define CALLS  200

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double time_calls(void (*volatile function)(void))
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < WARM; i++)
		function();
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = now(), taken;

		for (int i = 0; i < CALLS; i++)
			function();
		taken = now() - start;
		if (taken < best)
			best = taken;
	}
	return (double)best / CALLS;
}

int main(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		printf("{\"push\": %.1f, \"nop5\": %.1f, \"move\": %.1f}\n", time_calls(costs_push),
		       time_calls(costs_nop5), time_calls(costs_move));
		fflush(stdout);
	}
	return 0;
}
