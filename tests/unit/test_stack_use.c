/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests how functions use their return address (objects/stacks.s), and the way that is chosen to
 * see their returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbol/code/closure.h"
#include "symbol/code/function.h"

#define SWITCHES "it may switch stacks"
#define READS	 "it reads its return address"
#define CHANGES	 "it changes its return address"
#define TAKES	 "it takes its return address off the stack"
#define CHOOSES	 "it returns to an address of its own choice"
#define PASSES	 "it passes on where its return address is"
#define CALLS	 "what it calls may unwind or switch stacks"

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

static struct clew_functions *open_functions(const char *name,
					     const struct clew_functions_options *options)
{
	struct clew_functions *functions;
	struct clew_message message;
	int file = open_object(name);

	if (clew_functions_open(file, name, options, &functions, &message) < 0)
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

static const struct {
	const char *name, *use;
} used[] = {
	{"switches", SWITCHES},
	{"switches_by_load", SWITCHES},
	{"switches_by_exchange", SWITCHES},
	{"switches_by_leave", SWITCHES},
	{"switches_if", SWITCHES},
	{"reads", READS},
	{"reads_in_frame", READS},
	{"reads_on_one_way", READS},
	{"reads_by_copy", READS},
	{"reads_callers", READS},
	{"reads_callers_frame", READS},
	{"reads_chain", READS},
	{"changes", CHANGES},
	{"takes", TAKES},
	{"takes_by_add", TAKES},
	{"elsewhere_pushed", CHOOSES},
	{"passes", PASSES},
};

/* The return address of these may be replaced, if what they call leaves the stack alone. */
static const char *const kept[] = {
	"keeps_frame",	"keeps_alloca",	  "keeps_by_move", "keeps_early", "keeps_behind_call",
	"keeps_pushed", "keeps_variadic", "keeps_switch",  "keeps_tail",  "keeps_own_switch",
};

/* In whatever way the file is looked at. */
static void test_used(void **state)
{
	struct clew_functions_options options = {.size = sizeof(options)};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct clew_functions *functions;

		options.all_closed = i == 1;
		options.returns = i == 2 ? CLEW_RETURNS_TRAMPOLINE : CLEW_RETURNS_AUTO;
		functions = open_functions("stacks.so", &options);
		for (size_t k = 0; k < sizeof(used) / sizeof(used[0]); k++) {
			const struct clew_function_symbol *symbol =
				find_one(functions, used[k].name);

			if (symbol->returns == CLEW_RETURN_TRAMPOLINE || symbol->closed ||
			    (!symbol->endless && strcmp(symbol->why, used[k].use) != 0))
				fail_msg("%s: returns %d (%s), closed %d", used[k].name,
					 symbol->returns, symbol->why, symbol->closed);
		}
		clew_functions_close(functions);
	}
}

static void test_kept(void **state)
{
	struct clew_functions_options options = {.size = sizeof(options), .all_closed = true};
	struct clew_functions *functions = open_functions("stacks.so", &options);

	(void)state;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const struct clew_function_symbol *symbol = find_one(functions, kept[i]);

		if (strncmp(symbol->why, "nothing", strlen("nothing")) != 0 &&
		    strncmp(symbol->why, "its entry", strlen("its entry")) != 0)
			fail_msg("%s: returns %d (%s)", kept[i], symbol->returns, symbol->why);
	}
	/* The first instruction cannot be probed. */
	assert_true(find_one(functions, "keeps_barrier")->closed);
	clew_functions_close(functions);
}

/* Callers, and theirs, and whoever jumps to them. */
static void test_callers(void **state)
{
	static const char *const callers[] = {"calls_switches", "calls_caller", "jumps_to_reads"};
	struct clew_functions *functions = open_functions("stacks.so", NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		const struct clew_function_symbol *symbol = find_one(functions, callers[i]);

		if (symbol->returns != CLEW_RETURN_EXITS || symbol->closed ||
		    strcmp(symbol->why, CALLS) != 0)
			fail_msg("%s: returns %d (%s)", callers[i], symbol->returns, symbol->why);
	}
	assert_int_equal(find_one(functions, "calls_kept")->returns, CLEW_RETURN_TRAMPOLINE);
	clew_functions_close(functions);
}

static void expect_file(const char *name, int passes, const char *words)
{
	struct clew_closure *closure;
	char why[CLEW_CLOSURE_WHY];
	int file = open_object(name);

	assert_int_equal(clew_closure_new(&closure), 0);
	/* The remembered result is the same. */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(clew_closure_file(closure, file, name, why), passes);
		if (strncmp(why, words, strlen(words)) != 0)
			fail_msg("\"%s\" does not begin with \"%s\"", why, words);
	}
	clew_closure_free(closure);
	close(file);
}

/* A whole file, with code that has no name. */
static void test_files(void **state)
{
	(void)state;
	expect_file("stacks.so", 0, "stacks.so has ");
	expect_file("stackless.so", 0, "stackless.so has a function at 0x");
	expect_file("quiet.so", 1, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
