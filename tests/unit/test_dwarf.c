/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments and inlined copies of functions that were compiled for this, plain and optimized
 * (objects/arguments.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/functions/traced_values.h"
#include "symbol/code/function.h"
#include "symbol/elf/dwarf.h"

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

/* A signature as text: name:SIZE of a signed, uSIZE of an unsigned number, p, s, or why not; and
 * the register. */
static void write_value(const struct clew_value_type *value, char *text)
{
	static const char *const kinds[] = {
		[CLEW_VALUE_NUMBER] = "", [CLEW_VALUE_POINTER] = "p", [CLEW_VALUE_TEXT] = "s"};

	if (value->refused)
		strcat(text, value->refused);
	else if (value->kind == CLEW_VALUE_NUMBER)
		sprintf(text + strlen(text), "%s%u", value->is_signed ? "" : "u", value->size);
	else
		strcat(text, kinds[value->kind]);
}

static void write_signature(const struct clew_signature *signature, char *text)
{
	*text = '\0';
	for (size_t i = 0; i < signature->count; i++) {
		const struct clew_value_type *value = &signature->arguments[i];

		sprintf(text + strlen(text), "%s%s:", i ? ", " : "", value->name);
		write_value(value, text);
		if (!value->refused)
			sprintf(text + strlen(text), "@%u", value->argument);
	}
	if (signature->returns) {
		strcat(text, " -> ");
		write_value(&signature->result, text);
	}
}

static const struct {
	const char *name, *plain, *optimized; /* NULL: the same */
	uint64_t copies;		      /* in the optimized one */
} expected[] = {
	{"simple", "path:s@0, count:4@1 -> 4", NULL, 0},
	{"kinds", "a:1@0, b:u2@1, c:8@2, d:u4@3, e:p@4, f:u1@5 -> u1", NULL, 0},
	{"seven", "a:8@0, b:8@1, c:8@2, d:8@3, e:8@4, f:8@5, g:it is on the stack -> 8", NULL, 0},
	{"floats", "a:floating point, b:4@0, c:floating point, d:u4@1 -> 4", NULL, 0},
	{"structures", "a:a structure by value, b:its place is not known -> 4",
	 "a:a structure by value, b:4@1 -> 4", 0},
	{"made", "a:its place is not known -> a structure by value",
	 "a:4@1 -> a structure by value", 0},
	{"halves", "a:4@0 -> floating point", NULL, 0},
	{"nothing", "", NULL, 0},
	{"takes", "a:4@0, path:s@1", NULL, 0},
	{"both", "a:4@0 -> 4", NULL, 3},
};

static void check(const char *object, bool optimized)
{
	const struct clew_function_symbol *const *found;
	struct clew_functions *functions;
	struct clew_message message;
	struct clew_dwarf *dwarf;
	int file = open_object(object);
	char text[512];
	size_t count;

	assert_int_equal(clew_functions_open(file, object, NULL, &functions, &message), 0);
	assert_int_equal(clew_dwarf_open(file, NULL, NULL, 0, &dwarf), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const char *right = optimized && expected[i].optimized ? expected[i].optimized
								       : expected[i].plain;
		const struct clew_signature *signature;

		assert_int_equal(clew_functions_find(functions, expected[i].name, &found, &count),
				 0);
		assert_int_equal(count, 1);
		signature = clew_dwarf_find(dwarf, found[0]->address, found[0]->name);
		assert_non_null(signature);
		write_signature(signature, text);
		if (strcmp(text, right) != 0)
			fail_msg("%s: %s: \"%s\" instead of \"%s\"", object, expected[i].name, text,
				 right);
		assert_int_equal(signature->inlined, optimized ? expected[i].copies : 0);
		/* The compiler's version of it has another name, and other arguments. */
		assert_ptr_equal(clew_dwarf_find(dwarf, found[0]->address, "x"), signature);
	}
	assert_null(clew_dwarf_find(dwarf, found[0]->address + 1, "x"));
	clew_dwarf_close(dwarf);
	clew_functions_close(functions);
	close(file);
}

static void test_plain(void **state)
{
	(void)state;
	check("arguments-O0.so", false);
}

static void test_optimized(void **state)
{
	(void)state;
	check("arguments-O2.so", true);
}

static void test_changed(void **state)
{
	const struct clew_function_symbol *const *found;
	struct clew_functions *functions;
	struct clew_message message;
	struct clew_dwarf *dwarf;
	int file = open_object("arguments-O2.so");
	const struct clew_signature *signature;
	size_t count;

	(void)state;
	assert_int_equal(clew_functions_open(file, "object", NULL, &functions, &message), 0);
	assert_int_equal(clew_functions_find(functions, "simple", &found, &count), 0);
	assert_int_equal(clew_dwarf_open(file, NULL, NULL, 0, &dwarf), 0);
	signature = clew_dwarf_find(dwarf, found[0]->address, "simple.constprop.0");
	assert_string_equal(signature->arguments[0].refused, "the compiler changed the arguments");
	clew_dwarf_close(dwarf);
	clew_functions_close(functions);
	close(file);
}

/* No debugging information, and none that can be read. */
static void test_none(void **state)
{
	static const uint8_t id[20] = {1};
	int file = open_object("functions.so"), empty = memfd_create("empty", MFD_CLOEXEC);
	struct clew_dwarf *dwarf;

	(void)state;
	assert_int_equal(clew_dwarf_open(file, NULL, id, sizeof(id), &dwarf), -ENODATA);
	assert_null(dwarf);
	assert_int_equal(clew_dwarf_open(empty, NULL, NULL, 0, &dwarf), -ENODATA);
	close(empty);
	close(file);
}

/* "(...) -> auto" of a function: what there is of its arguments and its result. */
static void test_all_values(void **state)
{
	static const struct {
		const char *name;
		size_t arguments;
		bool taken, returns;
	} functions_of[] = {
		{"simple", 2, true, true},
		{"takes", 2, true, false},
		{"nothing", 0, true, false},
		{"halves", 1, false, true}, /* its result is refused, which one asked for */
	};
	const struct clew_wanted wanted = {.all = true, .returns = true};
	const struct clew_function_symbol *const *found;
	struct traced_refused_value refused;
	struct clew_functions *functions;
	struct traced_values values;
	struct clew_message message;
	struct clew_dwarf *dwarf;
	int file = open_object("arguments-O0.so");
	size_t count;

	(void)state;
	assert_int_equal(clew_functions_open(file, "arguments-O0.so", NULL, &functions, &message),
			 0);
	assert_int_equal(clew_dwarf_open(file, NULL, NULL, 0, &dwarf), 0);
	for (size_t i = 0; i < sizeof(functions_of) / sizeof(functions_of[0]); i++) {
		assert_int_equal(
			clew_functions_find(functions, functions_of[i].name, &found, &count), 0);
		assert_int_equal(traced_values_find(dwarf, found[0], &wanted, &values, &refused),
				 functions_of[i].taken);
		assert_int_equal(values.wanted.count, functions_of[i].arguments);
		assert_int_equal(values.wanted.returns, functions_of[i].returns);
	}
	clew_dwarf_close(dwarf);
	clew_functions_close(functions);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	cmocka_unit_test(test_optimized),
		cmocka_unit_test(test_changed), cmocka_unit_test(test_all_values),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
