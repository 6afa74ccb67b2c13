/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether this process is to end, for what would take long meanwhile. Before a recording runs
 * nobody takes SIGINT and SIGTERM, which are blocked then: one that waits is such a wish.
 *
 * All functions may be called from any thread.
 */
#ifndef CLEW_BASE_ENDING_H
#define CLEW_BASE_ENDING_H

#include <stdbool.h>
#include <stdint.h>

/* The end has come; `false`: it is over, and something else may begin. */
void ending_set(bool ends);

/* Since when the end is known to have come, or to be wished for, ns of CLOCK_MONOTONIC; 0: it is
 * not. */
uint64_t ending_since(void);

#endif
