/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The I/O limit of a cgroup that held back a request.
 */
#ifndef CLEW_WORDS_LIMIT_H
#define CLEW_WORDS_LIMIT_H

#include "trace/trace.h"
#include <stdio.h>

#include "format/json.h"

/* Prints "the I/O limit of cgroup /x", as far as it is known. The request was held back. */
void clew_print_limit(FILE *out, const struct clew_trace *trace,
		      const struct clew_block_request *block);

/* The field "limit" of the open object: none where no limit held back the request. */
void clew_json_limit(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_block_request *block);

#endif
