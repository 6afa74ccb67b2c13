/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Instructions of arm64, decoded on whatever machine this runs: the decoder's files are part of
 * this one, and the library's own are left out by the linker. The words are as in the manual (ARM
 * DDI 0487), and as an assembler writes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include <clew/kernel/maps.h>

/* The headers below are to be those of another machine. */
#undef __x86_64__
#include "symbol/code/instruction.h"

#include "../../user/symbol/code/instruction_arm64.c"
#define fits site_fits
#include "../../user/symbol/code/site_arm64.c"

#define AT 0x10000

static struct instruction read_word(struct instructions *instructions, uint32_t word)
{
	struct instruction found = {0};

	assert_true(
		instructions_read(instructions, (const uint8_t *)&word, sizeof(word), AT, &found));
	assert_int_equal(found.length, sizeof(word));
	return found;
}

static void test_branches(void **state)
{
	static const struct {
		uint32_t word;
		uint8_t kind;
		uint64_t to;
	} expected[] = {
		{0xd65f03c0, INSTRUCTION_RET, 0},	       /* ret */
		{0xd65f0bff, INSTRUCTION_RET, 0},	       /* retaa */
		{0xd65f0220, INSTRUCTION_RET, 0},	       /* ret x17 */
		{0xd61f0220, INSTRUCTION_INDIRECT, 0},	       /* br x17 */
		{0xd71f0a30, INSTRUCTION_INDIRECT, 0},	       /* braa x17, x16 */
		{0xd63f0060, INSTRUCTION_CALL_INDIRECT, 0},    /* blr x3 */
		{0xd73f0862, INSTRUCTION_CALL_INDIRECT, 0},    /* blraa x3, x2 */
		{0x14000002, INSTRUCTION_JUMP, AT + 8},	       /* b .+8 */
		{0x17ffffff, INSTRUCTION_JUMP, AT - 4},	       /* b .-4 */
		{0x94000001, INSTRUCTION_CALL, AT + 4},	       /* bl .+4 */
		{0x54000040, INSTRUCTION_CONDITIONAL, AT + 8}, /* b.eq .+8 */
		{0x54ffffe1, INSTRUCTION_CONDITIONAL, AT - 4}, /* b.ne .-4 */
		{0xb4000040, INSTRUCTION_CONDITIONAL, AT + 8}, /* cbz x0, .+8 */
		{0x35ffffe3, INSTRUCTION_CONDITIONAL, AT - 4}, /* cbnz w3, .-4 */
		{0x36180040, INSTRUCTION_CONDITIONAL, AT + 8}, /* tbz w0, #3, .+8 */
		{0xb7ffffe0, INSTRUCTION_CONDITIONAL, AT - 4}, /* tbnz x0, #63, .-4 */
		{0x10000040, INSTRUCTION_ADDRESS, AT + 8},     /* adr x0, .+8 */
		{0xd503201f, INSTRUCTION_PLAIN, 0},	       /* nop */
		{0xd503233f, INSTRUCTION_PLAIN, 0},	       /* paciasp */
		{0xa9be7bfd, INSTRUCTION_PLAIN, 0},	       /* stp x29, x30, [sp, #-32]! */
		{0xd4000001, INSTRUCTION_PLAIN, 0},	       /* svc #0 */
	};
	struct instructions instructions;

	(void)state;
	instructions_begin(&instructions);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct instruction found = read_word(&instructions, expected[i].word);

		assert_int_equal(found.kind, expected[i].kind);
		if (expected[i].to)
			assert_int_equal(found.to, expected[i].to);
	}
	assert_int_equal(read_word(&instructions, 0x54ffffe1).condition, 1);
	assert_true(read_word(&instructions, 0x54ffffe1).tested);
	assert_false(read_word(&instructions, 0xb4000040).tested);
}

/* adrp x1, .+0x2000; add x2, x1, #0x123: only with what the register got before. */
static void test_addresses(void **state)
{
	struct instructions instructions;
	struct instruction found;

	(void)state;
	instructions_begin(&instructions);
	assert_int_equal(read_word(&instructions, 0x91048c22).kind, INSTRUCTION_PLAIN);
	assert_int_equal(read_word(&instructions, 0xd0000001).kind, INSTRUCTION_PLAIN);
	found = read_word(&instructions, 0x91048c22);
	assert_int_equal(found.kind, INSTRUCTION_ADDRESS);
	assert_int_equal(found.to, AT + 0x2000 + 0x123);
	assert_false(instructions_read(&instructions, (const uint8_t *)"abc", 3, AT, &found));
}

static void test_sites(void **state)
{
	static const struct {
		uint32_t word;
		uint8_t kind;
		bool emulated;
	} expected[] = {
		{0xa9be7bfd, CLEW_SITE_SAFE, false},	/* stp x29, x30, [sp, #-32]! */
		{0xd503233f, CLEW_SITE_SAFE, false},	/* paciasp */
		{0xd503245f, CLEW_SITE_SAFE, false},	/* bti c */
		{0xd53bd040, CLEW_SITE_SAFE, false},	/* mrs x0, tpidr_el0 */
		{0xd53b4220, CLEW_SITE_UNKNOWN, false}, /* mrs x0, daif */
		{0xd503201f, CLEW_SITE_SAFE, true},	/* nop */
		{0xd65f03c0, CLEW_SITE_SAFE, true},	/* ret */
		{0xb4000040, CLEW_SITE_SAFE, true},	/* cbz x0, .+8 */
		{0x58000040, CLEW_SITE_SAFE, true},	/* ldr x0, .+8 */
		{0x9c000040, CLEW_SITE_UNKNOWN, false}, /* ldr q0, .+8 */
		{0xd65f0bff, CLEW_SITE_UNKNOWN, false}, /* retaa */
		{0xd4000001, CLEW_SITE_SYSCALL, false}, /* svc #0 */
		{0xd4200000, CLEW_SITE_INT3, false},	/* brk #0 */
		{0xc85f7c00, CLEW_SITE_UNKNOWN, false}, /* ldxr x0, [x0] */
		{0xd503203f, CLEW_SITE_UNKNOWN, false}, /* yield */
		{0x00000000, CLEW_SITE_UNKNOWN, false}, /* udf #0 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const uint8_t *code = (const uint8_t *)&expected[i].word;

		assert_int_equal(clew_site_kind(code, 4), expected[i].kind);
		assert_int_equal(clew_site_emulated(code, 4, false), expected[i].emulated);
		assert_int_equal(clew_site_is_nop(code, 4), expected[i].word == 0xd503201f);
	}
	/* Before 6.13. */
	assert_false(clew_site_emulated((const uint8_t *)"\x1f\x20\x03\xd5", 4, true));
	assert_int_equal(clew_site_kind((const uint8_t *)"abc", 3), CLEW_SITE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
