/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of construction, word by word, with plain arrays and linear searches.
 */
#ifndef CLEW_MODEL_ORACLE_H
#define CLEW_MODEL_ORACLE_H

#include <clew/model_make.h>
#include <string.h>

#define MAX_ES	     200
#define MAX_MARKS    24
#define MAX_SPANS    6
#define MAX_DEPS     60
#define MAX_ENDS     24
#define FLAGS_EITHER (CLEW_PLACE_EARLY | CLEW_PLACE_LATE)

struct oracle_mark {
	long at;
	int label;
};

struct oracle_es {
	long start, end;
	int in, out; /* dependencies, -1 none */
	int wait;    /* kind, -1 none */
	int id;	     /* stays while the array moves */
	int mark_count;
	struct oracle_mark marks[MAX_MARKS];
};

struct oracle_span {
	long start, end;
	int count;
	struct oracle_es es[MAX_ES];
};

struct oracle_dependency {
	int mode, origin_count, destination_count;
	int origins[MAX_ENDS], destinations[MAX_ENDS]; /* ids of ESs; origin 0 triggers */
};

struct oracle {
	int span_count, dependency_count, next_id;
	struct oracle_span spans[MAX_SPANS];
	struct oracle_dependency dependencies[MAX_DEPS];
};

static bool contains(const struct oracle_es *es, long at)
{
	return es->start <= at && at <= es->end;
}

/* The lowest-index ES with end >= t; the count if there is none. */
static int oracle_first(const struct oracle_span *span, long at)
{
	int i = 0;

	while (i < span->count && span->es[i].end < at)
		i++;
	return i;
}

static int oracle_last(const struct oracle_span *span, long at)
{
	for (int i = span->count - 1; i >= 0; i--)
		if (contains(&span->es[i], at))
			return i;
	return -1;
}

static bool oracle_runs(const struct oracle_span *span, long at)
{
	int i = oracle_first(span, at);

	return i < span->count && contains(&span->es[i], at);
}

static struct oracle_es *oracle_insert(struct oracle *oracle, struct oracle_span *span, int at)
{
	assert_true(span->count < MAX_ES);
	memmove(&span->es[at + 1], &span->es[at], (size_t)(span->count - at) * sizeof(span->es[0]));
	span->count++;
	span->es[at].in = span->es[at].out = span->es[at].wait = -1;
	span->es[at].mark_count = 0;
	span->es[at].id = oracle->next_id++;
	return &span->es[at];
}

static long oracle_end_of(const struct oracle *oracle, int id)
{
	for (int i = 0; i < oracle->span_count; i++)
		for (int j = 0; j < oracle->spans[i].count; j++)
			if (oracle->spans[i].es[j].id == id)
				return oracle->spans[i].es[j].end;
	fail_msg("an origin without its ES");
	return 0;
}

static void move_origin(struct oracle *oracle, int dependency, int from, int to)
{
	struct oracle_dependency *d = &oracle->dependencies[dependency];

	for (int i = 0; i < d->origin_count; i++)
		if (d->origins[i] == from)
			d->origins[i] = to;
}

/* before = [start,t], after = [t,end]; the outgoing and the marks from t on move to `after`. */
static void oracle_fission(struct oracle *oracle, struct oracle_span *span, int index, long at)
{
	struct oracle_es *after = oracle_insert(oracle, span, index + 1),
			 *before = &span->es[index];
	int kept = 0;

	after->start = at;
	after->end = before->end;
	before->end = at;
	after->out = before->out;
	before->out = -1;
	if (after->out >= 0)
		move_origin(oracle, after->out, before->id, after->id);
	for (int i = 0; i < before->mark_count; i++)
		if (before->marks[i].at < at)
			before->marks[kept++] = before->marks[i];
		else
			after->marks[after->mark_count++] = before->marks[i];
	before->mark_count = kept;
}

static int oracle_split_gap(struct oracle *oracle, struct oracle_span *span, long at)
{
	int next = oracle_first(span, at), wait;
	struct oracle_es *es;

	if (next == 0 || next == span->count)
		return -1;
	wait = span->es[next].wait;
	es = oracle_insert(oracle, span, next);
	es->start = es->end = at;
	es->wait = wait;
	return 0;
}

static int oracle_ready(struct oracle *oracle, struct oracle_span *span, long at, unsigned place)
{
	if ((place & FLAGS_EITHER) == FLAGS_EITHER)
		return -1;
	if (oracle_runs(span, at))
		return 0;
	return place & CLEW_PLACE_SPLIT_GAP ? oracle_split_gap(oracle, span, at) : -1;
}

static int oracle_out(struct oracle *oracle, int dependency, int number, long at, unsigned place)
{
	struct oracle_dependency *d = &oracle->dependencies[dependency];
	struct oracle_span *span = &oracle->spans[number];
	struct oracle_es *es;
	int index;

	if (d->mode == CLEW_MODE_SINGLE && d->origin_count > 0)
		return -1;
	if (oracle_ready(oracle, span, at, place) < 0)
		return -1;
	index = oracle_first(span, at);
	if (span->es[index].end != at || span->es[index].out >= 0) {
		if (!(place & CLEW_PLACE_EARLY))
			index = oracle_last(span, at);
		oracle_fission(oracle, span, index, at);
	}
	es = &span->es[index];
	es->out = dependency;
	assert_true(d->origin_count < MAX_ENDS);
	d->origins[d->origin_count++] = es->id;
	if (d->origin_count > 1) {
		long old = oracle_end_of(oracle, d->origins[0]);

		if (d->mode == CLEW_MODE_AND ? es->end > old : es->end < old) {
			d->origins[d->origin_count - 1] = d->origins[0];
			d->origins[0] = es->id;
		}
	}
	return 0;
}

static int oracle_in(struct oracle *oracle, int dependency, int number, long at, unsigned place)
{
	struct oracle_dependency *d = &oracle->dependencies[dependency];
	struct oracle_span *span = &oracle->spans[number];
	int index;

	if (oracle_ready(oracle, span, at, place) < 0)
		return -1;
	index = oracle_first(span, at);
	if (span->es[index].start != at || span->es[index].in >= 0) {
		if (place & CLEW_PLACE_LATE)
			index = oracle_last(span, at);
		oracle_fission(oracle, span, index, at);
		index++;
	}
	span->es[index].in = dependency;
	assert_true(d->destination_count < MAX_ENDS);
	d->destinations[d->destination_count++] = span->es[index].id;
	return 0;
}

static int oracle_suspend_one(struct oracle *oracle, struct oracle_span *span, long start, long end,
			      unsigned place, int wait)
{
	int index = oracle_first(span, end), kept = 0, count;
	struct oracle_mark marks[MAX_MARKS];

	if (start == end)
		return 0;
	if (!oracle_runs(span, end) || !contains(&span->es[index], start))
		return -1;
	oracle_fission(oracle, span, index, end);
	span->es[index].end = start;
	span->es[index + 1].wait = wait;
	count = span->es[index].mark_count;
	memcpy(marks, span->es[index].marks, sizeof(marks));
	while (kept < count && marks[kept].at <= start)
		kept++;
	if (kept < count && !(place & CLEW_PLACE_SPLIT_MARKS))
		return -1;
	span->es[index].mark_count = kept;
	for (int i = kept; i < count; i++) {
		struct oracle_es *own = oracle_insert(oracle, span, ++index);

		own->start = own->end = marks[i].at;
		own->wait = i > kept && marks[i - 1].at == marks[i].at ? -1 : wait;
		own->marks[own->mark_count++] = marks[i];
	}
	return 0;
}

static int oracle_suspend(struct oracle *oracle, int number, long start, long end, unsigned place,
			  int wait)
{
	struct oracle_span *span = &oracle->spans[number];

	if (start > end)
		return -1;
	if (start == end)
		return 0;
	if (start < span->start || end > span->end)
		return -1;
	if (!(place & CLEW_PLACE_SPLIT_ENDS))
		return oracle_suspend_one(oracle, span, start, end, place, wait);
	while (end > start) {
		int index = oracle_first(span, end);
		long from, before = index > 0 ? span->es[index - 1].end : start;

		if (!oracle_runs(span, end))
			return -1;
		from = span->es[index].start > start ? span->es[index].start : start;
		if (oracle_suspend_one(oracle, span, from, end, place, wait) < 0)
			return -1;
		end = before;
	}
	return 0;
}

static int oracle_mark(struct oracle *oracle, int number, int label, long at, unsigned place)
{
	struct oracle_span *span = &oracle->spans[number];
	struct oracle_es *es;
	int i = 0;

	if (oracle_ready(oracle, span, at, place) < 0)
		return -1;
	es = &span->es[oracle_first(span, at)];
	while (i < es->mark_count && es->marks[i].at < at)
		i++;
	assert_true(es->mark_count < MAX_MARKS);
	memmove(&es->marks[i + 1], &es->marks[i],
		(size_t)(es->mark_count - i) * sizeof(es->marks[0]));
	es->marks[i] = (struct oracle_mark){at, label};
	es->mark_count++;
	return 0;
}

static int oracle_new_dependency(struct oracle *oracle, int mode)
{
	assert_true(oracle->dependency_count < MAX_DEPS);
	oracle->dependencies[oracle->dependency_count] = (struct oracle_dependency){.mode = mode};
	return oracle->dependency_count++;
}

static int oracle_span(struct oracle *oracle, long start, long end)
{
	struct oracle_span *span = &oracle->spans[oracle->span_count];
	struct oracle_es *es;

	if (start > end)
		return -1;
	span->start = start;
	span->end = end;
	span->count = 0;
	es = oracle_insert(oracle, span, 0);
	es->start = start;
	es->end = end;
	return oracle->span_count++;
}

static int oracle_child(struct oracle *oracle, int parent, long start, long end)
{
	int child = oracle_span(oracle, start, end), call, back;

	if (child < 0)
		return -1;
	call = oracle_new_dependency(oracle, CLEW_MODE_SINGLE);
	back = oracle_new_dependency(oracle, CLEW_MODE_SINGLE);
	if (start < oracle->spans[parent].start || oracle_out(oracle, call, parent, start, 0) < 0 ||
	    oracle_in(oracle, call, child, start, 0) < 0 ||
	    oracle_out(oracle, back, child, end, 0) < 0 ||
	    oracle_suspend(oracle, parent, start, end, 0, -1) < 0 ||
	    oracle_in(oracle, back, parent, end, CLEW_PLACE_LATE) < 0)
		return -1;
	return child;
}

static void add_marks(struct oracle_es *to, const struct oracle_es *from, bool before)
{
	assert_true(to->mark_count + from->mark_count <= MAX_MARKS);
	if (before)
		memmove(&to->marks[from->mark_count], to->marks,
			(size_t)to->mark_count * sizeof(to->marks[0]));
	memcpy(&to->marks[before ? 0 : to->mark_count], from->marks,
	       (size_t)from->mark_count * sizeof(from->marks[0]));
	to->mark_count += from->mark_count;
}

/* By taking out one ES after the other, from the front, until none can go. */
static void oracle_simplify_span(struct oracle *oracle, struct oracle_span *span)
{
	for (int i = 1; i < span->count; i++) {
		struct oracle_es *before = &span->es[i - 1], *es = &span->es[i],
				 *after = i + 1 < span->count ? &span->es[i + 1] : NULL;
		bool abuts = before->end == es->start,
		     abuts_after = after && es->end == after->start;
		bool idle = after && es->start == es->end && es->in < 0 && es->out < 0;

		if (idle && !abuts && abuts_after) {
			add_marks(after, es, true);
			after->wait = es->wait;
		} else if (idle && !abuts &&
			   (es->mark_count > 0 || es->wait >= 0 || after->wait >= 0)) {
			continue;
		} else if (abuts && ((before->out < 0 && es->in < 0) || idle)) {
			add_marks(before, es, false);
			if (!idle) {
				before->end = es->end;
				before->out = es->out;
				if (es->out >= 0)
					move_origin(oracle, es->out, es->id, before->id);
			}
		} else if (!idle) {
			continue;
		}
		memmove(es, es + 1, (size_t)(span->count - i - 1) * sizeof(*es));
		span->count--;
		i--;
	}
}

static void oracle_simplify(struct oracle *oracle)
{
	for (int i = 0; i < oracle->span_count; i++)
		oracle_simplify_span(oracle, &oracle->spans[i]);
}

/* Not all of it: what is in use. */
static void oracle_copy(struct oracle *to, const struct oracle *from)
{
	to->span_count = from->span_count;
	to->dependency_count = from->dependency_count;
	to->next_id = from->next_id;
	for (int i = 0; i < from->span_count; i++) {
		to->spans[i].start = from->spans[i].start;
		to->spans[i].end = from->spans[i].end;
		to->spans[i].count = from->spans[i].count;
		memcpy(to->spans[i].es, from->spans[i].es,
		       (size_t)from->spans[i].count * sizeof(from->spans[i].es[0]));
	}
	memcpy(to->dependencies, from->dependencies,
	       (size_t)from->dependency_count * sizeof(from->dependencies[0]));
}

#endif
