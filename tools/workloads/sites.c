/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes on instructions of several kinds, in functions that show whether a tracer
 * leaves the program as it is: each keeps numbers below the stack pointer, as a
 * function that calls no other may, and adds them up behind its probe.
 *
 * Usage: sites [--await]
 *
 * Calls each function some times and prints how many results were wrong, and how often
 * each probe was passed, as one JSON object. With --await it begins when there is
 * something to read on standard input.
 *
 *	nop	a nop of one byte
 *	nops	the same, with a nop of five bytes behind it
 *	wide	a nop of two bytes
 *	nop5	a nop of five bytes
 *	first	the same, as the first instruction of a function
 *	behind	the same, behind the endbr64 that a function begins with
 *	apart	the same, as the first instruction of a part of a function that lies elsewhere
 *	vex	an AVX instruction that computes something
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CALLS 1000

#ifdef __x86_64__

/* The note of a probe at the label 990, with the number as its argument. */
#define NOTE(name, argument)                                                                       \
	".pushsection .note.stapsdt,\"?\",\"note\"\n"                                              \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b\n"                                                                       \
	".8byte _.stapsdt.base\n"                                                                  \
	".8byte 0\n"                                                                               \
	".asciz \"sites\"\n"                                                                       \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"8@" argument "\"\n"                                                              \
	"994: .balign 4\n"                                                                         \
	".popsection\n"

__asm__(".pushsection .stapsdt.base,\"a\"\n"
	"_.stapsdt.base: .space 1\n"
	".popsection\n");

#define NOP5 ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"

/*
 * A function of a number that fills its red zone to the last byte, runs `code`, and
 * returns 16 times the number if all is still there and `code` leaves %rdi as it was.
 */
#define LEAF(name, code, elsewhere)                                                                \
	uint64_t leaf_##name(uint64_t number);                                                     \
	__asm__(".pushsection .text\n"                                                             \
		".globl leaf_" #name "\n"                                                          \
		".type leaf_" #name ", @function\n"                                                \
		"leaf_" #name ": .cfi_startproc\n"                                                 \
		".set slot, 8\n"                                                                   \
		".rept 15\n"                                                                       \
		"mov %rdi, -slot(%rsp)\n"                                                          \
		".set slot, slot + 8\n"                                                            \
		".endr\n"                                                                          \
		"mov %rdi, -128(%rsp)\n" code "1: xor %eax, %eax\n"                                \
		".set slot, 8\n"                                                                   \
		".rept 16\n"                                                                       \
		"add -slot(%rsp), %rax\n"                                                          \
		".set slot, slot + 8\n"                                                            \
		".endr\n"                                                                          \
		"ret\n"                                                                            \
		".cfi_endproc\n"                                                                   \
		".size leaf_" #name ", . - leaf_" #name "\n" elsewhere ".popsection\n")

/* A function that begins with `code`, and does what the others do behind it. */
#define FIRST(name, code)                                                                          \
	uint64_t leaf_##name(uint64_t number);                                                     \
	__asm__(".pushsection .text\n"                                                             \
		".globl leaf_" #name "\n"                                                          \
		".type leaf_" #name ", @function\n"                                                \
		"leaf_" #name ": .cfi_startproc\n" code "mov %rdi, -8(%rsp)\n"                     \
		"mov -8(%rsp), %rax\n"                                                             \
		"shl $4, %rax\n"                                                                   \
		"ret\n"                                                                            \
		".cfi_endproc\n"                                                                   \
		".size leaf_" #name ", . - leaf_" #name "\n"                                       \
		".popsection\n")

LEAF(nop, "990: nop\n" NOTE("nop", "%rdi"), "");
LEAF(nops, "990: nop\n" NOP5 NOTE("nops", "%rdi"), "");
LEAF(wide, "990: .byte 0x66, 0x90\n" NOTE("wide", "%rdi"), "");
LEAF(nop5, "990: " NOP5 NOTE("nop5", "%rdi"), "");
FIRST(first, "990: " NOP5 NOTE("first", "%rdi"));
FIRST(behind, "endbr64\n990: " NOP5 NOTE("behind", "%rdi"));
LEAF(apart, "jmp leaf_apart.cold\n",
     ".section .text.unlikely, \"ax\"\n"
     ".type leaf_apart.cold, @function\n"
     "leaf_apart.cold: .cfi_startproc\n"
     "990: " NOP5 NOTE("apart", "%rdi") "jmp 1b\n"
					".cfi_endproc\n"
					".size leaf_apart.cold, . - leaf_apart.cold\n");
/* The number goes to a register of SSE and back. */
LEAF(vex,
     "movq %rdi, %xmm0\nxor %edi, %edi\n990: vmovq %xmm0, %rdi\n" NOTE(
	     "vex", "%rdi") "mov %rdi, -8(%rsp)\n",
     "");

static bool can_vex(void)
{
	return __builtin_cpu_supports("avx");
}

#else

/* Without the instructions there is nothing to show. */
#define LEAF(name)                                                                                 \
	static uint64_t leaf_##name(uint64_t number)                                               \
	{                                                                                          \
		return 16 * number;                                                                \
	}

LEAF(nop)
LEAF(nops)
LEAF(wide)
LEAF(nop5)
LEAF(first)
LEAF(behind)
LEAF(apart)
LEAF(vex)

static bool can_vex(void)
{
	return false;
}

#endif

static const struct {
	const char *name;
	uint64_t (*leaf)(uint64_t number);
} sites[] = {
	{"nop", leaf_nop},     {"nops", leaf_nops},	{"wide", leaf_wide},   {"nop5", leaf_nop5},
	{"first", leaf_first}, {"behind", leaf_behind}, {"apart", leaf_apart}, {"vex", leaf_vex},
};

int main(int argc, char **argv)
{
	const char *separator = "";

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--await"))) {
		fprintf(stderr, "usage: sites [--await]\n");
		return 2;
	}
	if (argc == 2)
		getchar();
	printf("{\"pid\": %d, \"wrong\": {", getpid());
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		unsigned wrong = 0;

		if (sites[i].leaf == leaf_vex && !can_vex())
			continue;
		for (uint64_t number = 1; number <= CALLS; number++)
			wrong += sites[i].leaf(number * 77777) != 16 * number * 77777;
		printf("%s\"%s\": %u", separator, sites[i].name, wrong);
		separator = ", ";
	}
	printf("}, \"calls\": %d}\n", CALLS);
	return 0;
}
