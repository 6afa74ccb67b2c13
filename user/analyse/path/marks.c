/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The marks on a path.
 */
#include "query/regex.h"
#include <string.h>

#include "analyse/path/internal.h"

static int collect(const struct clew_model *model, const struct clew_path *path,
		   const struct regex *regex, struct regex_scratch *scratch, struct vector *marks)
{
	for (uint32_t i = 0; i < path->count; i++) {
		uint32_t es = path->es[i], end = es + 1 < model->es_count ? model->es[es + 1].mark
									  : model->mark_count;

		for (uint32_t mark = model->es[es].mark; mark < end; mark++) {
			int r = regex_matches(regex, scratch,
					      clew_model_string(model, model->marks[mark].label));

			if (r == 0)
				continue;
			if (r > 0)
				r = vector_reserve(marks, marks->count + 1);
			if (r < 0)
				return r;
			((struct clew_path_mark *)marks->data)[marks->count++] =
				(struct clew_path_mark){.mark = mark, .es = es};
		}
	}
	return 0;
}

int clew_path_marks(const struct clew_model *model, const struct clew_path *path,
		    const char *expression, size_t size, struct clew_path_mark **ret_marks,
		    size_t *ret_count, struct clew_query_error *ret_error)
{
	struct vector marks = {.item = sizeof(struct clew_path_mark)};
	struct regex_scratch *scratch = NULL;
	struct regex *regex;
	int r = regex_compile(expression, size, &regex, &ret_error->offset, ret_error->message,
			      sizeof(ret_error->message));

	if (r < 0)
		return r;
	r = regex_scratch_new(&scratch);
	if (r == 0)
		r = collect(model, path, regex, scratch, &marks);
	if (r == 0) {
		*ret_marks = malloc(sizeof(**ret_marks) * (marks.count + 1));
		*ret_count = marks.count;
		r = *ret_marks ? 0 : -ENOMEM;
	}
	if (r == 0 && marks.count)
		memcpy(*ret_marks, marks.data, sizeof(**ret_marks) * marks.count);
	regex_scratch_free(scratch);
	regex_free(regex);
	vector_done(&marks);
	return r;
}
