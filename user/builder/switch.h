/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Context switches, and the states in which tasks were found.
 */
#ifndef CLEW_BUILDER_SWITCH_H
#define CLEW_BUILDER_SWITCH_H

#include "builder/findings.h"

struct clew_builder;

int build_feed_switch(struct clew_builder *builder, const struct clew_switch *record);
int build_feed_state(struct clew_builder *builder, const struct clew_switch *record);

#endif
