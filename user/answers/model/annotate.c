/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts of the marks that rules made. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/model/model.h"
#include "format/json.h"
#include "format/text.h"
#include "words/truth.h"

/* The text of a rule, to be freed. */
static char *text_of(const char *rules_text, const struct clew_annotation *rules, uint32_t rule)
{
	size_t offset, size;

	clew_annotation_rule(rules, rule, &offset, &size);
	return strndup(rules_text + offset, size);
}

void clew_json_marks(FILE *out, const struct clew_model *model, const char *rules_text,
		     const struct clew_annotation *rules, const uint64_t *marks)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "rules");
	for (uint32_t i = 0; i < clew_annotation_count(rules); i++) {
		char *text = text_of(rules_text, rules, i);

		clew_json_object(&json, NULL);
		clew_json_string(&json, "text", text);
		clew_json_unsigned(&json, "marks", marks[i]);
		clew_json_object_end(&json);
		free(text);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

void clew_print_marks(FILE *out, const struct clew_model *model, const char *rules_text,
		      const struct clew_annotation *rules, const uint64_t *marks)
{
	for (uint32_t i = 0; i < clew_annotation_count(rules); i++) {
		char *text = text_of(rules_text, rules, i);

		fprintf(out, "%8" PRIu64 " marks  ", marks[i]);
		clew_print_safe(out, text ?: "");
		fputc('\n', out);
		free(text);
	}
	clew_print_model_truth(out, model, CLEW_WHOLE);
}
