/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of code that a program made, against all lines that have an address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf/perf_map.h"

#define LINES 400
#define RANGE 3000

static struct clew_perf_map *read_text(const char *text)
{
	struct clew_perf_map *map = NULL;

	assert_int_equal(clew_perf_map_read(text, strlen(text), &map), 0);
	return map;
}

static void assert_name(const struct clew_perf_map *map, uint64_t address, const char *name,
			uint64_t start)
{
	struct clew_named named;

	if (!name) {
		assert_false(clew_perf_map_find(map, address, &named));
		return;
	}
	assert_true(clew_perf_map_find(map, address, &named));
	assert_string_equal(named.name, name);
	assert_int_equal(named.start, start);
	assert_int_equal(named.from, CLEW_SYMBOL_JIT);
}

static void test_lines(void **state)
{
	struct clew_perf_map *map = read_text("1000 10 JS:*a b.js:1\n"
					      "5000 10 \r\n"
					      "0x2000 0x20 with prefix\r\n"
					      "-3000 10 signed\n"
					      "3000 0 empty\n"
					      "3000 10\n"
					      "3000 10 \n"
					      "zz\n"
					      "\n"
					      "ffffffffffffffff 10 beyond\n"
					      "11111111111111111 10 long\n"
					      "4000 10 not ended");

	(void)state;
	assert_name(map, 0xfff, NULL, 0);
	assert_name(map, 0x1000, "JS:*a b.js:1", 0x1000);
	assert_name(map, 0x100f, "JS:*a b.js:1", 0x1000);
	assert_name(map, 0x1010, NULL, 0);
	assert_name(map, 0x201f, "with prefix", 0x2000);
	assert_name(map, 0x3000, NULL, 0);
	assert_name(map, 0x4000, NULL, 0);
	assert_name(map, 0x5000, NULL, 0);
	assert_name(map, UINT64_MAX, NULL, 0);
	clew_perf_map_free(map);
	map = read_text("");
	assert_name(map, 0, NULL, 0);
	clew_perf_map_free(map);
}

/* Among lines of one name the last one counts. */
static void test_again(void **state)
{
	struct clew_perf_map *map = read_text("1000 100 f\n"
					      "1040 100 f\n"
					      "3000 100 g\n"
					      "3080 10 h\n");

	(void)state;
	assert_name(map, 0x1020, "f", 0x1000);
	assert_name(map, 0x1050, "f", 0x1040);
	assert_name(map, 0x3000, "g", 0x3000);
	assert_name(map, 0x3085, NULL, 0);
	assert_name(map, 0x3090, "g", 0x3000);
	clew_perf_map_free(map);
}

struct line {
	uint64_t start, size;
	char name;
};

/* The name of an address by all lines; 0: none, or several. */
static char name_of(const struct line *lines, uint64_t address)
{
	char name = 0;

	for (size_t i = 0; i < LINES; i++) {
		if (address < lines[i].start || address - lines[i].start >= lines[i].size)
			continue;
		if (name && name != lines[i].name)
			return 0;
		name = lines[i].name;
	}
	return name;
}

static void test_random(void **state)
{
	static struct line lines[LINES];
	struct clew_perf_map *map;
	char *text, name[2] = "";
	struct clew_named named;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	srandom(7);
	for (size_t i = 0; i < LINES; i++) {
		lines[i] = (struct line){.start = (uint64_t)random() % RANGE,
					 .size = 1 + (uint64_t)random() % 16,
					 .name = (char)('a' + random() % 4)};
		fprintf(out, "%lx %lx %c\n", lines[i].start, lines[i].size, lines[i].name);
	}
	fclose(out);
	map = read_text(text);
	for (uint64_t address = 0; address < RANGE + 20; address++) {
		name[0] = name_of(lines, address);
		assert_int_equal(clew_perf_map_find(map, address, &named), name[0] != 0);
		if (!name[0])
			continue;
		assert_string_equal(named.name, name);
		assert_true(address - named.start < named.size);
	}
	clew_perf_map_free(map);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
