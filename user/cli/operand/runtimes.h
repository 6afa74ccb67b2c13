/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The descriptions of runtimes that come with clew. */
#ifndef CLEW_CLI_OPERAND_RUNTIMES_H
#define CLEW_CLI_OPERAND_RUNTIMES_H

#include <stddef.h>

/* The description of a runtime that comes with clew; NULL: there is none of that name. */
const char *clew_runtime_text(const char *name, size_t length);
/* The one of that number; NULL: there are fewer. */
const char *clew_runtime_text_at(size_t number, const char **ret_name);
/* Fails, with a list of them. */
int clew_fail_runtime(const char *name, size_t length);

#endif
