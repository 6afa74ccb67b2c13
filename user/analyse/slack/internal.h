/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by slack and drag.
 */
#ifndef CLEW_ANALYSE_SLACK_INTERNAL_H
#define CLEW_ANALYSE_SLACK_INTERNAL_H

#include "base/sort.h"
#include <clew/slack.h>

#include "analyse/path/internal.h"

static inline uint64_t time_key(clew_time at)
{
	return (uint64_t)at ^ 1ull << 63;
}

static inline clew_time key_time(uint64_t key)
{
	return (clew_time)(key ^ 1ull << 63);
}

/* The room that finding the drag of so many rows takes. */
#define SLACK_SPARE(rows) ((size_t)(rows) + (rows) / 8 + 256)

/*
 * Fills in the drag of every row. `by_start`: the rows (index) in order of their ESs'
 * start. `keys` has room for every row, `spare` for SLACK_SPARE() of that.
 */
int slack_drag(const struct clew_model *model, struct clew_slack *slack, const uint32_t *by_start,
	       struct sort_key *keys, struct sort_key *spare);

#endif
