/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew info: what a capture says of itself, its ledger and its cost.
 */
#include "answers/info/info.h"

#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "store/capture.h"
#include "words/ledger.h"

struct info_values {
	bool json;
};

const struct clew_option clew_info_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct info_values, json)},
	CLEW_OPTION_END,
};

/* Goes through all of the capture: finds damage to it, and counts what was hidden. */
static int read_all(struct clew_info_source *source)
{
	int r;

	if (!source->reader) {
		source->hidden = clew_trace_hidden(source->trace);
		return 0;
	}
	r = clew_count_hidden(source->reader, &source->hidden);
	return r < 0 ? r : clew_reader_check(source->reader);
}

int clew_command_info(const struct clew_command *command, int argc, char **argv)
{
	struct info_values values = {};
	const struct clew_capture_info *info;
	struct clew_info_source source = {};
	char **operands;
	int status, r;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_info(operands[0], &source.reader, &source.trace);
	if (status)
		return status;
	info = source.reader ? clew_reader_info(source.reader) : clew_trace_info(source.trace);
	if (!info)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "%s: no capture was recorded for this trace: `clew dump` shows "
				   "what is in it",
				   operands[0]);
	else if ((r = read_all(&source)) < 0)
		status = clew_fail(CLEW_EXIT_SYSTEM, "%s: %s while reading the capture",
				   operands[0], strerror(-r));
	if (!status) {
		/* The damage to a trace was told when it was opened. */
		if (source.reader)
			clew_print_damage(stderr, operands[0], false, info);
		if (values.json)
			clew_json_info(&source, info);
		else
			clew_print_info(&source, info);
	}
	clew_reader_close(source.reader);
	clew_trace_free(source.trace);
	return status;
}
