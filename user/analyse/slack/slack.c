/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slack: forward through the ESs in order of time for the earliest starts, backward
 * for the latest finishes. An edge leads from an ES to one that starts no earlier than
 * it ends, so order of start is a causal order, but for the ESs without length of one
 * moment; these are gone through again until nothing changes.
 */
#include "analyse/slack/internal.h"
#include "base/big.h"

/* So many steps before something is needed it is fetched from memory: a row, its ES, and the
 * dependency of that. */
enum { AHEAD = 32, AHEAD_ES = 20, AHEAD_DEPENDENCY = 10 };

struct slack_work {
	const struct clew_model *model;
	struct clew_path_finder *finder; /* of the reach; NULL: all ESs */
	struct clew_slack slack;
	uint32_t *row_of;   /* of an ES, CLEW_NONE: not asked for; NULL: its own number */
	uint32_t *by_start; /* rows */
};

static uint32_t row_of(const struct slack_work *work, uint32_t es)
{
	return work->row_of ? work->row_of[es] : es;
}

static clew_time length_of(const struct slack_work *work, uint32_t row)
{
	return es_length(work->model, work->slack.rows[row].es);
}

/* Takes over what an ES may not start before. */
static bool not_before(const struct slack_work *work, struct clew_slack_row *row, uint32_t es)
{
	uint32_t number = row_of(work, es);
	clew_time finish;

	if (number == CLEW_NONE)
		return false;
	finish = work->slack.rows[number].earliest_start + length_of(work, number);
	if (finish <= row->earliest_start)
		return false;
	row->earliest_start = finish;
	return true;
}

static bool forward(const struct slack_work *work, uint32_t number)
{
	const struct clew_model *model = work->model;
	struct clew_slack_row *row = &work->slack.rows[number];
	uint32_t predecessor = clew_model_predecessor(model, row->es),
		 dependency = model->es[row->es].in;
	bool changed = predecessor != CLEW_NONE && not_before(work, row, predecessor);

	if (dependency != CLEW_NONE) {
		const struct clew_dependency *d = &model->dependencies[dependency];
		uint32_t count =
			d->mode == CLEW_MODE_OR && d->origins.count > 1 ? 1 : d->origins.count;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t origin = model->origins[d->origins.first + i];

			if (model->es[origin].end <= model->es[row->es].start)
				changed = not_before(work, row, origin) || changed;
		}
	}
	return changed;
}

static bool not_after(const struct slack_work *work, struct clew_slack_row *row, uint32_t es)
{
	uint32_t number = row_of(work, es);
	clew_time start;

	if (number == CLEW_NONE)
		return false;
	start = work->slack.rows[number].latest_finish - length_of(work, number);
	if (start >= row->latest_finish)
		return false;
	row->latest_finish = start;
	return true;
}

static bool backward(const struct slack_work *work, uint32_t number)
{
	const struct clew_model *model = work->model;
	struct clew_slack_row *row = &work->slack.rows[number];
	uint32_t successor = clew_model_successor(model, row->es),
		 dependency = model->es[row->es].out, count;
	bool all = dependency != CLEW_NONE && model->dependencies[dependency].mode != CLEW_MODE_OR;
	const uint32_t *destinations = targets(model, row->es, all, &count);
	bool changed = successor != CLEW_NONE && not_after(work, row, successor);

	for (uint32_t i = 0; i < count; i++)
		if (model->es[destinations[i]].start >= model->es[row->es].end)
			changed = not_after(work, row, destinations[i]) || changed;
	return changed;
}

/* Where the ESs without length that lie at the moment of this one end in the order. */
static uint32_t moment_end(const struct slack_work *work, uint32_t at)
{
	const struct clew_slack_row *rows = work->slack.rows;
	clew_time moment = work->model->es[rows[work->by_start[at]].es].start;
	uint32_t end = at + 1;

	if (length_of(work, work->by_start[at]))
		return end;
	while (end < work->slack.count && !length_of(work, work->by_start[end]) &&
	       work->model->es[rows[work->by_start[end]].es].start == moment)
		end++;
	return end;
}

/* For the rows from `at` on, in order of start or against it. `back`: what an ES leads to is looked
 * at, not what leads to it. */
static inline void fetch_ahead(const struct slack_work *work, uint32_t at, bool back)
{
	const struct clew_model *model = work->model;
	const struct clew_slack_row *rows = work->slack.rows;
	uint32_t left = back ? at + 1 : work->slack.count - at, step = back ? UINT32_MAX : 1,
		 dependency;
	const struct clew_es *es;

	if (left <= AHEAD)
		return;
	__builtin_prefetch(&rows[work->by_start[at + step * AHEAD]], 1);
	es = &model->es[rows[work->by_start[at + step * AHEAD_ES]].es];
	__builtin_prefetch(es);
	__builtin_prefetch(&es->out);
	es = &model->es[rows[work->by_start[at + step * AHEAD_DEPENDENCY]].es];
	dependency = back ? es->out : es->in;
	if (dependency != CLEW_NONE)
		__builtin_prefetch(&model->dependencies[dependency]);
}

static void solve(const struct slack_work *work)
{
	uint32_t count = work->slack.count, end;
	bool changed;

	for (uint32_t at = 0; at < count; at = end) {
		fetch_ahead(work, at, false);
		end = moment_end(work, at);
		do {
			changed = false;
			for (uint32_t i = at; i < end; i++)
				changed = forward(work, work->by_start[i]) || changed;
		} while (changed && end - at > 1);
	}
	for (uint32_t next = count; next; next = end) {
		fetch_ahead(work, next - 1, true);
		end = next - 1;
		if (!length_of(work, work->by_start[end])) {
			clew_time moment =
				work->model->es[work->slack.rows[work->by_start[end]].es].start;

			while (end && !length_of(work, work->by_start[end - 1]) &&
			       work->model->es[work->slack.rows[work->by_start[end - 1]].es]
					       .start == moment)
				end--;
		}
		do {
			changed = false;
			for (uint32_t i = next; i-- > end;)
				changed = backward(work, work->by_start[i]) || changed;
		} while (changed && next - end > 1);
	}
}

/* The rows: which ESs, and the bounds that hold for all of them. */
static int choose(struct slack_work *work)
{
	const struct clew_model *model = work->model;
	clew_time first = INT64_MAX, last = INT64_MIN;
	uint32_t count = work->finder ? work->finder->count : model->es_count;
	struct clew_slack *slack = &work->slack;

	slack->rows = big_alloc(count, sizeof(*slack->rows));
	work->by_start = big_alloc(count, sizeof(*work->by_start));
	if (work->finder)
		work->row_of = big_alloc(model->es_count, sizeof(*work->row_of));
	if (!slack->rows || !work->by_start || (work->finder && !work->row_of))
		return -ENOMEM;
	for (uint32_t es = 0; es < model->es_count; es++) {
		if (work->finder) {
			work->row_of[es] = reach_has(work->finder, es) ? slack->count : CLEW_NONE;
			if (work->row_of[es] == CLEW_NONE)
				continue;
		}
		slack->rows[slack->count++].es = es;
		first = model->es[es].start < first ? model->es[es].start : first;
		last = model->es[es].end > last ? model->es[es].end : last;
	}
	for (uint32_t i = 0; i < slack->count; i++) {
		slack->rows[i].earliest_start = first;
		slack->rows[i].latest_finish = last;
		slack->rows[i].drag = 0;
	}
	return 0;
}

static int analyse(struct slack_work *work)
{
	const struct clew_model *model = work->model;
	struct sort_key *keys, *spare;
	int r = choose(work);

	if (r < 0)
		return r;
	keys = big_alloc(work->slack.count, sizeof(*keys));
	spare = big_alloc(SLACK_SPARE(work->slack.count), sizeof(*spare));
	if (keys && spare) {
		/* ESs that start at one moment: first those without a length, so that stable
		 * sorting leaves neighbours in order. */
		for (uint32_t i = 0; i < work->slack.count; i++) {
			const struct clew_es *es = &model->es[work->slack.rows[i].es];

			keys[i] = (struct sort_key){
				.key = time_key(es->start * 2 + (es->end > es->start)), .index = i};
		}
		sort_keys(keys, spare, work->slack.count);
		for (uint32_t i = 0; i < work->slack.count; i++)
			work->by_start[i] = keys[i].index;
		solve(work);
		r = slack_drag(model, &work->slack, work->by_start, keys, spare);
	} else {
		r = -ENOMEM;
	}
	free(keys);
	free(spare);
	return r;
}

int clew_slack_find(const struct clew_model *model, const struct clew_position *from,
		    const struct clew_position *to, struct clew_slack *ret_slack)
{
	struct slack_work work = {.model = model};
	int r = 0;

	if (!from != !to || (from && (from->es >= model->es_count || to->es >= model->es_count)))
		return -EINVAL;
	if (from) {
		r = clew_path_finder_new(model, &work.finder);
		if (r == 0)
			r = reach_between(work.finder, from->es, to->es, false);
	}
	if (r == 0)
		r = analyse(&work);
	clew_path_finder_free(work.finder);
	free(work.row_of);
	free(work.by_start);
	if (r < 0)
		clew_slack_done(&work.slack);
	else
		*ret_slack = work.slack;
	return r;
}

void clew_slack_done(struct clew_slack *slack)
{
	free(slack->rows);
	*slack = (struct clew_slack){};
}
