/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of a library written for this (objects/functions.s): entries, exits, parts, ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <asm/ptrace.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/code/function_internal.h"

#define ALL 0x3f /* bits of arguments */

/* Beside the test program. */
static int open_object(const char *name)
{
	char path[4096], *slash;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	int file;

	assert_true(length > 0);
	path[length] = '\0';
	slash = strrchr(path, '/');
	sprintf(slash, "/objects/%s", name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		fail_msg("%s: %s", path, strerror(errno));
	return file;
}

static struct clew_functions *open_functions(const struct clew_functions_options *options)
{
	struct clew_functions *functions;
	struct clew_message message;
	int file = open_object("functions.so");

	if (clew_functions_open(file, "functions.so", options, &functions, &message) < 0)
		fail_msg("%s", message.text);
	close(file);
	return functions;
}

static const struct clew_function_symbol *find_one(struct clew_functions *functions,
						   const char *name)
{
	const struct clew_function_symbol *const *found;
	size_t count;

	assert_int_equal(clew_functions_find(functions, name, &found, &count), 0);
	if (count != 1)
		fail_msg("%s: %zu functions", name, count);
	return found[0];
}

#define EMULATED   CLEW_PROBE_EMULATED
#define STEPPED	   CLEW_PROBE_STEPPED
#define NOP5	   CLEW_PROBE_NOP5
#define TRAMPOLINE CLEW_RETURN_TRAMPOLINE
#define EXITS	   CLEW_RETURN_EXITS
#define NONE	   CLEW_RETURN_NONE

struct expected {
	const char *name;
	const char *refused;
	struct clew_function_entry entry; /* but for the offset */
	enum clew_return_way returns;
	const char *exits; /* a letter each: r, j, c, i; J: a jump that is stepped */
	size_t parts;
	bool closed, recursive;
};

static const struct expected expected[] = {
	{"pushes", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"past_load", NULL, {0, EMULATED, true, 12, 0, 0x3b}, TRAMPOLINE, "rr", 1, true, false},
	{"behind_store", NULL, {0, STEPPED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"looped", NULL, {0, STEPPED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	/* The kernel's trampoline needs the return address where the stack pointer points. */
	{"lowered", NULL, {0, EMULATED, false, 6, 0x28, ALL}, EXITS, "r", 1, true, false},
	{"nop5", NULL, {0, NOP5, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"endbr_nop5", NULL, {0, NOP5, false, 4, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"late_nop5", NULL, {0, STEPPED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"begins_vex", "vex", {0}, TRAMPOLINE, "r", 1, true, false},
	{"begins_syscall", "syscall", {0}, TRAMPOLINE, "r", 1, true, false},
	{"begins_lock", "prefix", {0}, TRAMPOLINE, "r", 1, true, false},
	{"begins_int3", "int3", {0}, TRAMPOLINE, "r", 1, true, false},
	{"thunk", NULL, {0, EMULATED, false, 5, 0, 0x3d}, TRAMPOLINE, "j", 1, true, false},
	{"tail", NULL, {0, EMULATED, false, 2, 0, ALL}, EXITS, "ci", 1, false, false},
	{"tail_memory", NULL, {0, STEPPED, false, 0, 0, ALL}, EXITS, "i", 1, false, false},
	{"tail_got", NULL, {0, STEPPED, false, 0, 0, ALL}, EXITS, "i", 1, false, false},
	{"tail_indexed", NULL, {0, STEPPED, false, 0, 0, ALL}, NONE, "", 1, false, false},
	{"returns_more", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"again", NULL, {0, EMULATED, false, 2, 0, 0x3e}, EXITS, "cr", 1, true, true},
	{"switched", NULL, {0, EMULATED, false, 3, 0, ALL}, TRAMPOLINE, "rrr", 1, true, false},
	{"dispatched", NULL, {0, STEPPED, false, 0, 0, ALL}, TRAMPOLINE, "rr", 1, true, false},
	{"chosen", NULL, {0, STEPPED, false, 0, 0, ALL}, EXITS, "J", 1, false, false},
	{"chosen_at_once", NULL, {0, STEPPED, false, 0, 0, ALL}, EXITS, "J", 1, false, false},
	{"parted", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "r", 2, true, false},
	{"continued", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "r", 2, true, false},
	{"shared", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "j", 1, true, false},
	{"sharing", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"called", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"calls_pointer", NULL, {0, EMULATED, false, 0, 0, ALL}, EXITS, "r", 1, false, false},
	{"calls_out", NULL, {0, EMULATED, false, 0, 0, ALL}, EXITS, "r", 1, false, false},
	{"calls_open", NULL, {0, EMULATED, false, 0, 0, ALL}, EXITS, "r", 1, false, false},
	{"calls_itself", NULL, {0, EMULATED, false, 0, 0, ALL}, EXITS, "r", 1, true, true},
	{"calls_back", NULL, {0, EMULATED, false, 0, 0, ALL}, EXITS, "r", 1, true, true},
	{"called_back", NULL, {0, EMULATED, false, 0, 0, ALL}, EXITS, "r", 1, true, true},
	{"never_returns", NULL, {0, EMULATED, false, 0, 0, ALL}, NONE, "", 1, true, false},
	{"cut_off", "undecodable", {0}, NONE, "", 1, false, false},
	{"unsized", NULL, {0, EMULATED, false, 0, 0, ALL}, TRAMPOLINE, "r", 1, true, false},
	{"unranged", "no-range", {0}, NONE, "", 1, false, false},
	{"resolved", "ifunc", {0}, NONE, "", 1, true, false},
};

static const char *text_of(const char *text)
{
	return text ? text : "(none)";
}

static void compare_exits(const struct expected *one, const struct clew_function_symbol *symbol)
{
	char kinds[32] = "";

	assert_true(symbol->exit_count < sizeof(kinds));
	for (size_t i = 0; i < symbol->exit_count; i++) {
		const struct clew_function_exit *exit = &symbol->exits[i];

		kinds[i] = (exit->class == CLEW_PROBE_STEPPED ? "rJ?i" : "?jc?")[exit->kind];
	}
	if (strcmp(kinds, one->exits) != 0)
		fail_msg("%s: exits \"%s\", not \"%s\"", one->name, kinds, one->exits);
}

static void test_all(void **state)
{
	struct clew_functions *functions = open_functions(NULL);
	struct clew_functions_object about;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct expected *one = &expected[i];
		const struct clew_function_symbol *symbol = find_one(functions, one->name);
		const struct clew_function_entry *entry = &symbol->entry;

		if (strcmp(text_of(symbol->refused), text_of(one->refused)) != 0)
			fail_msg("%s: refused %s", one->name, text_of(symbol->refused));
		if (symbol->returns != one->returns || symbol->parts != one->parts ||
		    symbol->closed != one->closed || symbol->recursive != one->recursive)
			fail_msg("%s: returns %d (%s), parts %zu, closed %d, recursive %d",
				 one->name, symbol->returns, symbol->why, symbol->parts,
				 symbol->closed, symbol->recursive);
		compare_exits(one, symbol);
		if (symbol->refused)
			continue;
		if (entry->class != one->entry.class || entry->slid != one->entry.slid ||
		    entry->past_load != one->entry.past_load || entry->below != one->entry.below ||
		    entry->arguments != one->entry.arguments)
			fail_msg("%s: class %d, slid %u, past a load %d, below %u, arguments %x",
				 one->name, entry->class, entry->slid, entry->past_load,
				 entry->below, entry->arguments);
		assert_int_equal(entry->offset, symbol->offset + entry->slid);
	}
	clew_functions_about(functions, &about);
	/* Besides those above: versioned twice, and a mangled, two local ones. */
	assert_int_equal(about.count, sizeof(expected) / sizeof(expected[0]) + 5);
	assert_false(about.stripped);
	assert_false(about.go);
	clew_functions_close(functions);
}

/* Names: aliases, versions, as they were written, those that are alike. */
static void test_names(void **state)
{
	struct clew_functions *functions = open_functions(NULL);
	const struct clew_function_symbol *const *found, *symbol;
	size_t count;

	(void)state;
	symbol = find_one(functions, "alias_pushes");
	assert_string_equal(symbol->name, "pushes");
	assert_int_equal(symbol->alias_count, 1);
	assert_string_equal(symbol->aliases[0], "alias_pushes");
	assert_int_equal(clew_functions_find(functions, "versioned", &found, &count), 0);
	assert_int_equal(count, 2);
	assert_true(found[0]->address < found[1]->address);
	assert_int_equal(found[0]->version_count, 1);
	assert_string_equal(found[0]->versions[0], "OLD_1");
	assert_string_equal(found[1]->versions[0], "NEW_2");
	symbol = find_one(functions, "names::mangle");
	assert_string_equal(symbol->demangled, "names::mangle(int, double const&)");
	assert_ptr_equal(find_one(functions, "names::*(int,*"), symbol);
	assert_ptr_equal(find_one(functions, "_ZN5names6mangle*"), symbol);
	symbol = find_one(functions, "resolved");
	assert_int_equal(symbol->variant_count, 1);
	assert_string_equal(symbol->variants[0], "pushes");
	assert_int_equal(clew_functions_find(functions, "nothing_like_it", &found, &count), 0);
	assert_int_equal(count, 0);
	assert_string_equal(clew_functions_nearest(functions, "lowred"), "lowered");
	assert_string_equal(clew_functions_nearest(functions, "hidden_thnk"), "hidden_thunk");
	assert_null(clew_functions_nearest(functions, "xyzzyxyzzy"));
	symbol = find_one(functions, "continued");
	assert_ptr_equal(clew_functions_at(functions, symbol->address + 1), symbol);
	assert_null(clew_functions_at(functions, 0));
	clew_functions_close(functions);
}

static void test_build_id(void **state)
{
	static const uint8_t id[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	struct clew_functions *functions = open_functions(NULL);
	size_t size;
	const uint8_t *found = clew_functions_build_id(functions, &size);

	(void)state;
	assert_int_equal(size, sizeof(id));
	assert_memory_equal(found, id, size);
	clew_functions_close(functions);
}

#ifdef __x86_64__

/* Where the targets of indirect jumps are. */
static void test_targets(void **state)
{
	struct clew_functions *functions = open_functions(NULL);
	const struct clew_function_exit *exit;

	(void)state;
	exit = &find_one(functions, "tail")->exits[1];
	assert_int_equal(exit->target.kind, CLEW_OPERAND_REGISTER);
	assert_int_equal(exit->target.base, offsetof(struct pt_regs, rax));
	assert_int_equal(find_one(functions, "tail")->exits[0].condition, 4);
	exit = &find_one(functions, "tail_memory")->exits[0];
	assert_int_equal(exit->target.kind, CLEW_OPERAND_MEMORY);
	assert_int_equal(exit->target.base, offsetof(struct pt_regs, rax));
	assert_int_equal(exit->target.offset, 0x18);
	exit = &find_one(functions, "tail_got")->exits[0];
	assert_int_equal(exit->target.kind, CLEW_OPERAND_MEMORY);
	assert_int_equal(exit->target.base, offsetof(struct pt_regs, rip));
	assert_true(exit->target.offset > 6);
	clew_functions_close(functions);
}

#endif

/* Switches, however they are compiled, are no exits; a table of functions is one. */
static void test_switches(void **state)
{
	static const char *const objects[] = {"switches-O0.so", "switches-O2.so",
					      "switches-packed.so", "switches-clang.so",
					      "switches-fixed"};

	(void)state;
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		int file = open_object(objects[i]);
		const struct clew_function_symbol *symbol;
		struct clew_functions *functions;
		struct clew_message message;

		assert_int_equal(clew_functions_open(file, objects[i], NULL, &functions, &message),
				 0);
		for (unsigned k = 0; k < 2; k++) {
			symbol = find_one(functions, k ? "threaded" : "interpret");
			assert_int_equal(symbol->exit_count, 1);
			assert_int_equal(symbol->exits[0].kind, CLEW_EXIT_RET);
			assert_int_equal(symbol->returns, EXITS);
		}
		symbol = find_one(functions, "passed");
		assert_int_equal(symbol->exit_count, 1);
		if (i) {
			assert_int_equal(symbol->exits[0].kind, CLEW_EXIT_INDIRECT);
			symbol = find_one(functions, "chosen");
			assert_int_equal(symbol->exit_count, 1);
			assert_int_equal(symbol->exits[0].kind, CLEW_EXIT_JUMP);
			assert_int_equal(symbol->returns, EXITS);
		}
		clew_functions_close(functions);
		close(file);
	}
}

/* The pointers into code of a library, from the start of a function on. */
static size_t find_pointers(const char *name, uint64_t ret[64])
{
	struct clew_functions *functions;
	struct clew_message message;
	const struct pointer *list;
	int file = open_object(name);
	uint64_t start;
	size_t count;

	assert_int_equal(clew_functions_open(file, name, NULL, &functions, &message), 0);
	start = find_one(functions, "threaded")->address;
	list = functions->pointers.data;
	count = functions->pointers.count;
	assert_in_range(count, 5, 64);
	for (size_t i = 0; i < count; i++)
		ret[i] = list[i].to - start;
	clew_functions_close(functions);
	close(file);
	return count;
}

/* Packed relocations say the same as others. */
static void test_packed(void **state)
{
	uint64_t unpacked[64], packed[64];
	size_t count = find_pointers("switches-O2.so", unpacked);

	(void)state;
	assert_int_equal(find_pointers("switches-packed.so", packed), count);
	assert_memory_equal(packed, unpacked, count * sizeof(unpacked[0]));
}

static void test_options(void **state)
{
	struct clew_functions_options options = {.size = sizeof(options), .strict_entry = true};
	struct clew_functions *functions = open_functions(&options);
	const struct clew_function_symbol *symbol = find_one(functions, "past_load");

	(void)state;
	assert_int_equal(symbol->entry.slid, 0);
	assert_int_equal(symbol->entry.class, STEPPED);
	assert_false(symbol->entry.past_load);
	clew_functions_close(functions);

	options = (struct clew_functions_options){.size = sizeof(options), .arguments = 2};
	functions = open_functions(&options);
	symbol = find_one(functions, "thunk");
	assert_int_equal(symbol->entry.slid, 0);
	assert_int_equal(symbol->entry.arguments, ALL);
	assert_int_equal(find_one(functions, "past_load")->entry.slid, 12);
	clew_functions_close(functions);

	options = (struct clew_functions_options){.size = sizeof(options),
						  .long_nops_stepped = true,
						  .returns = CLEW_RETURNS_TRAMPOLINE};
	functions = open_functions(&options);
	assert_int_equal(find_one(functions, "nop5")->entry.class, STEPPED);
	assert_int_equal(find_one(functions, "calls_out")->returns, TRAMPOLINE);
	assert_int_equal(find_one(functions, "calls_itself")->returns, EXITS);
	symbol = find_one(functions, "lowered");
	assert_int_equal(symbol->returns, TRAMPOLINE);
	assert_int_equal(symbol->entry.below, 0);
	assert_int_equal(symbol->entry.slid, 0);
	clew_functions_close(functions);

	options = (struct clew_functions_options){.size = sizeof(options), .all_closed = true};
	functions = open_functions(&options);
	assert_int_equal(find_one(functions, "calls_out")->returns, TRAMPOLINE);
	assert_int_equal(find_one(functions, "calls_back")->returns, EXITS);
	clew_functions_close(functions);
}

static void expect_error(const void *bytes, size_t size, int error, const char *word)
{
	int file = memfd_create("bad", MFD_CLOEXEC);
	struct clew_functions *functions;
	struct clew_message message;

	assert_int_equal(write(file, bytes, size), size);
	assert_int_equal(clew_functions_open(file, "bad", NULL, &functions, &message), error);
	assert_null(functions);
	if (!strstr(message.text, word))
		fail_msg("\"%s\" has no \"%s\"", message.text, word);
	close(file);
}

/* Files that are no programs, and the library cut off and changed at random: never a crash. */
static void test_bad(void **state)
{
	int file = open_object("functions.so");
	size_t size = (size_t)lseek(file, 0, SEEK_END);
	uint8_t *bytes = malloc(size), *copy = malloc(size);

	(void)state;
	assert_int_equal(pread(file, bytes, size, 0), size);
	expect_error("text", 4, -EBADMSG, "no ELF file");
	expect_error(bytes, 100, -EBADMSG, "cut off");
	expect_error(bytes, size / 2, -EBADMSG, "cut off");
	memcpy(copy, bytes, size);
	copy[4] = 1;
	expect_error(copy, size, -ENOTSUP, "32 bits");
	copy[4] = 2;
	copy[18] = 183;
	expect_error(copy, size, -ENOTSUP, "another machine (183)");
	srand(1);
	for (int i = 0; i < 3000; i++) {
		int changed = memfd_create("changed", MFD_CLOEXEC);
		const struct clew_function_symbol *const *found;
		struct clew_functions *functions;
		struct clew_message message;
		size_t count;

		memcpy(copy, bytes, size);
		for (int k = 0; k < 1 + i % 4; k++)
			copy[(size_t)rand() % size] = (uint8_t)rand();
		assert_int_equal(write(changed, copy, size), size);
		if (!clew_functions_open(changed, "changed", NULL, &functions, &message)) {
			assert_int_equal(clew_functions_find(functions, NULL, &found, &count), 0);
			clew_functions_close(functions);
		}
		close(changed);
	}
	free(bytes);
	free(copy);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	 cmocka_unit_test(test_names),
		cmocka_unit_test(test_build_id), cmocka_unit_test(test_switches),
		cmocka_unit_test(test_packed),
#ifdef __x86_64__
		cmocka_unit_test(test_targets),
#endif
		cmocka_unit_test(test_options),	 cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
