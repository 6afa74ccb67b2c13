/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes what-if programs: the input is one. Whatever it is: an error at one of its bytes,
 * or what it says is done to a small trace, of which a trace comes that can be
 * dealt with again; no crash, no endless loop.
 */
#include <clew/what_if.h>

#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_result(const struct clew_model *before, const struct clew_model *after)
{
	struct clew_problem *problems;
	size_t count;

	must(after->span_count == before->span_count && after->mark_count == before->mark_count);
	must(clew_model_check(after, true, &problems, &count) == 0);
	for (size_t i = 0; i < count; i++)
		must(strcmp(problems[i].kind, "order") && strcmp(problems[i].kind, "overlap") && strcmp(problems[i].kind, "symmetry"));
	free(problems);
}

static void check_program(const char *text, size_t size, bool sweep)
{
	static struct clew_model *model;
	struct clew_what_if_options options = {.hierarchy = 0, .step = sweep, .steps = 3};
	struct clew_query_error error = {.message = ""};
	struct clew_program *program;
	struct clew_what_if result;
	struct clew_model *after;
	int r;

	if (!model)
		model = fuzz_trace();
	r = clew_program_compile(text, size, sweep, &program, &error);
	must(r == 0 || r == -EINVAL);
	if (r == 0) {
		r = clew_what_if(model, program, &options, &after, &result, &error);
		clew_program_free(program);
	}
	if (r == -EINVAL || r == -ELOOP || r == -EDEADLK)
		must(error.offset <= size && strstr(error.message, ": ") && !memchr(error.message, '\0', 1));
	must(r == 0 || r == -EINVAL || r == -ELOOP || r == -EDEADLK || r == -EOVERFLOW);
	if (r == 0) {
		check_result(model, after);
		clew_model_free(after);
	}
}

/* Without bytes behind the text, so that a sanitizer sees whoever reads on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	must(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	check_program(copy, size, false);
	check_program(copy, size, true);
	free(copy);
	(void)check_text;
	return 0;
}
