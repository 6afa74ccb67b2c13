/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts of the dependencies that were made of marks, by type. */
#include <inttypes.h>
#include <string.h>

#include "answers/model/model.h"
#include "format/json.h"
#include "format/text.h"
#include "words/truth.h"

void clew_print_paired(FILE *out, const struct clew_paired *paired)
{
	uint64_t backward = 0;

	fprintf(out, "%-16s %10s %12s %12s %10s %10s %12s %8s\n", "", "", "", "", "", "unpaired",
		"unpaired", "");
	fprintf(out, "%-16s %10s %12s %12s %10s %10s %12s %8s\n", "type", "origins", "destinations",
		"dependencies", "paired", "origins", "destinations", "dropped");
	for (uint32_t i = 0; i < paired->model->type_count; i++) {
		const struct clew_pair_metrics *m = &paired->metrics[i];
		const char *name = clew_model_string(paired->model, paired->model->types[i]);

		if (!clew_pair_events(m))
			continue;
		clew_print_safe(out, name);
		fprintf(out,
			"%*s %10" PRIu64 " %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64
			" %12" PRIu64 " %8" PRIu64 "\n",
			strlen(name) < 16 ? 16 - (int)strlen(name) : 0, "", m->origins,
			m->destinations, m->created, m->paired, m->unpaired_origins,
			m->unpaired_destinations, m->dropped);
		backward += m->backward;
	}
	if (backward)
		fprintf(out, "\n%" PRIu64 " destination%s before the origin: see `clew check`\n",
			backward, backward == 1 ? " is" : "s are");
	clew_print_model_truth(out, paired->model, CLEW_WHOLE);
}

void clew_json_paired(FILE *out, const struct clew_paired *paired)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "types");
	for (uint32_t i = 0; i < paired->model->type_count; i++) {
		const struct clew_pair_metrics *m = &paired->metrics[i];

		if (!clew_pair_events(m))
			continue;
		clew_json_object(&json, NULL);
		clew_json_string(&json, "type",
				 clew_model_string(paired->model, paired->model->types[i]));
		clew_json_unsigned(&json, "origins", m->origins);
		clew_json_unsigned(&json, "destinations", m->destinations);
		clew_json_unsigned(&json, "created", m->created);
		clew_json_unsigned(&json, "paired", m->paired);
		clew_json_unsigned(&json, "unpaired_origins", m->unpaired_origins);
		clew_json_unsigned(&json, "unpaired_destinations", m->unpaired_destinations);
		clew_json_unsigned(&json, "dropped", m->dropped);
		clew_json_unsigned(&json, "backward", m->backward);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, paired->model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
