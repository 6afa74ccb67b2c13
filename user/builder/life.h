/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of identity, of lost records, and of locks that tasks spun for.
 */
#ifndef CLEW_BUILDER_LIFE_H
#define CLEW_BUILDER_LIFE_H

#include "builder/findings.h"

struct clew_builder;

int build_feed_identity(struct clew_builder *builder, const struct clew_header *record);
int build_feed_lock(struct clew_builder *builder, const struct clew_lock *record);

#endif
