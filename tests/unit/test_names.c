/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that places of a library lie in (objects/names.s), with its symbols and stripped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/elf/elf_file.h"
#include "symbol/elf/names.h"

/* Beside the test program. */
static int open_object(void)
{
	char path[4096], *slash;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	int file;

	assert_true(length > 0);
	path[length] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash, "/objects/names.so");
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	return file;
}

/* The same file without .symtab. */
static int open_stripped(void)
{
	int file = open_object(), copy = memfd_create("stripped", MFD_CLOEXEC);
	char bytes[1 << 16];
	ssize_t size = read(file, bytes, sizeof(bytes));
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + header->e_shoff);

	assert_true(copy >= 0 && size > 0 && (size_t)size < sizeof(bytes));
	for (unsigned i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			sections[i].sh_type = SHT_PROGBITS;
	assert_int_equal(write(copy, bytes, (size_t)size), size);
	close(file);
	return copy;
}

/* The offset in the file of any symbol. */
static uint64_t offset_of(const char *name)
{
	int descriptor = open_object();
	const Elf64_Shdr *section, *strings;
	struct elf_file file;
	Elf64_Sym *symbols;
	uint64_t found = 0;
	char *texts;

	assert_int_equal(elf_file_open(descriptor, &file), 0);
	section = elf_file_section(&file, ".symtab");
	assert_non_null(section);
	strings = &file.sections[section->sh_link];
	assert_int_equal(elf_file_read(&file, section->sh_offset, section->sh_size, &symbols), 0);
	assert_int_equal(elf_file_read(&file, strings->sh_offset, strings->sh_size, &texts), 0);
	for (size_t i = 0; i < section->sh_size / sizeof(*symbols); i++)
		if (!strcmp(texts + symbols[i].st_name, name))
			found = elf_file_offset(&file, symbols[i].st_value);
	free(symbols);
	free(texts);
	elf_file_close(&file);
	close(descriptor);
	if (!found)
		fail_msg("%s is not there", name);
	return found;
}

struct expected {
	const char *symbol; /* whose start */
	unsigned at;	    /* bytes behind it */
	const char *name;   /* NULL: nothing is found */
	const char *start;  /* symbol where the function found starts */
	unsigned from;
};

static void check(int descriptor, const struct expected *expected, size_t count)
{
	struct clew_names *names;
	struct clew_named named;

	assert_int_equal(clew_names_open(descriptor, &names), 0);
	close(descriptor);
	for (size_t i = 0; i < count; i++, expected++) {
		uint64_t at = offset_of(expected->symbol) + expected->at;
		bool found = clew_names_find(names, at, &named);

		if (found != !!expected->name)
			fail_msg("%s + %u: %s", expected->symbol, expected->at,
				 found ? named.name : "nothing");
		if (!found)
			continue;
		assert_string_equal(named.name, expected->name);
		assert_int_equal(named.start, offset_of(expected->start));
		assert_int_equal(named.from, expected->from);
		assert_true(at - named.start < named.size);
	}
	clew_names_close(names);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void test_symbols(void **state)
{
	static const struct expected all[] = {
		{"shown", 0, "shown", "shown", CLEW_SYMBOL_TABLE},
		{"shown", 8, "shown", "shown", CLEW_SYMBOL_TABLE},
		{"shown", 9, NULL, NULL, 0},
		{"plain", 3, "plain", "plain", CLEW_SYMBOL_TABLE},
		{"_IO_given", 8, "given", "_IO_given", CLEW_SYMBOL_TABLE},
		{"afree", 8, "ofre", "afree", CLEW_SYMBOL_TABLE},
		{"hidden", 8, "hidden", "hidden", CLEW_SYMBOL_TABLE},
		{"nameless", 0, "", "nameless", CLEW_SYMBOL_BOUNDS},
		{"nameless", 8, "", "nameless", CLEW_SYMBOL_BOUNDS},
		{"nameless", 9, NULL, NULL, 0},
		{"outer", 3, "outer", "outer", CLEW_SYMBOL_TABLE},
		{"inner", 0, "inner", "inner", CLEW_SYMBOL_TABLE},
		{"inner", 4, "outer", "outer", CLEW_SYMBOL_TABLE},
		{"unknown", 4, NULL, NULL, 0},
	};

	(void)state;
	check(open_object(), all, COUNT(all));
}

/* A function that is not exported has no name, and never that of the function before it. */
static void test_stripped(void **state)
{
	static const struct expected all[] = {
		{"shown", 8, "shown", "shown", CLEW_SYMBOL_DYNAMIC},
		{"shown", 9, NULL, NULL, 0},
		{"plain", 0, "", "plain", CLEW_SYMBOL_BOUNDS},
		{"hidden", 8, "", "hidden", CLEW_SYMBOL_BOUNDS},
		{"hidden", 9, NULL, NULL, 0},
		{"inner", 0, "outer", "outer", CLEW_SYMBOL_DYNAMIC},
		{"unknown", 4, NULL, NULL, 0},
	};

	(void)state;
	check(open_stripped(), all, COUNT(all));
}

static void test_no_file(void **state)
{
	int empty = memfd_create("empty", MFD_CLOEXEC);
	uint8_t id[CLEW_BUILD_ID_BYTES];
	struct clew_names *names;

	(void)state;
	assert_true(empty >= 0);
	assert_true(clew_names_open(empty, &names) < 0);
	assert_null(names);
	assert_int_equal(clew_build_id(empty, id), 0);
	close(empty);
}

static void test_build_id(void **state)
{
	static const uint8_t expected[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	uint8_t id[CLEW_BUILD_ID_BYTES];
	int file = open_object();

	(void)state;
	assert_int_equal(clew_build_id(file, id), sizeof(expected));
	assert_memory_equal(id, expected, sizeof(expected));
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
