/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPU quotas of control groups.
 */
#ifndef CLEW_BUILDER_QUOTA_H
#define CLEW_BUILDER_QUOTA_H

#include "builder/findings.h"

struct clew_builder;
struct task;

/* A task leaves its CPU because its group's quota is used up. */
int build_quota_used_up(struct clew_builder *builder, struct task *task);
int build_feed_refill(struct clew_builder *builder, const struct clew_refill *record);
/* Until when the quota kept a task off that comes on a CPU now. */
uint64_t build_quota_end(struct clew_builder *builder, const struct task *task);
void build_quotas_done(struct clew_builder *builder);
size_t build_quotas_memory(const struct clew_builder *builder);

#endif
