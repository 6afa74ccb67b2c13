/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of the machine's general registers. A row's number is that of the machine's encoding.
 */
#include "arch/registers.h"

#include <asm/ptrace.h>
#include <string.h>

struct arch_register {
	const char *names[4]; /* of its 8, 4, 2 bytes and 1 byte, those that have one */
	int offset;
	int dwarf;
	int argument; /* -1: none is passed in it */
};

#ifdef __x86_64__

#define AT(name) ((int)offsetof(struct pt_regs, name))

static const struct arch_register registers[] = {
	{{"rax", "eax", "ax", "al"}, AT(rax), 0, -1},
	{{"rcx", "ecx", "cx", "cl"}, AT(rcx), 2, 3},
	{{"rdx", "edx", "dx", "dl"}, AT(rdx), 1, 2},
	{{"rbx", "ebx", "bx", "bl"}, AT(rbx), 3, -1},
	{{"rsp", "esp", "sp", "spl"}, AT(rsp), 7, -1},
	{{"rbp", "ebp", "bp", "bpl"}, AT(rbp), 6, -1},
	{{"rsi", "esi", "si", "sil"}, AT(rsi), 4, 1},
	{{"rdi", "edi", "di", "dil"}, AT(rdi), 5, 0},
	{{"r8", "r8d", "r8w", "r8b"}, AT(r8), 8, 4},
	{{"r9", "r9d", "r9w", "r9b"}, AT(r9), 9, 5},
	{{"r10", "r10d", "r10w", "r10b"}, AT(r10), 10, -1},
	{{"r11", "r11d", "r11w", "r11b"}, AT(r11), 11, -1},
	{{"r12", "r12d", "r12w", "r12b"}, AT(r12), 12, -1},
	{{"r13", "r13d", "r13w", "r13b"}, AT(r13), 13, -1},
	{{"r14", "r14d", "r14w", "r14b"}, AT(r14), 14, -1},
	{{"r15", "r15d", "r15w", "r15b"}, AT(r15), 15, -1},
};

#define RESULT	    0
#define INSTRUCTION AT(rip)
#define COUNT	    ((int)(sizeof(registers) / sizeof(registers[0])))

#elif defined(__aarch64__)

/* The kernel's registers begin with these. */
#define AT(number) ((int)offsetof(struct user_pt_regs, regs) + 8 * (number))
#define ROW(number, argument)                                                                      \
	{                                                                                          \
		{"x" #number, "w" #number}, AT(number), number, argument                           \
	}

static const struct arch_register registers[] = {
	ROW(0, 0),   ROW(1, 1),	  ROW(2, 2),   ROW(3, 3),
	ROW(4, 4),   ROW(5, 5),	  ROW(6, -1),  ROW(7, -1),
	ROW(8, -1),  ROW(9, -1),  ROW(10, -1), ROW(11, -1),
	ROW(12, -1), ROW(13, -1), ROW(14, -1), ROW(15, -1),
	ROW(16, -1), ROW(17, -1), ROW(18, -1), ROW(19, -1),
	ROW(20, -1), ROW(21, -1), ROW(22, -1), ROW(23, -1),
	ROW(24, -1), ROW(25, -1), ROW(26, -1), ROW(27, -1),
	ROW(28, -1), ROW(29, -1), ROW(30, -1), {{"sp", "wsp"}, AT(31), 31, -1},
};

#define RESULT	    0
#define INSTRUCTION ((int)offsetof(struct user_pt_regs, pc))
#define COUNT	    ((int)(sizeof(registers) / sizeof(registers[0])))

#endif

int clew_register_find(const char *name, size_t length)
{
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < 4 && registers[i].names[k]; k++)
			if (strlen(registers[i].names[k]) == length &&
			    !memcmp(registers[i].names[k], name, length))
				return i;
	return -1;
}

int clew_register_offset(int number)
{
	return number >= 0 && number < COUNT ? registers[number].offset : -1;
}

int clew_register_of_argument(unsigned argument)
{
	for (int i = 0; i < COUNT; i++)
		if (registers[i].argument == (int)argument)
			return i;
	return -1;
}

int clew_register_of_result(void)
{
	return RESULT;
}

int clew_register_argument(int number)
{
	return number >= 0 && number < COUNT ? registers[number].argument : -1;
}

int clew_register_argument_dwarf(unsigned number)
{
	for (int i = 0; i < COUNT; i++)
		if (registers[i].dwarf == (int)number)
			return registers[i].argument;
	return -1;
}

int clew_register_instruction(void)
{
	return INSTRUCTION;
}
