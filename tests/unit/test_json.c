/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The JSON writer: structure, strings of any bytes, tables; text that a terminal survives.
 */
#include "format/json.c"
#include "format/json_table.c"
#include "format/text.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *written;
static size_t written_size;

static struct clew_json begin(void)
{
	return (struct clew_json){.out = open_memstream(&written, &written_size)};
}

static void expect_written(struct clew_json *json, const char *expected)
{
	fclose(json->out);
	assert_string_equal(written, expected);
	free(written);
	written = NULL;
}

static void expect_json(const char *value, const char *expected)
{
	struct clew_json json = begin();

	clew_json_string(&json, NULL, value);
	expect_written(&json, expected);
}

static void expect_safe(const char *value, const char *expected)
{
	struct clew_json json = begin();

	clew_print_safe(json.out, value);
	expect_written(&json, expected);
}

static void test_structure(void **state)
{
	struct clew_json json = begin();

	(void)state;
	clew_json_object(&json, NULL);
	clew_json_unsigned(&json, "most", UINT64_MAX);
	clew_json_signed(&json, "least", INT64_MIN);
	clew_json_array(&json, "list");
	clew_json_object(&json, NULL);
	clew_json_object_end(&json);
	clew_json_object(&json, NULL);
	clew_json_null(&json, "none");
	clew_json_bool(&json, "yes", true);
	clew_json_object_end(&json);
	clew_json_array_end(&json);
	clew_json_array(&json, "empty");
	clew_json_array_end(&json);
	clew_json_number(&json, "half", 0.5);
	clew_json_number(&json, "nothing", 0.0 / 0.0);
	clew_json_object_end(&json);
	clew_json_end(&json);
	expect_written(&json, "{\"most\":18446744073709551615,\"least\":-9223372036854775808,"
			      "\"list\":[{},\n{\"none\":null,\"yes\":true}],"
			      "\"empty\":[],\"half\":0.5,\"nothing\":null}\n");
}

static void test_plain_strings(void **state)
{
	(void)state;
	expect_json("", "\"\"");
	expect_json("postgres: walwriter", "\"postgres: walwriter\"");
	expect_json("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
	expect_json("\n\t\r\x01\x1f\x7f", "\"\\n\\t\\u000d\\u0001\\u001f\\u007f\"");
	expect_json("\xc3\xa4\xe2\x82\xac\xf0\x9f\xa7\xb6",
		    "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\xa7\xb6\"");
	expect_json("\xe2\x80\xa8", "\"\\u2028\"");
	expect_json("\xc2\x85", "\"\\u0085\"");
}

static void test_invalid_strings(void **state)
{
	(void)state;
	expect_json("\xff", "\"\\ufffd\"");
	expect_json("a\x80z", "\"a\\ufffdz\"");
	expect_json("\xc3", "\"\\ufffd\"");
	expect_json("\xe2\x82", "\"\\ufffd\\ufffd\"");
	/* An overlong slash, a surrogate, and a character beyond the last. */
	expect_json("\xc0\xaf", "\"\\ufffd\\ufffd\"");
	expect_json("\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"");
	expect_json("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
	expect_json("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	expect_json("\xf0\x82\x82\xac", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	/* The byte after a sequence that is cut short stands for itself. */
	expect_json("\xe2\x82z", "\"\\ufffd\\ufffdz\"");
}

static void test_safe_text(void **state)
{
	(void)state;
	expect_safe("plain \xc3\xa4", "plain \xc3\xa4");
	expect_safe("a\033[31mb\nc", "a\\x1b[31mb\\x0ac");
	expect_safe("\xff\xc3", "\\xff\\xc3");
	expect_safe("\xc2\x9b", "\\xc2\\x9b");
	expect_safe("\xe2\x80\xae", "\\xe2\\x80\\xae");
}

static void test_units(void **state)
{
	(void)state;
	assert_string_equal(CLEW_DURATION(0), "0 ns");
	assert_string_equal(CLEW_DURATION(999), "999 ns");
	assert_string_equal(CLEW_DURATION(1000), "1.00 us");
	assert_string_equal(CLEW_DURATION(3104), "3.10 us");
	assert_string_equal(CLEW_DURATION(999499), "999 us");
	assert_string_equal(CLEW_DURATION(999500), "1.00 ms");
	assert_string_equal(CLEW_DURATION(12345678), "12.3 ms");
	assert_string_equal(CLEW_DURATION(UINT64_C(12345678901)), "12.346 s");
	assert_string_equal(CLEW_OFFSET(17, 999999), "0.017 us");
	assert_string_equal(CLEW_OFFSET(4031499, 9000000), "4.031 ms");
	assert_string_equal(CLEW_OFFSET(4031499, UINT64_C(5000000000)), "0.004031 s");
	assert_string_equal(CLEW_BYTES(1023), "1023 B");
	assert_string_equal(CLEW_BYTES(1024), "1.00 KiB");
	assert_string_equal(CLEW_BYTES(UINT64_C(5) << 30), "5.00 GiB");
}

/* Equal values have one number, whatever was written between them. */
static void test_table(void **state)
{
	static const char *const values[] = {
		"a long value", "b", "a long value", "b", NULL, "c", "b"};
	static const uint32_t numbers[] = {0, 1, 0, 1, CLEW_JSON_NO_NUMBER, 2, 1};
	struct clew_json_table table;
	struct clew_json json = {};
	char *text = NULL;
	size_t size;

	(void)state;
	json.out = open_memstream(&text, &size);
	assert_int_equal(clew_json_table_begin(&table), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		clew_json_string(clew_json_table_open(&table), NULL, values[i]);
		assert_int_equal(clew_json_table_close(&table), numbers[i]);
	}
	clew_json_answer(&json);
	assert_int_equal(clew_json_table_write(&table, &json, "names"), 0);
	clew_json_table_number(&json, "one", 2);
	clew_json_table_number(&json, "none", CLEW_JSON_NO_NUMBER);
	clew_json_object_end(&json);
	fclose(json.out);
	assert_string_equal(text, "{\"format\":2,\"names\":[\"a long value\",\n\"b\",\n\"c\"],"
				  "\"one\":2,\"none\":null}");
	clew_json_table_done(&table);
	free(text);
}

static void test_empty_table(void **state)
{
	struct clew_json_table table;
	struct clew_json_part part;
	struct clew_json json = {};
	char *text = NULL;
	size_t size;

	(void)state;
	json.out = open_memstream(&text, &size);
	assert_int_equal(clew_json_table_begin(&table), 0);
	assert_int_equal(clew_json_part_begin(&part, 1), 0);
	clew_json_object(&json, NULL);
	assert_int_equal(clew_json_table_write(&table, &json, "names"), 0);
	assert_int_equal(clew_json_part_write(&part, &json), 0);
	clew_json_signed(&part.json, "least", INT64_MIN);
	clew_json_unsigned(&part.json, "most", UINT64_MAX);
	assert_int_equal(clew_json_part_write(&part, &json), 0);
	clew_json_object_end(&json);
	fclose(json.out);
	assert_string_equal(text, "{\"names\":[],\"least\":-9223372036854775808,"
				  "\"most\":18446744073709551615}");
	clew_json_part_done(&part);
	clew_json_table_done(&table);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure),	cmocka_unit_test(test_plain_strings),
		cmocka_unit_test(test_invalid_strings), cmocka_unit_test(test_safe_text),
		cmocka_unit_test(test_units),		cmocka_unit_test(test_table),
		cmocka_unit_test(test_empty_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
