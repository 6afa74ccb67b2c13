/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines and inlined functions of compiled objects, at each address of their code. addr2line
 * (binutils) reads the same file by other code. Damaged files give anything but a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "draw.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/lines.h"

#define DAMAGED 300

/* Beside the test program. */
static const char *path_of(const char *name, char path[4096])
{
	ssize_t length = readlink("/proc/self/exe", path, 4096 - 64);

	assert_true(length > 0);
	path[length] = '\0';
	sprintf(strrchr(path, '/'), "/objects/%s", name);
	return path;
}

static int open_object(const char *name)
{
	char path[4096];
	int file = open(path_of(name, path), O_RDONLY | O_CLOEXEC);

	if (file < 0)
		fail_msg("%s: %s", path, strerror(errno));
	return file;
}

static void code_of(int descriptor, uint64_t *ret_from, uint64_t *ret_to)
{
	const Elf64_Shdr *text;
	struct elf_file file;

	assert_int_equal(elf_file_open(descriptor, &file), 0);
	text = elf_file_section(&file, ".text");
	assert_non_null(text);
	*ret_from = text->sh_addr;
	*ret_to = text->sh_addr + text->sh_size;
	elf_file_close(&file);
}

/* One line of the other reader, without its line feed and what it says of discriminators. */
static bool next_line(FILE *from, char *line, int size)
{
	char *end;

	if (!fgets(line, size, from))
		return false;
	line[strcspn(line, "\n")] = '\0';
	end = strstr(line, " (discriminator");
	if (end)
		*end = '\0';
	return true;
}

/* Compares the places of an address with the next ones of addr2line, which knows symbols, too. */
static unsigned compare(const struct clew_lines_at *at, FILE *theirs, const char *end)
{
	char name[512], place[4096], want[4096];
	unsigned compared = 0;

	for (size_t i = 0; next_line(theirs, name, sizeof(name)) && strcmp(name, end); i++) {
		assert_true(next_line(theirs, place, sizeof(place)));
		if (!at->count || !at->lines[0].name)
			continue;
		assert_true(i < at->count);
		assert_string_equal(at->lines[i].name, name);
		snprintf(want, sizeof(want), at->lines[i].line ? "%s:%u" : "%s:?",
			 at->lines[i].file ?: "??", at->lines[i].line);
		assert_string_equal(want, place);
		assert_int_equal(at->lines[i].inlined, i + 1 < at->count);
		compared++;
	}
	if (at->count && at->lines[0].name)
		assert_int_equal(compared, at->count);
	return compared;
}

static void same_as_binutils(void **state)
{
	enum debug_missing missing;
	struct clew_lines *lines;
	struct clew_lines_at at;
	char command[8192], path[4096], end[64];
	unsigned compared = 0;
	uint64_t from, to;
	int object = open_object(*state);
	FILE *theirs;

	code_of(object, &from, &to);
	snprintf(command, sizeof(command),
		 "seq %lu %lu | xargs printf '%%#x\\n' | addr2line -e %s -f -i -a", from, to,
		 path_of(*state, path));
	theirs = popen(command, "re");
	assert_non_null(theirs);
	assert_int_equal(clew_lines_open(object, NULL, 0, NULL, &lines, &missing), 0);
	assert_true(next_line(theirs, end, sizeof(end)));
	for (uint64_t address = from; address < to; address++) {
		clew_lines_find(lines, address, &at);
		snprintf(end, sizeof(end), "0x%016lx", address + 1);
		compared += compare(&at, theirs, end);
	}
	assert_true(compared > (to - from) / 2);
	clew_lines_close(lines);
	assert_int_equal(pclose(theirs) & 0x7f, 0);
	close(object);
}

/* A copy in memory. */
static int copy_of(int object, size_t *ret_size)
{
	int copy = memfd_create("object", MFD_CLOEXEC);
	off_t size = lseek(object, 0, SEEK_END);
	char *bytes = malloc(size);

	assert_non_null(bytes);
	assert_int_equal(pread(object, bytes, size, 0), size);
	assert_int_equal(write(copy, bytes, size), size);
	free(bytes);
	*ret_size = size;
	return copy;
}

static void damaged(void **state)
{
	int object = open_object(*state);
	struct clew_lines_at at;
	uint64_t from, to;
	unsigned found = 0;

	code_of(object, &from, &to);
	for (unsigned round = 0; round < DAMAGED; round++) {
		enum debug_missing missing;
		struct clew_lines *lines;
		size_t size;
		int copy = copy_of(object, &size);

		random_state = round + 1;
		for (unsigned i = 0; i <= round; i++) {
			uint8_t byte = (uint8_t)draw(256);

			assert_int_equal(pwrite(copy, &byte, 1, draw((unsigned)size)), 1);
		}
		if (clew_lines_open(copy, NULL, 0, NULL, &lines, &missing) >= 0) {
			for (uint64_t address = from; address < to; address += 3)
				found += clew_lines_find(lines, address, &at);
			clew_lines_close(lines);
		}
		close(copy);
	}
	assert_true(found > 0);
	close(object);
}

/* An object without debugging information, and what is no object. */
static void nothing(void **state)
{
	enum debug_missing missing = DEBUG_MISSING;
	int object = open_object("functions.so"), empty = open("/dev/null", O_RDONLY);
	static const uint8_t id[20] = {1, 2, 3};
	struct clew_lines *lines;

	(void)state;
	assert_int_equal(clew_lines_open(object, id, sizeof(id), NULL, &lines, &missing), -ENODATA);
	assert_int_equal(missing, DEBUG_MISSING);
	assert_int_equal(clew_lines_open(-1, id, sizeof(id), NULL, &lines, &missing), -ENODATA);
	assert_int_equal(clew_lines_open(-1, NULL, 0, NULL, &lines, &missing), -ENODATA);
	assert_int_equal(clew_lines_open(empty, NULL, 0, NULL, &lines, &missing), -ENODATA);
	assert_null(lines);
	close(object);
	close(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(same_as_binutils, "arguments-O0.so"),
		cmocka_unit_test_prestate(same_as_binutils, "arguments-O2.so"),
		cmocka_unit_test_prestate(same_as_binutils, "switches-O2.so"),
		cmocka_unit_test_prestate(same_as_binutils, "switches-clang.so"),
		cmocka_unit_test_prestate(same_as_binutils, "switches-fixed"),
		cmocka_unit_test_prestate(damaged, "arguments-O2.so"),
		cmocka_unit_test_prestate(damaged, "switches-clang.so"),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
