/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The features of a kernel, and what is lost without them. */
#include "answers/doctor/doctor.h"

#include <string.h>

#include "format/json.h"

void clew_json_features(FILE *out, const char *kernel, bool privileged,
			const struct clew_feature *features, size_t count)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_string(&json, "kernel", kernel);
	clew_json_bool(&json, "privileged", privileged);
	clew_json_array(&json, "features");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(&json, NULL);
		clew_json_string(&json, "name", features[i].name);
		clew_json_string(&json, "tier", features[i].tier);
		clew_json_bool(&json, "available", features[i].available);
		clew_json_string(&json, "reason", features[i].reason);
		clew_json_string(&json, "costs", features[i].costs);
		if (features[i].without)
			clew_json_string(&json, "without", features[i].without);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

void clew_print_features(FILE *out, const char *kernel, bool privileged,
			 const struct clew_feature *features, size_t count)
{
	bool usable = true;

	fprintf(out, "kernel %s, %s\n\n", kernel, privileged ? "privileged" : "not privileged");
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "  %-8s %-26s %s", features[i].tier, features[i].name,
			features[i].available ? "yes" : "no");
		if (!features[i].available)
			fprintf(out, ": %s\n  %33s without it is lost: %s", features[i].reason, "",
				features[i].costs);
		if (features[i].without)
			fprintf(out, ", without %s", features[i].without);
		fputc('\n', out);
		if (!features[i].available && !strcmp(features[i].tier, "base"))
			usable = false;
	}
	fprintf(out, "\n%s\n",
		usable ? "Every base feature is here: all answers of this version can be had."
		       : "Some base features are missing: see what is lost without them above.");
}
