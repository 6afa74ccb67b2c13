/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locks of runtimes in words. */
#ifndef CLEW_WORDS_RUNTIME_LOCK_H
#define CLEW_WORDS_RUNTIME_LOCK_H

#include "explain/why.h"
#include <stdio.h>

/* Prints "go mutex 0xc00001", "java monitor Cart 0x7f00". */
void clew_print_runtime_lock(FILE *out, const struct clew_job_wait *wait);
/* Prints ", with go mutex 0xc00001": what was waited for is due to this task as it had the lock.
 * Nothing if there is none. */
void clew_print_segment_lock(FILE *out, const struct clew_segment *segment);

#endif
