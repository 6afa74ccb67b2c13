/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew spans --key: the announced calls that have a key, by the file of keys beside the capture. */
#ifndef CLEW_CLI_SPANS_SPANS_KEY_H
#define CLEW_CLI_SPANS_SPANS_KEY_H

#include "cli/operand/selection.h"
#include "cli/operand/window.h"

struct clew_key_question {
	const char *key;  /* VALUE or TYPE=VALUE */
	const char *name; /* glob of INTERFACE.OPERATION, or NULL */
	struct clew_selection selection;
	struct clew_window *window;
	bool json;
};

/* Prints the calls. Returns an exit status. */
int clew_spans_key(const char *operand, const struct clew_key_question *question);

#endif
