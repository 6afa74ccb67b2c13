/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last lines of clew record. */
#ifndef CLEW_CLI_RECORD_RECORD_SUMMARY_H
#define CLEW_CLI_RECORD_RECORD_SUMMARY_H

#include <stdbool.h>

#include "record/recorder.h"

/*
 * Prints them to standard error; `title`: what they call `output`. `verify`: the switches were
 * counted a second time. `hidden`: this kernel hid switches; the file is then read once, if it is
 * not too long, to count the waits. A short file is read in any case. `segments`: the output is a
 * directory of captures.
 */
void clew_print_summary(const char *title, const char *output, bool segments,
			const struct clew_recorder_summary *summary, bool verify, bool hidden);

#endif
