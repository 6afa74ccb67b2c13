/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that begin with 300 different instructions (objects/encodings.inc): each is
 * refused with a reason, or does with probes at its entry and its exits what it does
 * without. One link has them all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/functions/probe.h"
#include "record/functions/probe_cost.h"
#include "symbol/code/function.h"

#ifdef __x86_64__

#define LEAST	     300 /* functions */
#define LEAST_PROBED 200
#define FLAGS	     0x8d5 /* of arithmetic */

__asm__(".include \"tests/unit/objects/encodings.inc\"");

/* The state at a function's entry and at its end. */
struct machine {
	uint64_t registers[15]; /* rax rbx rcx rdx rsi rdi rbp r8 .. r15 */
	uint64_t flags;
	uint8_t sse[4][16];
	uint8_t memory[2][256];
};

/* Loads the registers, calls, stores them. */
void call_with(void *function, struct machine *machine);
__asm__(".pushsection .text\n"
	"call_with:\n"
	"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"push %rsi\npush %rdi\nsub $8, %rsp\n"
	"push 120(%rsi)\npopf\n"
	"movdqu 128(%rsi), %xmm0\nmovdqu 144(%rsi), %xmm1\n"
	"movdqu 160(%rsi), %xmm2\nmovdqu 176(%rsi), %xmm3\n"
	"mov 0(%rsi), %rax\nmov 8(%rsi), %rbx\nmov 16(%rsi), %rcx\nmov 24(%rsi), %rdx\n"
	"mov 40(%rsi), %rdi\nmov 48(%rsi), %rbp\nmov 56(%rsi), %r8\nmov 64(%rsi), %r9\n"
	"mov 72(%rsi), %r10\nmov 80(%rsi), %r11\nmov 88(%rsi), %r12\nmov 96(%rsi), %r13\n"
	"mov 104(%rsi), %r14\nmov 112(%rsi), %r15\nmov 32(%rsi), %rsi\n"
	"call *8(%rsp)\n"
	"mov %rsi, (%rsp)\nmov 16(%rsp), %rsi\n"
	"mov %rax, 0(%rsi)\nmov %rbx, 8(%rsi)\nmov %rcx, 16(%rsi)\nmov %rdx, 24(%rsi)\n"
	"mov %rdi, 40(%rsi)\nmov %rbp, 48(%rsi)\nmov %r8, 56(%rsi)\nmov %r9, 64(%rsi)\n"
	"mov %r10, 72(%rsi)\nmov %r11, 80(%rsi)\nmov %r12, 88(%rsi)\nmov %r13, 96(%rsi)\n"
	"mov %r14, 104(%rsi)\nmov %r15, 112(%rsi)\n"
	"pushf\npop 120(%rsi)\n"
	"movdqu %xmm0, 128(%rsi)\nmovdqu %xmm1, 144(%rsi)\n"
	"movdqu %xmm2, 160(%rsi)\nmovdqu %xmm3, 176(%rsi)\n"
	"mov (%rsp), %rax\nmov %rax, 32(%rsi)\n"
	"cld\nadd $24, %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"
	".popsection\n");

static bool is_never_run(const char *name)
{
	return !strncmp(name, "encoding_never_", strlen("encoding_never_"));
}

static bool can_run(const char *name)
{
	if (is_never_run(name))
		return false;
	if (!strncmp(name, "encoding_avx512_", strlen("encoding_avx512_")))
		return __builtin_cpu_supports("avx512f");
	if (!strncmp(name, "encoding_avx_", strlen("encoding_avx_")))
		return __builtin_cpu_supports("avx");
	return true;
}

static void run(const void *function, struct machine *machine)
{
	/* Results have addresses: both runs are at the same place. */
	static struct machine place;

	memset(&place, 0, sizeof(place));
	for (unsigned i = 0; i < 15; i++)
		place.registers[i] = 3 + 0x0102030405060708 * i;
	place.registers[0] = 39; /* getpid's number */
	place.registers[2] = 5;
	place.registers[4] = (uintptr_t)place.memory[1];
	place.registers[5] = (uintptr_t)place.memory[0];
	place.flags = 0x2;
	for (unsigned i = 0; i < 4 * 16; i++)
		place.sse[i / 16][i % 16] = (uint8_t)(7 * i + 1);
	for (unsigned i = 0; i < 2 * 256; i++)
		place.memory[i / 256][i % 256] = (uint8_t)(5 * i + 3);
	call_with((void *)(uintptr_t)function, &place);
	place.flags &= FLAGS;
	*machine = place;
}

/* The instruction that the kernel writes for a probe: a breakpoint, or a call instead of a nop. */
static bool is_probed(const void *instruction)
{
	uint8_t byte = *(const volatile uint8_t *)instruction;

	return byte == 0xcc || byte == 0xe8;
}

struct found {
	const struct clew_function_symbol *const *list;
	size_t count;
	uintptr_t base;
	struct machine *before;
};

static void run_all(struct found *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (can_run(found->list[i]->name))
			run((void *)(found->base + found->list[i]->address), &found->before[i]);
}

static void compare_all(const struct found *found)
{
	struct machine after;

	for (size_t i = 0; i < found->count; i++) {
		const struct clew_function_symbol *symbol = found->list[i];
		uintptr_t start = found->base + symbol->address;

		if (!can_run(symbol->name))
			continue;
		/* Twice: the first call meets a breakpoint, and the kernel then writes what it
		 * will. */
		for (unsigned round = 0; round < 2; round++) {
			run((void *)start, &after);
			if (memcmp(&after, &found->before[i], sizeof(after)) != 0)
				fail_msg("%s computes something else with a probe", symbol->name);
		}
		if (!symbol->refused && !is_probed((void *)(start + symbol->entry.slid)))
			fail_msg("%s has no probe", symbol->name);
	}
}

/* Entries of those that can be probed, and all exits of theirs. */
static size_t list_places(const struct found *found, uint64_t *places, size_t most)
{
	size_t count = 0, probed = 0;

	for (size_t i = 0; i < found->count; i++) {
		const struct clew_function_symbol *symbol = found->list[i];

		if (is_never_run(symbol->name) && !symbol->refused)
			fail_msg("%s can be probed", symbol->name);
		if (symbol->refused)
			continue;
		probed++;
		assert_true(count + 1 + symbol->exit_count <= most);
		places[count++] = symbol->entry.offset;
		for (size_t k = 0; k < symbol->exit_count; k++)
			if (symbol->exits[k].offset != symbol->entry.offset)
				places[count++] = symbol->exits[k].offset;
	}
	printf("# %zu functions, %zu of them probed, at %zu places\n", found->count, probed, count);
	assert_true(probed >= LEAST_PROBED);
	return count;
}

static void test_encodings(void **state)
{
	struct clew_functions_options options = {.size = sizeof(options),
						 .returns = CLEW_RETURNS_EXITS};
	int program = clew_probe_load_empty(true), file, link;
	struct clew_functions *functions;
	struct clew_message message;
	struct clew_probe_cost cost;
	struct found found = {.base = _r_debug.r_map->l_addr};
	static uint64_t places[4096];
	size_t count;

	(void)state;
	if (program < 0 || !clew_probe_multi()) {
		printf("# SKIP: the kernel takes no probes from here\n");
		skip();
	}
	clew_probe_cost_measure(&cost);
	options.long_nops_stepped = cost.long_nops_stepped;
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(clew_functions_open(file, "self", &options, &functions, &message), 0);
	assert_int_equal(clew_functions_find(functions, "encoding_*", &found.list, &found.count),
			 0);
	assert_true(found.count >= LEAST);
	found.before = calloc(found.count, sizeof(*found.before));
	run_all(&found);
	count = list_places(&found, places, sizeof(places) / sizeof(places[0]));
	link = clew_probe_link_own(program, places, count, false);
	if (link < 0)
		fail_msg("the kernel refuses the probes: %s", strerror(-link));
	compare_all(&found);
	close(link);
	close(program);
	close(file);
	free(found.before);
	clew_functions_close(functions);
}

#else

static void test_encodings(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_encodings)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
