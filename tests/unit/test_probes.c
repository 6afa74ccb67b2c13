/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes in a file: this program's own, those of files that are none, and the forms of arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/code/probes.h"
#include "symbol/elf/probe_symbols.h"
#include <clew/announce.h>

struct found {
	int begins, ends, others;
	bool counted; /* all have a counter of listeners */
	char arguments[64];
	uint64_t offset;
};

static int take(void *context, const struct clew_probe *probe)
{
	struct found *found = context;

	if (!strcmp(probe->provider, "clew") && !strcmp(probe->name, "begin")) {
		found->begins++;
		found->offset = probe->offset;
		strncpy(found->arguments, probe->arguments, sizeof(found->arguments) - 1);
	} else if (!strcmp(probe->provider, "clew") && !strcmp(probe->name, "end")) {
		found->ends++;
	} else {
		found->others++;
	}
	found->counted &= probe->semaphore != 0;
	return 0;
}

static void test_own(void **state)
{
	struct found found = {.counted = true};
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned char instruction = 0;

	(void)state;
	clew_announce_call(1, "test", "call");
	clew_announce_done(1);
	assert_true(file >= 0);
	assert_int_equal(clew_probes_read(file, take, &found), 0);
	assert_int_equal(found.begins, 1);
	assert_int_equal(found.ends, 1);
	assert_true(found.counted);
	assert_int_equal(pread(file, &instruction, 1, (off_t)found.offset), 1);
#ifdef __x86_64__
	struct clew_operand operands[CLEW_SITE_ARGUMENTS];

	assert_int_equal(instruction, 0x90);
	clew_probe_arguments(&(struct clew_probe){.arguments = found.arguments}, operands,
			     CLEW_SITE_ARGUMENTS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(operands[i].kind, CLEW_OPERAND_REGISTER);
	assert_int_equal(operands[2].shift, 32);
	assert_int_equal(operands[3].kind, CLEW_OPERAND_NONE);
#endif
	close(file);
}

/* The program's own file, cut off and changed anywhere: nothing but fewer probes comes of it. */
static void test_damaged(void **state)
{
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    copy = memfd_create("copy", MFD_CLOEXEC);
	off_t size = lseek(own, 0, SEEK_END);
	char *bytes = malloc((size_t)size);
	struct found found = {};

	(void)state;
	assert_int_equal(pread(own, bytes, (size_t)size, 0), size);
	assert_int_equal(pwrite(copy, bytes, (size_t)size, 0), size);
	srand(1);
	for (int i = 0; i < 3000; i++) {
		/* The header, and the sections' and names' tables at the end. */
		off_t at =
			i % 2 ? rand() % 64 : size - 1 - rand() % (size < 8192 ? (int)size : 8192);
		char byte = (char)rand();

		assert_int_equal(pwrite(copy, &byte, 1, at), 1);
		assert_int_equal(clew_probes_read(copy, take, &found), 0);
		assert_int_equal(pwrite(copy, bytes + at, 1, at), 1);
	}
	for (off_t length = size; length > 0; length /= 2) {
		assert_int_equal(ftruncate(copy, length), 0);
		assert_int_equal(clew_probes_read(copy, take, &found), 0);
	}
	free(bytes);
	close(own);
	close(copy);
}

#ifdef __x86_64__
static void find_arguments(const char *text, struct clew_operand *ret_operands)
{
	clew_probe_arguments(&(struct clew_probe){.arguments = text}, ret_operands,
			     CLEW_SITE_ARGUMENTS);
}

/* The forms in which arm64 writes them, with this machine's registers. */
static void test_bracketed(void **state)
{
	struct clew_operand operands[CLEW_SITE_ARGUMENTS];

	(void)state;
	find_arguments("8@rdi 4@[rsp, 12] -8@[rbp] 8@-5 8@[rdi, rsi] 8@7", operands);
	assert_int_equal(operands[0].kind, CLEW_OPERAND_REGISTER);
	assert_int_equal(operands[1].kind, CLEW_OPERAND_MEMORY);
	assert_int_equal(operands[1].value, 12);
	assert_int_equal(operands[1].shift, 32);
	assert_int_equal(operands[2].kind, CLEW_OPERAND_MEMORY);
	assert_int_equal(operands[2].value, 0);
	assert_int_equal(operands[3].kind, CLEW_OPERAND_CONSTANT);
	assert_int_equal(operands[3].value, -5);
	assert_int_equal(operands[4].kind, CLEW_OPERAND_NONE);
	assert_int_equal(operands[5].value, 7);
}

/* Where the linker put this program: what addresses in the file are counted from. */
extern const char __ehdr_start[];
static uint64_t variable[4];
uint32_t global_variable;

/* Arguments in variables that the text names. */
static void test_variables(void **state)
{
	struct clew_operand operands[CLEW_SITE_ARGUMENTS];
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file file;
	struct probe_symbols symbols = {.file = &file};
	struct clew_probe probe = {.address = 0x1234, .symbols = &symbols};
	int64_t start = (int64_t)(uintptr_t)__ehdr_start + (int64_t)probe.address,
		expected[] = {
			(int64_t)(uintptr_t)variable - start,
			(int64_t)(uintptr_t)&variable[2] - start,
			(int64_t)(uintptr_t)&variable[1] - start,
			(int64_t)(uintptr_t)&global_variable - start,
		};

	(void)state;
	variable[0] = global_variable++;
	assert_int_equal(elf_file_open(own, &file), 0);
	probe.arguments = "8@variable(%rip) 8@variable+16(%rip) 8@24+variable-16(%rip) "
			  "-4@global_variable(%rip)";
	clew_probe_arguments(&probe, operands, CLEW_SITE_ARGUMENTS);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(operands[i].kind, CLEW_OPERAND_MEMORY);
		assert_int_equal(operands[i].base, 128);
		assert_int_equal(operands[i].value, expected[i]);
	}
	assert_true(operands[3].is_signed);
	probe.arguments = "8@nowhere(%rip) 8@variabl(%rip) 8@variable+variable(%rip) "
			  "8@variable(%rbx) 8@16(%rip) 8@variable";
	clew_probe_arguments(&probe, operands, CLEW_SITE_ARGUMENTS);
	for (int i = 0; i < CLEW_SITE_ARGUMENTS; i++)
		assert_int_equal(operands[i].kind, CLEW_OPERAND_NONE);
	probe_symbols_done(&symbols);
	elf_file_close(&file);
	close(own);
}

static void test_arguments(void **state)
{
	struct clew_operand operands[CLEW_SITE_ARGUMENTS];

	(void)state;
	find_arguments("8@%rdi -4@$-9 4@-20(%rbp) 1@%sil 8@sym(%rip) -8@(%r12) 8@%rax", operands);
	assert_int_equal(operands[0].kind, CLEW_OPERAND_REGISTER);
	assert_int_equal(operands[0].base, 112);
	assert_int_equal(operands[0].shift, 0);
	assert_int_equal(operands[1].kind, CLEW_OPERAND_CONSTANT);
	assert_int_equal(operands[1].value, -9);
	assert_int_equal(operands[2].kind, CLEW_OPERAND_MEMORY);
	assert_int_equal(operands[2].value, -20);
	assert_int_equal(operands[2].base, 32);
	assert_int_equal(operands[2].shift, 32);
	assert_int_equal(operands[3].kind, CLEW_OPERAND_REGISTER);
	assert_int_equal(operands[3].base, 104);
	assert_int_equal(operands[3].shift, 56);
	assert_int_equal(operands[4].kind, CLEW_OPERAND_NONE);
	assert_int_equal(operands[5].kind, CLEW_OPERAND_MEMORY);
	assert_int_equal(operands[5].base, 24);
	assert_true(operands[5].is_signed);
	find_arguments("8@%rdix 8%rdi @%rdi 16@%xmm0 8@(%rdi,%rsi)", operands);
	for (int i = 0; i < CLEW_SITE_ARGUMENTS; i++)
		assert_int_equal(operands[i].kind, CLEW_OPERAND_NONE);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),	  cmocka_unit_test(test_damaged),
#ifdef __x86_64__
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_bracketed),
		cmocka_unit_test(test_variables),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
