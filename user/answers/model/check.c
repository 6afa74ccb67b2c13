/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The problems of a causal trace. */
#include <stdlib.h>

#include "answers/model/model.h"
#include "answers/path/model_json.h"
#include "format/text.h"
#include "words/truth.h"

static const char *severity(const struct clew_problem *problem)
{
	return problem->warning ? "warning" : "error";
}

void clew_json_problems(FILE *out, const struct clew_model *model,
			const struct clew_problem *problems, size_t count)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "problems");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(&json, NULL);
		clew_json_string(&json, "kind", problems[i].kind);
		clew_json_string(&json, "severity", severity(&problems[i]));
		clew_json_span(&json, "span", model, problems[i].span);
		clew_json_known(&json, "es", problems[i].es, CLEW_NONE);
		clew_json_string(&json, "message", problems[i].message);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

void clew_print_problems(FILE *out, const struct clew_model *model,
			 const struct clew_problem *problems, size_t count, size_t errors)
{
	for (size_t i = 0; i < count; i++) {
		char *path = problems[i].span == CLEW_NONE
				     ? NULL
				     : clew_model_span_path(model, problems[i].span);

		fprintf(out, "%s: %s", severity(&problems[i]), problems[i].kind);
		if (path) {
			fputs(" in ", out);
			clew_print_safe(out, path);
		}
		if (problems[i].es != CLEW_NONE)
			fprintf(out, ", elementary span %u", problems[i].es);
		fputs(": ", out);
		clew_print_safe(out, problems[i].message);
		fputc('\n', out);
		free(path);
	}
	if (count)
		fprintf(out, "%zu error%s and %zu warning%s", errors, errors == 1 ? "" : "s",
			count - errors, count - errors == 1 ? "" : "s");
	else
		fputs("No problem", out);
	fprintf(out, " in %u spans, %u elementary spans and %u dependencies.\n", model->span_count,
		model->es_count, model->dependency_count);
	clew_print_model_truth(out, model, CLEW_WHOLE);
}
