/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text in columns: nothing is lost, no line is too wide, no character is cut. */
#include "format/wrap.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_line(const char *line, size_t width, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	clew_print_line(out, line, strlen(line), width);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void assert_column(const char *name, size_t width, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	clew_print_column(out, name, width);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	assert_int_equal(clew_columns(text, size), width);
	free(text);
}

static void lines(void **state)
{
	(void)state;
	assert_line("fits", 40, "fits\n");
	assert_line("", 40, "\n");
	assert_line("  50 %  2 ms    it waited for the disk: a read took 12.5 ms", 44,
		    "  50 %  2 ms    it waited for the disk: a\n"
		    "                  read took 12.5 ms\n");
	assert_line("  50 %  \x1b[31m2 ms \x1b[0m   it waited for the disk: a read took 12.5 ms",
		    44,
		    "  50 %  \x1b[31m2 ms \x1b[0m   it waited for the disk: a\n"
		    "                  read took 12.5 ms\n");
	assert_line("  50 %  \x1b[31m2 ms \x1b[0m it waited for the disk: a read took 12.5 ms", 44,
		    "  50 %  \x1b[31m2 ms \x1b[0m it waited for the disk: a read\n"
		    "                took 12.5 ms\n");
	/* A number and its unit stay together; a word that only looks like one does not. */
	assert_line("it took a very long time, that is 12.5 ms in all", 41,
		    "it took a very long time, that is 12.5 ms\n  in all\n");
	assert_line("it took a very long time, that is 12.5 ms in all", 40,
		    "it took a very long time, that is\n  12.5 ms in all\n");
	/* A path is broken behind a slash. */
	assert_line("see /var/lib/postgresql/15/main/pg_wal/0000000100000000", 40,
		    "see\n  /var/lib/postgresql/15/main/pg_wal/\n  0000000100000000\n");
	/* Colours take no column. */
	assert_line("\x1b[31m0123456789 0123456789 0123456789 0123456\x1b[0m", 40,
		    "\x1b[31m0123456789 0123456789 0123456789 0123456\x1b[0m\n");
}

static void characters(void **state)
{
	char word[400] = "", *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	/* Two bytes a character, and three bytes in two columns. */
	assert_int_equal(clew_columns("\xc3\xa4\xc3\xa4", 4), 2);
	assert_int_equal(clew_columns("\xe6\xbc\xa2", 3), 2);
	for (int i = 0; i < 100; i++)
		strcat(word, "\xc3\xa4");
	out = open_memstream(&text, &size);
	assert_non_null(out);
	clew_print_line(out, word, strlen(word), 41);
	assert_int_equal(fclose(out), 0);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		line += strspn(line, " ");
		assert_true(strlen(line) % 2 == 0 && strlen(line) <= 82);
		assert_int_equal((unsigned char)line[0], 0xc3);
	}
	free(text);
	assert_column("short", 8, "short   ");
	assert_column("exactly8", 8, "exactly8");
	assert_column("much longer", 8, "much l..");
	assert_column("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 5,
		      "\xc3\xa4\xc3\xa4\xc3\xa4..");
	assert_column("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 5, "\xe6\xbc\xa2.. ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
