/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wish that this process ends, for steps that would take long otherwise. Until a recording
 * runs SIGINT and SIGTERM are blocked and nobody takes them: a pending one is such a wish.
 *
 * All functions may be called from any thread.
 */
#ifndef CLEW_BASE_ENDING_H
#define CLEW_BASE_ENDING_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the wish, or (`false`) takes it back, so that something else may begin. */
void ending_set(bool ends);

/* The time at which the wish was first seen, ns of CLOCK_MONOTONIC; 0: there is none. */
uint64_t ending_since(void);

#endif
