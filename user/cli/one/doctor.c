/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew doctor: what this kernel offers clew, what is missing and what that costs. */
#include <stdlib.h>
#include <sys/utsname.h>

#include "answers/doctor/doctor.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "record/features.h"
#include "record/stream/kernel.h"

struct doctor_values {
	bool json;
};

const struct clew_option clew_doctor_options[] = {
	{0, "json", NULL, "answer in JSON", clew_take_flag, offsetof(struct doctor_values, json)},
	CLEW_OPTION_END,
};

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
	(values.json ? clew_json_features : clew_print_features)(
		stdout, name.release, clew_kernel_privileged(), features, count);
	for (size_t i = 0; i < count; i++)
		free(features[i].without);
	return CLEW_EXIT_DONE;
}
