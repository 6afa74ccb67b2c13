/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slack and drag of the ESs of a causal trace: the earliest time that each
 * could have run at if nothing was ever late or suspended, the latest time that
 * it may end at without making the whole longer, and by how much shortening it
 * alone could shorten the whole.
 *
 * An ES depends on its predecessor and on all origins of its dependency; for
 * OR, on the triggering origin alone. Dependencies whose effect is before their
 * cause are not followed. Times are ns, as in the model, which is only read, in
 * any number of threads.
 */
#ifndef CLEW_SLACK_H
#define CLEW_SLACK_H

#include <clew/model.h>
#include <clew/query.h>

struct clew_slack_row {
	uint32_t es;
	clew_time earliest_start;
	clew_time latest_finish;
	clew_time drag; /* min(length, least slack of another ES whose earliest start .. latest
			   finish overlaps it as recorded) */
};

struct clew_slack {
	struct clew_slack_row *rows; /* in order of the ESs */
	uint32_t count;
};

/*
 * The rows of all ESs, or of those on causal paths between two positions (both
 * NULL, or neither). Free them with clew_slack_done(), which also takes a
 * zeroed structure. -ENOENT: no path leads from one to the other; -EINVAL: an
 * invalid position; -ENOMEM.
 */
int clew_slack_find(const struct clew_model *model, const struct clew_position *from,
		    const struct clew_position *to, struct clew_slack *ret_slack);
void clew_slack_done(struct clew_slack *slack);

static inline clew_time clew_slack_earliest_finish(const struct clew_model *model,
						   const struct clew_slack_row *row)
{
	return row->earliest_start + model->es[row->es].end - model->es[row->es].start;
}

static inline clew_time clew_slack_latest_start(const struct clew_model *model,
						const struct clew_slack_row *row)
{
	return row->latest_finish - (model->es[row->es].end - model->es[row->es].start);
}

static inline clew_time clew_slack_of(const struct clew_model *model,
				      const struct clew_slack_row *row)
{
	return clew_slack_latest_start(model, row) - row->earliest_start;
}

#endif
