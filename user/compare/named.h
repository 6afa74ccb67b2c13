/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locks that have a name on one side only. */
#ifndef CLEW_COMPARE_NAMED_H
#define CLEW_COMPARE_NAMED_H

#include "compare/compare.h"

/*
 * Gives a lock without a name the one that it has on the other side, where that can be no other
 * lock: on the one side there is only the cause with the name, and on the other only the same one
 * without. 0 or -ENOMEM.
 */
int named_join(const struct compare *compare);

#endif
