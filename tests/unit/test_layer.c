/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions of layers: what is taken, what each mistake is called, and the words of what a point
 * gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "layer_text.h"

static void test_description(void **state)
{
	struct clew_layers *layers = read_text("# two layers\n"
					       "layer db \"a \\\"db\\\"\"\n"
					       "object d libdb.so.* /opt/db  # comment\n"
					       "call usdt db:open__start path:str=arg0 -> usdt "
					       "db:open__done db=u64(arg1+8)-4 desc db from path\n"
					       "call usdt db:prepare db=arg0 sql=str(u64(arg1),16) "
					       "n=s32(arg2) -> usdt db:prepared stmt=arg0\n"
					       "\tcarry db -> stmt; desc stmt from sql\n"
					       "drop usdt db:close db=arg0\n"
					       "layer other\n"
					       "call usdt o:x\n");
	const struct clew_layer *layer;
	const struct clew_layer_call *call;
	const struct clew_layer_point *point;

	(void)state;
	assert_int_equal(layers->count, 2);
	assert_int_equal(layers->point_count, 6);
	assert_string_equal(layers->layers[0].title, "a \"db\"");
	assert_int_equal(layers->layers[0].glob_count, 2);
	assert_string_equal(layers->layers[0].globs[1], "/opt/db");
	point = clew_layers_point(layers, 1, &layer, &call);
	assert_string_equal(layer->name, "db");
	assert_string_equal(call->operation, "open");
	assert_string_equal(point->probe, "open__done");
	assert_int_equal(point->point.values[0].argument, 1);
	assert_int_equal(point->point.values[0].steps[0].add, 8);
	assert_int_equal(point->point.values[0].steps[0].size, 8);
	assert_int_equal(point->point.values[0].steps[1].add, -4);
	assert_int_equal(call->rules[0].kind, CLEW_LAYER_DESC);
	assert_string_equal(call->rules[0].from, "path");
	assert_string_equal(call->rules[0].to, "db");
	point = clew_layers_point(layers, 2, NULL, &call);
	assert_int_equal(call->rule_count, 2);
	assert_int_equal(call->rules[0].kind, CLEW_LAYER_CARRY);
	assert_string_equal(call->rules[0].to, "stmt");
	assert_true(point->point.values[1].is_text);
	assert_int_equal(point->point.values[1].text_max, 16);
	assert_int_equal(point->point.values[2].steps[0].size, 4);
	assert_true(point->point.values[2].steps[0].is_signed);
	clew_layers_point(layers, 4, NULL, &call);
	assert_true(call->drops);
	clew_layers_point(layers, 5, &layer, &call);
	assert_string_equal(layer->name, "other");
	assert_null(call->end.provider);
	assert_null(clew_layers_point(layers, 6, NULL, NULL));
	clew_layers_free(layers);
}

static void test_operations(void **state)
{
	static const char *const probes[][2] = {{"get__start", "get"},	{"get_begin", "get"},
						{"get-entry", "get"},	{"start", "start"},
						{"restart", "restart"}, {"get", "get"}};
	char text[100];

	(void)state;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		struct clew_layers *layers;

		snprintf(text, sizeof(text), "layer l\ncall usdt p:%s\n", probes[i][0]);
		layers = read_text(text);
		assert_string_equal(layers->layers[0].calls[0].operation, probes[i][1]);
		clew_layers_free(layers);
	}
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text;
		const char *message; /* its beginning */
	} mistakes[] = {
		{"call usdt a:b\n", "t:1:1: a description begins with 'layer NAME'"},
		{"\n  layer\n", "t:2:8: the layer's name is missing here"},
		{"layer a title\n", "t:1:9: the title has to be in quotes"},
		{"layer a \"x\n", "t:1:9: the closing quote is missing"},
		{"layer a\nlayer a\n", "t:2:7: there is a layer 'a' already"},
		{"layer a\nobject x\n", "t:2:9: the object's file name"},
		{"layer a\ncall enter q:f\n",
		 "t:2:6: 'usdt PROVIDER:PROBE' is missing here: other points are not recorded"},
		{"layer a\ncall usdt p\n", "t:2:12: ':' is missing here"},
		{"layer a\ncall usdt p: x\n", "t:2:13: the probe's name is missing here"},
		{"layer a\ncall usdt p:q x\n", "t:2:16: '=' is missing here"},
		{"layer a\ncall usdt p:q x=arg6\n", "t:2:20: the number is too large: at most 5"},
		{"layer a\ncall usdt p:q x=ret\n", "t:2:17: none of arg0..arg5"},
		{"layer a\ncall usdt p:q x=u24(arg0)\n", "t:2:17: none of arg0..arg5"},
		{"layer a\ncall usdt p:q x=u8(arg0\n", "t:2:24: ')' is missing here"},
		{"layer a\ncall usdt p:q x=u8(str(arg0))\n", "t:2:17: a text is no address"},
		{"layer a\ncall usdt p:q x=str(arg0)+1\n", "t:2:26: a text is no number"},
		{"layer a\ncall usdt p:q x=u8(u8(u8(arg0)))\n",
		 "t:2:17: more than 2 reads in one value"},
		{"layer a\ncall usdt p:q x:u8=arg0\n", "t:2:17: the only type is str"},
		{"layer a\ncall usdt p:q x=arg0 x=arg1\n",
		 "t:2:22: the value 'x' is there already"},
		{"layer a\ncall usdt p:q x=arg0 desc y from x\n",
		 "t:2:27: the call has no value 'y'"},
		{"layer a\ncall usdt p:q x=arg0 carry x y\n", "t:2:30: '->' is missing here"},
		{"layer a\ncall usdt p:q x=arg0 desc x from x desc x from x\n",
		 "t:2:36: ';' is missing here"},
		{"layer a\ndesc x from y\n", "t:2:1: there is no call before this rule"},
		{"layer a\ndrop usdt p:q\n", "t:2:6: 'drop' has one point with one value"},
		{"layer a\nspan x\n", "t:2:1: none of layer, object, call, drop, desc, carry"},
		{"span a\n", "t:1:1: a description begins with 'layer NAME' or 'runtime NAME'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct clew_layers *layers = NULL;
		char message[300];
		int r = clew_layers_read(mistakes[i].text, strlen(mistakes[i].text), "t", &layers,
					 message, sizeof(message));

		if (r != -EINVAL ||
		    strncmp(message, mistakes[i].message, strlen(mistakes[i].message)))
			fail_msg("%s: %d, %s", mistakes[i].text, r, message);
	}
}

static void test_words(void **state)
{
	struct clew_layers *layers =
		read_text("layer db\ncall usdt p:get__start table:str=arg0 key=arg1 size=arg2\n");
	char values[64], text[64];
	uint64_t number = 17;
	size_t size;

	(void)state;
	memcpy(values, "orders", 7);
	memcpy(values + 7, &number, sizeof(number));
	memcpy(values + 15, &number, sizeof(number));
	size = clew_layers_words(layers, 0, values, 23, 0, text, sizeof(text));
	assert_int_equal(size, sizeof("db\0get\0table=orders\0key=17\0size=17"));
	assert_memory_equal(text, "db\0get\0table=orders\0key=17\0size=17", size);
	/* The key is not known: the size's bytes follow the table's. */
	memcpy(values + 7, &number, sizeof(number));
	size = clew_layers_words(layers, 0, values, 15, 2, text, sizeof(text));
	assert_memory_equal(text, "db\0get\0table=orders\0size=17", size);
	/* A cut text gives no word. */
	size = clew_layers_words(layers, 0, values, 10, 0, text, sizeof(text));
	assert_memory_equal(text, "db\0get\0table=orders", size);
	size = clew_layers_words(layers, 0, values, 3, 0, text, sizeof(text));
	assert_memory_equal(text, "db\0get", size);
	size = clew_layers_words(layers, 0, values, 23, 0, text, 10);
	assert_int_equal(size, 7);
	assert_int_equal(clew_layers_words(layers, 1, values, 23, 0, text, sizeof(text)), 0);
	clew_layers_free(layers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_description),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
