/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew functions --runtime: the points of runtimes in a file, a library or a process. */
#ifndef CLEW_CLI_ONE_FUNCTIONS_RUNTIME_H
#define CLEW_CLI_ONE_FUNCTIONS_RUNTIME_H

#include <stdbool.h>

/* `runtimes`: as for `clew record --runtime`; `object`: as for `clew functions`. An exit status. */
int clew_functions_runtime(const char *runtimes, const char *object, bool json);

#endif
