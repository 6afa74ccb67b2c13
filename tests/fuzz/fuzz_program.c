/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes what-if programs: the input is one. Whatever it is: an error at one of its bytes,
 * or what it says is done to a small trace, of which a trace comes that can be
 * dealt with again; no crash, no endless loop.
 */
#include <clew/notation.h>
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
		must(strcmp(problems[i].kind, "order") && strcmp(problems[i].kind, "overlap") &&
		     strcmp(problems[i].kind, "symmetry"));
	free(problems);
}

/* CPUs, a lock that is handed on, a disk with a queue. */
static struct clew_model *busy_trace(void)
{
	static const char text[] =
		"hierarchy processes cpus devices\n"
		"span a [0,100] in processes:p\nspan b [0,100] in processes:p\nspan c [0,100] in "
		"processes:p\n"
		"wait b 10..60 futex object=futex:1 holder=a runqueue=2\ndep unlock a@60 -> b@60\n"
		"wait c 20..80 futex object=futex:1 holder=\"a 20 60 exact,b 60 80 exact\"\ndep "
		"unlock b@80 -> c@80\n"
		"wait a 70..75 runqueue\nmark a m@90\n"
		"span cpu0 [0,100] in cpus:machine\nmark cpu0 a@0\n"
		"span 8:0 [0,90] in devices:8:0\nspan 8:0/a [0,40] no-call\nspan 8:0/b [10,62] "
		"no-call\n"
		"wait 8:0/b 10..42 queued\ndep request a@5 -> 8:0/a@5\n";
	struct clew_model *model;
	char message[256];

	must(clew_notation_read(text, sizeof(text) - 1, NULL, &model, message, sizeof(message)) ==
	     0);
	return model;
}

static void check_program(const char *text, size_t size, bool sweep, bool busy)
{
	static struct clew_model *models[2];
	struct clew_model *model;
	struct clew_what_if_options options = {.hierarchy = 0, .step = sweep, .steps = 3};
	struct clew_query_error error = {.message = ""};
	struct clew_program *program;
	struct clew_what_if result;
	struct clew_model *after;
	int r;

	if (!models[busy])
		models[busy] = busy ? busy_trace() : fuzz_trace();
	model = models[busy];
	r = clew_program_compile(text, size, sweep, &program, &error);
	must(r == 0 || r == -EINVAL);
	if (r == 0) {
		r = clew_what_if(model, program, &options, &after, &result, &error);
		clew_program_free(program);
	}
	if (r == -EINVAL || r == -ELOOP || r == -EDEADLK)
		must(error.offset <= size && strstr(error.message, ": ") &&
		     !memchr(error.message, '\0', 1));
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
	for (unsigned i = 0; i < 4; i++)
		check_program(copy, size, i & 1, i & 2);
	free(copy);
	(void)check_text;
	return 0;
}
