/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew doctor: what this kernel offers clew, what is missing and what that costs. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "format/json.h"
#include "record/features.h"
#include "record/stream/kernel.h"

struct doctor_values {
	bool json;
};

const struct clew_option clew_doctor_options[] = {
	{0, "json", NULL, "answer in JSON", clew_take_flag, offsetof(struct doctor_values, json)},
	CLEW_OPTION_END,
};

static void print_json(const char *kernel, const struct clew_feature *features, size_t count)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_string(&json, "kernel", kernel);
	clew_json_bool(&json, "privileged", clew_kernel_privileged());
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

static void print_text(const char *kernel, const struct clew_feature *features, size_t count)
{
	bool usable = true;

	printf("kernel %s, %s\n\n", kernel,
	       clew_kernel_privileged() ? "privileged" : "not privileged");
	for (size_t i = 0; i < count; i++) {
		printf("  %-8s %-26s %s", features[i].tier, features[i].name,
		       features[i].available ? "yes" : "no");
		if (!features[i].available)
			printf(": %s\n  %33s without it is lost: %s", features[i].reason, "",
			       features[i].costs);
		if (features[i].without)
			printf(", without %s", features[i].without);
		putchar('\n');
		if (!features[i].available && !strcmp(features[i].tier, "base"))
			usable = false;
	}
	printf("\n%s\n",
	       usable ? "Every base feature is here: all answers of this version can be had."
		      : "Some base features are missing: see what is lost without them above.");
}

int clew_command_doctor(const struct clew_command *command, int argc, char **argv)
{
	struct clew_feature features[CLEW_FEATURES_MOST];
	struct doctor_values values = {.json = false};
	struct utsname name;
	char **operands;
	size_t count;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	uname(&name);
	count = clew_features_probe(features);
	if (values.json)
		print_json(name.release, features, count);
	else
		print_text(name.release, features, count);
	for (size_t i = 0; i < count; i++)
		free(features[i].without);
	return CLEW_EXIT_DONE;
}
