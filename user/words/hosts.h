/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hosts of a trace that was stitched of several, and how well their clocks are known. */
#ifndef CLEW_WORDS_HOSTS_H
#define CLEW_WORDS_HOSTS_H

#include <stdio.h>

#include "format/json.h"
#include "trace/trace.h"

/* The field "hosts", and a line. A trace of one host has none. */
void clew_json_hosts(struct clew_json *json, const struct clew_trace *trace);
void clew_print_hosts(FILE *out, const struct clew_trace *trace);

/* True if two tasks are known to be of one host: numbers of disks mean the same with both. */
bool clew_hosts_same(const struct clew_trace *trace, uint32_t one, uint32_t other);

/* Finds how far the time from a moment of one task to one of another task may be off, ns. False:
 * they are of one host, or it is not known. */
bool clew_hosts_error(const struct clew_trace *trace, uint32_t from, uint32_t to,
		      uint64_t *ret_error);

#endif
