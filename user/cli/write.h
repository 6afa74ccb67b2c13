/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causal traces as notation in a file, for all commands that make one.
 */
#ifndef CLEW_CLI_WRITE_H
#define CLEW_CLI_WRITE_H

#include <clew/model.h>

/*
 * Whether a trace made of `input` may go to the file `output`, NULL none: not over the capture that
 * it is made of, which says more. Returns 0 or, after clew_fail(), an exit status.
 */
int clew_check_output(const char *input, const char *output);

/*
 * Writes a trace to the file `output`, "-" standard output. `name`: what a message calls
 * the trace. Returns 0 or, after clew_fail(), an exit status; then the file is as it was.
 */
int clew_write_model(const char *name, const struct clew_model *model, const char *output);

#endif
