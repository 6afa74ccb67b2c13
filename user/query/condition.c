/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conditions on spans. Sums stop at the greatest time instead of running over it.
 */
#include "query/internal.h"
#include <stdlib.h>

static clew_time add_up(clew_time sum, __int128 more)
{
	more += sum;
	return more > INT64_MAX ? INT64_MAX : more < INT64_MIN ? INT64_MIN : (clew_time)more;
}

clew_time query_span_running(const struct clew_model *model, uint32_t span)
{
	const struct clew_range *range = &model->spans[span].elementary;
	const struct clew_es *es = model->es + range->first;
	clew_time sum = 0;

	for (uint32_t i = 0; i < range->count; i++)
		sum = add_up(sum, (__int128)es[i].end - es[i].start);
	return sum;
}

static clew_time span_suspended(const struct clew_model *model, uint32_t span)
{
	const struct clew_range *range = &model->spans[span].elementary;
	const struct clew_es *es = model->es + range->first;
	clew_time sum = 0;

	for (uint32_t i = 1; i < range->count; i++)
		sum = add_up(sum, (__int128)es[i].start - es[i - 1].end);
	return sum;
}

/* Children come after their parent, so one pass from the last span adds up whole trees. */
static int add_up_trees(struct evaluation *evaluation)
{
	const struct clew_model *model = evaluation->model;
	clew_time *sums = calloc((size_t)model->span_count + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (uint32_t span = model->span_count; span-- > 0;) {
		uint32_t parent = model->spans[span].parent;

		sums[span] = add_up(sums[span], query_span_running(model, span));
		if (parent != CLEW_NONE)
			sums[parent] = add_up(sums[parent], sums[span]);
	}
	evaluation->unsuspended = sums;
	return 0;
}

static bool uses_trees(const struct condition *condition)
{
	if (condition->kind == CONDITION_COMPARE)
		return condition->metric == METRIC_TOTAL_UNSUSPENDED;
	for (condition = condition->first; condition; condition = condition->next)
		if (uses_trees(condition))
			return true;
	return false;
}

static __int128 measure(const struct evaluation *evaluation, enum metric metric, uint32_t span)
{
	const struct clew_span *measured = &evaluation->model->spans[span];

	switch (metric) {
	case METRIC_TOTAL:
		return (__int128)measured->end - measured->start;
	case METRIC_SUSPENDED:
		return span_suspended(evaluation->model, span);
	case METRIC_SELF:
		return query_span_running(evaluation->model, span);
	case METRIC_TOTAL_UNSUSPENDED:
		return evaluation->unsuspended[span];
	}
	return 0;
}

static bool compare(const struct evaluation *evaluation, const struct condition *condition,
		    uint32_t span)
{
	__int128 value = measure(evaluation, condition->metric, span), limit = condition->duration;

	switch (condition->comparison) {
	case COMPARE_EQUAL:
		return value == limit;
	case COMPARE_UNEQUAL:
		return value != limit;
	case COMPARE_GREATER:
		return value > limit;
	case COMPARE_AT_LEAST:
		return value >= limit;
	case COMPARE_LESS:
		return value < limit;
	case COMPARE_AT_MOST:
		return value <= limit;
	}
	return false;
}

static bool holds(const struct evaluation *evaluation, const struct condition *condition,
		  uint32_t span)
{
	bool wanted = condition->kind == CONDITION_OR;

	if (condition->kind == CONDITION_COMPARE)
		return compare(evaluation, condition, span);
	for (condition = condition->first; condition; condition = condition->next)
		if (holds(evaluation, condition, span) == wanted)
			return wanted;
	return !wanted;
}

int query_filter(struct evaluation *evaluation, const struct condition *condition,
		 struct list *spans)
{
	size_t kept = 0;

	if (uses_trees(condition)) {
		int r = add_up_trees(evaluation);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < spans->count; i++)
		if (holds(evaluation, condition, spans->items[i]))
			spans->items[kept++] = spans->items[i];
	spans->count = kept;
	return 0;
}
