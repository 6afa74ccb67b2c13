/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causal traces as notation in a file, for all commands that make one.
 */
#ifndef CLEW_CLI_WRITE_H
#define CLEW_CLI_WRITE_H

#include <clew/model.h>

/*
 * Writes a trace to the file `output`, "-" standard output. `name`: what a message calls
 * the trace. Returns 0 or, after clew_fail(), an exit status; then the file is as it was.
 */
int clew_write_model(const char *name, const struct clew_model *model, const char *output);

#endif
