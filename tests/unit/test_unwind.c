/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwind tables against libdw, which reads the same sections by other code: every place of a few
 * files where a rule may change, and as many at random. Then tables against their rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "draw.h"
#include "symbol/unwind/unwind.h"

#define NONE CLEW_UNWIND_RULE(CLEW_UNWIND_NONE, 0, 0, 0)

static uint32_t reference_cfa(const Dwarf_Op *ops, size_t count, unsigned saved)
{
	bool any = ops[0].atom == DW_OP_bregx;
	uint64_t number = any ? ops[0].number : ops[0].atom - 0u - DW_OP_breg0;
	int64_t offset = (int64_t)(any ? ops[0].number2 : ops[0].number);

	if (number != 6 && number != 7)
		return NONE;
	if (count == 1)
		return CLEW_UNWIND_RULE(number == 7 ? CLEW_UNWIND_RSP : CLEW_UNWIND_RBP, saved,
					offset / 8, 0);
	if (count == 9 && ops[1].atom == DW_OP_breg16 && ops[5].atom == DW_OP_ge)
		return CLEW_UNWIND_RULE(CLEW_UNWIND_PLT, saved, ops[4].atom - DW_OP_lit0, 0);
	if (ops[1].atom == DW_OP_deref && count <= 3)
		return CLEW_UNWIND_RULE(number == 7 ? CLEW_UNWIND_AT_RSP : CLEW_UNWIND_AT_RBP,
					saved, offset / 8, count == 3 ? ops[2].number / 8 : 0);
	return UINT32_MAX;
}

/* The rule that a row of libdw's amounts to; UINT32_MAX: one that no table has. */
static uint32_t reference_rule(Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	unsigned saved = 0;
	bool is_signal = false;

	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (is_signal)
		return CLEW_UNWIND_RULE(CLEW_UNWIND_SIGNAL, 0, 0, 0);
	assert_int_equal(dwarf_frame_register(frame, 16, memory, &ops, &count), 0);
	if (!count)
		return CLEW_UNWIND_RULE(CLEW_UNWIND_END, 0, 0, 0);
	if (count != 2 || ops[0].atom != DW_OP_call_frame_cfa || (int64_t)ops[1].number != -8)
		return NONE;
	assert_int_equal(dwarf_frame_register(frame, 6, memory, &ops, &count), 0);
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa) {
		int64_t offset = (int64_t)ops[1].number;

		if (offset % 8 || offset > -8 || offset < -8 * 254)
			return NONE;
		saved = (unsigned)(-offset / 8);
	} else if (count == 1 && ops[0].atom == DW_OP_breg6 && ops[0].number == 0) {
		saved = CLEW_UNWIND_SAVED_AT_RBP;
	} else if (count) {
		return UINT32_MAX;
	}
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	return reference_cfa(ops, count, saved);
}

static uint64_t address_of(Elf *elf, uint64_t offset)
{
	size_t count;

	assert_int_equal(elf_getphdrnum(elf, &count), 0);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr program;

		assert_non_null(gelf_getphdr(elf, (int)i, &program));
		if (program.p_type == PT_LOAD && (program.p_flags & PF_X) &&
		    offset >= program.p_offset && offset - program.p_offset < program.p_filesz)
			return offset - program.p_offset + program.p_vaddr;
	}
	return 0;
}

struct tally {
	size_t same, others;
};

static void compare_at(Elf *elf, Dwarf_CFI *frames, const struct clew_unwind_table *table,
		       uint64_t offset, struct tally *tally)
{
	uint64_t address = address_of(elf, offset);
	uint32_t rule = clew_unwind_table_rule(table, offset), expected;
	Dwarf_Frame *frame;

	if (!address)
		return;
	/* Padding, or the entry of a program that says nothing of it. */
	if (dwarf_cfi_addrframe(frames, address, &frame))
		return;
	expected = reference_rule(frame);
	if (expected == UINT32_MAX) {
		tally->others++;
	} else {
		if (rule != expected)
			print_error("at %#llx: %08x, libdw says %08x\n",
				    (unsigned long long)address, rule, expected);
		assert_int_equal(rule, expected);
		tally->same++;
	}
	free(frame);
}

static Dwarf_CFI *reference_frames(Elf *elf, Dwarf **ret_debug)
{
	Dwarf_CFI *frames = dwarf_getcfi_elf(elf);

	*ret_debug = frames ? NULL : dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	return frames ?: dwarf_getcfi(*ret_debug);
}

static void compare_file(const char *path)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct clew_unwind_table table;
	struct clew_unwind_row *rows;
	struct tally tally = {};
	Dwarf_CFI *frames;
	Dwarf *debug;
	size_t count;
	unsigned span;
	Elf *elf;

	assert_true(descriptor >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(descriptor, ELF_C_READ, NULL);
	assert_non_null(elf);
	frames = reference_frames(elf, &debug);
	assert_non_null(frames);
	assert_int_equal(clew_unwind_rows(descriptor, &rows, &count), 0);
	assert_int_equal(clew_unwind_table_make(rows, count, &table), 0);
	span = (unsigned)(rows[count - 1].offset - rows[0].offset);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(clew_unwind_table_rule(&table, rows[i].offset), rows[i].rule);
		if (i) {
			assert_true(rows[i - 1].offset < rows[i].offset);
			assert_int_equal(clew_unwind_table_rule(&table, rows[i].offset - 1),
					 rows[i - 1].rule);
		}
		compare_at(elf, frames, &table, rows[i].offset, &tally);
		compare_at(elf, frames, &table, rows[0].offset + draw(span), &tally);
	}
	print_message("%s: %zu rows, %zu rules, %zu places as libdw, %zu by other expressions\n",
		      path, count, table.rule_count, tally.same, tally.others);
	assert_true(tally.same > count / 2);
	assert_true(tally.others * 1000 <= tally.same);
	clew_unwind_table_done(&table);
	free(rows);
	if (debug)
		dwarf_end(debug);
	else
		dwarf_cfi_end(frames);
	elf_end(elf);
	close(descriptor);
}

static void test_files(void **state)
{
	(void)state;
	random_state = 1;
	compare_file("/proc/self/exe");
	compare_file("/lib/x86_64-linux-gnu/libc.so.6");
	compare_file("/lib64/ld-linux-x86-64.so.2");
	compare_file("/usr/lib/x86_64-linux-gnu/libelf.so.1");
	compare_file("/usr/lib/x86_64-linux-gnu/libdw.so.1");
}

/* Programs without .eh_frame, as Go's are. */
static void test_debug_frame(void **state)
{
	(void)state;
	random_state = 2;
	compare_file("tests/fuzz/seeds/unwind/debug_frame");
	compare_file("tests/fuzz/seeds/unwind/debug_frame_zlib");
}

#define RULE(base, saved, offset, where)                                                           \
	CLEW_UNWIND_RULE(CLEW_UNWIND_##base, saved, offset, CLEW_UNWIND_##where)

/* Functions of arm64, each of 64 bytes, whose information is written by hand: without a frame; with
 * the pair of frame pointer and return address below the CFA, and back; with the pair at the bottom
 * of a frame that is too large to count from its top; with a frame pointer; with the return address
 * alone; with a signed one; the first of a thread; a handler's; and one that no rule can say. */
static void test_arm64(void **state)
{
	static const struct {
		uint64_t offset;
		uint32_t rule;
	} expected[] = {
		{0x1c0, RULE(RSP, 0, 0, IN_LINK)},
		{0x200, RULE(RSP, 0, 0, IN_LINK)},
		{0x204, RULE(RSP, 4, 4, PAIR_BELOW_CFA)},
		{0x20c, RULE(RSP, 0, 0, IN_LINK)},
		{0x244, RULE(RSP, 0, 512, IN_LINK)},
		{0x248, RULE(RSP, 0, 512, PAIR_ON_BASE)},
		{0x288, RULE(RBP, 2, 2, PAIR_BELOW_CFA)},
		{0x2c4, RULE(RSP, 2, 2, LINK_BELOW_CFA)},
		{0x304, RULE(RSP, 0, 0, IN_LINK)},
		{0x308, RULE(RSP, 4, 4, PAIR_BELOW_CFA)},
		{0x340, CLEW_UNWIND_RULE(CLEW_UNWIND_END, 0, 0, 0)},
		{0x380, CLEW_UNWIND_RULE(CLEW_UNWIND_SIGNAL, 0, 0, 0)},
		{0x3c0, RULE(RSP, 0, 0, IN_LINK)},
		{0x3c4, NONE},
	};
	int descriptor = open("tests/fuzz/seeds/unwind/arm64", O_RDONLY | O_CLOEXEC);
	struct clew_unwind_table table;
	struct clew_unwind_row *rows;
	size_t count;

	(void)state;
	assert_int_equal(clew_unwind_rows(descriptor, &rows, &count), 0);
	assert_int_equal(clew_unwind_table_make(rows, count, &table), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(clew_unwind_table_rule(&table, expected[i].offset),
				 expected[i].rule);
	clew_unwind_table_done(&table);
	free(rows);
	close(descriptor);
}

/* A program that the kernel enters where no information is. */
static void test_entry(void **state)
{
	int descriptor = open("tests/fuzz/seeds/unwind/no_entry", O_RDONLY | O_CLOEXEC);
	struct clew_unwind_table table;
	struct clew_unwind_row *rows;
	Elf64_Ehdr header;
	size_t count;

	(void)state;
	assert_int_equal(pread(descriptor, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(clew_unwind_rows(descriptor, &rows, &count), 0);
	assert_int_equal(clew_unwind_table_make(rows, count, &table), 0);
	/* The file begins where the linker put it, a page of code after its headers. */
	assert_int_equal(clew_unwind_table_rule(&table, header.e_entry & 0xffff),
			 CLEW_UNWIND_RULE(CLEW_UNWIND_END, 0, 0, 0));
	assert_int_equal(clew_unwind_table_rule(&table, (header.e_entry & 0xffff) - 1), NONE);
	clew_unwind_table_done(&table);
	free(rows);
	close(descriptor);
}

static void make_random(struct clew_unwind_row *rows, size_t count)
{
	uint64_t offset = draw(100000);

	for (size_t i = 0; i < count; i++) {
		offset += 1 + draw(draw(4) ? 50 : 20000);
		rows[i].offset = offset;
		rows[i].rule = CLEW_UNWIND_RULE(draw(2), draw(3), (int)draw(30) - 3, 0);
	}
}

/* Tables against a search through the rows. */
static void test_tables(void **state)
{
	struct clew_unwind_row rows[200];
	struct clew_unwind_table table;

	(void)state;
	random_state = 3;
	for (int round = 0; round < 200; round++) {
		size_t count = 1 + draw(200);

		make_random(rows, count);
		assert_int_equal(clew_unwind_table_make(rows, count, &table), 0);
		for (int i = 0; i < 500; i++) {
			uint64_t offset = draw((unsigned)rows[count - 1].offset + 5000);
			uint32_t rule = NONE;

			for (size_t row = 0; row < count && rows[row].offset <= offset; row++)
				rule = rows[row].rule;
			/* Nothing is said of pages behind the last row. */
			if (offset >> CLEW_UNWIND_PAGE_BITS > rows[count - 1].offset >>
			    CLEW_UNWIND_PAGE_BITS)
				rule = NONE;
			assert_int_equal(clew_unwind_table_rule(&table, offset), rule);
		}
		clew_unwind_table_done(&table);
	}
	assert_int_equal(clew_unwind_table_make(rows, 0, &table), 0);
	assert_int_equal(clew_unwind_table_rule(&table, 1), NONE);
}

/* Rules hold their parts, with signs. */
static void test_rules(void **state)
{
	uint32_t rule = CLEW_UNWIND_RULE(CLEW_UNWIND_AT_RBP, CLEW_UNWIND_SAVED_AT_RBP, -2, 31);

	(void)state;
	assert_int_equal(CLEW_UNWIND_RULE_KIND(rule), CLEW_UNWIND_AT_RBP);
	assert_int_equal(CLEW_UNWIND_RULE_SAVED(rule), CLEW_UNWIND_SAVED_AT_RBP);
	assert_int_equal(CLEW_UNWIND_RULE_OFFSET(rule), -2);
	assert_int_equal(CLEW_UNWIND_RULE_ADD(rule), 31);
}

static void test_bad_files(void **state)
{
	struct clew_unwind_row *rows;
	size_t count;
	int descriptor = memfd_create("bad", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(clew_unwind_rows(descriptor, &rows, &count), -EBADMSG);
	assert_int_equal(write(descriptor, "#!/bin/sh\n", 10), 10);
	assert_int_equal(clew_unwind_rows(descriptor, &rows, &count), -EBADMSG);
	assert_null(rows);
	close(descriptor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),	  cmocka_unit_test(test_tables),
		cmocka_unit_test(test_files),	  cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_arm64),	  cmocka_unit_test(test_entry),
		cmocka_unit_test(test_bad_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
