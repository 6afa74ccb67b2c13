/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keyframes: where reading of a capture may begin. */
#ifndef CLEW_STORE_KEYFRAME_H
#define CLEW_STORE_KEYFRAME_H

#include "store/metadata.h"

/*
 * The keyframe at which a reader begins that needs the records from `time` (ns) on: the last one
 * that is not after it, or an earlier one if no more than `rows` records from it to
 * `time` are to be decoded; one of a slow stream counts as 20. NULL: none. `whole_until`: ns; of
 * later records some may be missing.
 */
const struct clew_keyframe *store_keyframe_choose(const struct store_metadata *metadata,
						  const struct store_file *file,
						  uint64_t whole_until, uint64_t time,
						  uint64_t rows);

/* The keyframe whose records have such a time; NULL: none. */
const struct clew_keyframe *store_keyframe_at(const struct store_metadata *metadata, uint64_t time);

#endif
