/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes what traces are stitched and annotated by: the input is statements, or rules.
 * Whatever it is: an error at one of its bytes, or what it says is done to small traces,
 * of which one comes that can be dealt with again; no crash, no endless loop.
 */
#include <clew/annotate.h>
#include <clew/notation.h>
#include <clew/stitch.h>

#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char first[] = "hierarchy h\nspan client [0,100] in h:host\nspan client/call "
			    "[10,90]\nmark client/call send:1@20\nmark client/call send:1@30\n"
			    "mark client/call recv:2@80\ndep rpc client/call@40 -> - call=1\ndep "
			    "rpc - -> client/call@(50~70) call=2\n"
			    "dep go and {client@5} -> - call=3\n";
static const char second[] = "hierarchy h other\nspan server [0,100] in h:host other:x/y\nwait "
			     "server 10..30 futex\nmark server recv:1@5\n"
			     "mark server recv:1@35\nmark server send:2@50\nspan client "
			     "[0,50]\ndep rpc - -> server@30 call=1\n"
			     "dep rpc server@60 -> - call=2\ndep go and {client@5, server@7} -> "
			     "server@40 call=3\ndep wake server@80 -> client@45\n";

static struct clew_model *read_trace(const char *text)
{
	struct clew_model *model;
	char message[200];

	must(clew_notation_read(text, strlen(text), NULL, &model, message, sizeof(message)) == 0);
	return model;
}

static void check_error(int r, const struct clew_query_error *error, size_t size)
{
	must(r == 0 || r == -EINVAL);
	if (r < 0)
		must(error->offset <= size && strstr(error->message, ": "));
}

static void check_model(struct clew_model *model)
{
	struct clew_problem *problems;
	size_t count;

	must(clew_model_check(model, true, &problems, &count) == 0);
	for (size_t i = 0; i < count; i++)
		must(strcmp(problems[i].kind, "order") && strcmp(problems[i].kind, "overlap") &&
		     strcmp(problems[i].kind, "symmetry"));
	free(problems);
	clew_model_free(model);
}

static void check_stitching(const char *text, size_t size, struct clew_model *const *traces)
{
	static struct clew_stitch_clock clocks[3];
	struct clew_stitch_result result = {.clocks = clocks};
	struct clew_query_error error = {.message = ""};
	struct clew_stitching *program;
	struct clew_model *model;
	int r = clew_stitching_compile(text, size, &program, &error);

	check_error(r, &error, size);
	if (r < 0)
		return;
	for (uint32_t count = 2; count <= 3; count++) {
		r = clew_stitch((const struct clew_model *const *)traces, count, program, NULL,
				&model, &result, &error);
		check_error(r, &error, size);
		if (r < 0)
			continue;
		must(model->mark_count >= traces[0]->mark_count + traces[1]->mark_count);
		check_model(model);
	}
	clew_stitching_free(program);
}

static void check_rules(const char *text, size_t size, const struct clew_model *trace)
{
	struct clew_query_error error = {.message = ""};
	struct clew_annotation *rules;
	struct clew_model *model;
	int r = clew_annotation_compile(text, size, &rules, &error);

	check_error(r, &error, size);
	if (r < 0)
		return;
	r = clew_annotate(trace, rules, NULL, &model, NULL, &error);
	check_error(r, &error, size);
	if (r == 0) {
		must(model->es_count == trace->es_count && model->mark_count >= trace->mark_count);
		check_model(model);
	}
	clew_annotation_free(rules);
}

/* Without bytes behind the text, so that a sanitizer sees whoever reads on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct clew_model *traces[3];
	char *copy = malloc(size ? size : 1);

	if (!traces[0]) {
		traces[0] = read_trace(first);
		traces[1] = read_trace(second);
		traces[2] = fuzz_trace();
	}
	must(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	check_stitching(copy, size, traces);
	check_rules(copy, size, traces[1]);
	free(copy);
	(void)check_text;
	return 0;
}
