/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An interval in windows of equal length, with a file for each: "slow.pftrace" becomes
 * "slow.01.pftrace" and so on. A moment lies in one window alone.
 */
#ifndef CLEW_CLI_EXPORT_SPLIT_H
#define CLEW_CLI_EXPORT_SPLIT_H

#include <stddef.h>

#include "cli/operand/window.h"

#define CLEW_SPLIT_MOST 10000 /* windows */

/* The number of windows of `length` ns, which is not 0, in an interval: 1 or more. */
uint64_t clew_window_count(const struct clew_window *window, uint64_t length);

/* Window `index`, from 0. The last one may be shorter. */
void clew_window_at(const struct clew_window *window, uint64_t length, uint64_t index,
		    uint64_t *ret_from, uint64_t *ret_to);

/* The name of the file of window `index` of `count`; the caller's to free. NULL: no memory. */
char *clew_window_file(const char *output, uint64_t index, uint64_t count);

#endif
