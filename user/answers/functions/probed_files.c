/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of each file that was asked for, as text and as JSON. */
#include <string.h>

#include "answers/functions/probed.h"

void clew_functions_json(FILE *out, const struct clew_functions_answer *answer)
{
	struct clew_json json = {.out = out};
	bool several = answer->count > 1;

	clew_json_answer(&json);
	if (several) {
		clew_json_array(&json, "objects");
		for (size_t i = 0; i < answer->count; i++) {
			if (!clew_functions_fit(&answer->shown[i]))
				continue;
			clew_json_object(&json, NULL);
			clew_functions_write(&json, &answer->shown[i], answer->probe_cost);
			clew_json_object_end(&json);
		}
		clew_json_array_end(&json);
		clew_function_cost_write(&json, &answer->cost);
	} else {
		clew_functions_write(&json, &answer->shown[0], answer->probe_cost);
	}
	clew_probe_cost_write(&json, answer->probe_cost);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

int clew_functions_text(FILE *out, const struct clew_functions_answer *answer)
{
	const struct clew_functions_shown *before = NULL;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < answer->count; i++) {
		const struct clew_functions_shown *shown = &answer->shown[i];

		if (!clew_functions_fit(shown))
			continue;
		r = clew_functions_print(out, shown,
					 shown->count &&
						 (!before || strcmp(before->why, shown->why) != 0),
					 answer->probe_cost);
		clew_carried_print(out, shown);
		if (shown->count)
			before = shown;
		fputc('\n', out);
	}
	if (answer->cost.probes)
		clew_function_cost_print(out, &answer->cost);
	clew_probe_cost_print(out, answer->probe_cost);
	return r;
}
