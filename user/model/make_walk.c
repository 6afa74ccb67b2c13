/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ESs of one span from all its events, in order of time, at one instant in
 * order of making. The effect of the rules of construction at an instant
 * depends only on the ESs that touch that instant, and changes only these at
 * that end. So one instant can be completed after the other. At an instant the
 * rules only ever split the first or the last ES, which is why a deque holds
 * them.
 */
#include "model/make_internal.h"
#include <stdlib.h>

static struct make_touching *front_of(struct make_instant *instant)
{
	return &instant->items[instant->front];
}

static struct make_touching *back_of(struct make_instant *instant)
{
	return &instant->items[instant->front + instant->count - 1];
}

static int reserve_items(struct make_instant *instant, size_t events)
{
	size_t room = 2 * (events + 2);

	if (room > instant->room) {
		free(instant->items);
		instant->items = malloc(room * sizeof(*instant->items));
		instant->room = instant->items ? room : 0;
	}
	instant->front = events + 2;
	return instant->items ? 0 : -ENOMEM;
}

static void push_item(struct make_instant *instant)
{
	instant->items[instant->front + instant->count++] =
		(struct make_touching){CLEW_NONE, CLEW_NONE};
}

/* The first ES becomes two; both ends at this instant are free. */
static struct make_touching *split_front(struct make_instant *instant)
{
	struct make_touching *after = front_of(instant), *before = after - 1;

	*before = (struct make_touching){after->in, CLEW_NONE};
	after->in = CLEW_NONE;
	instant->front--;
	instant->count++;
	return before;
}

/* The last ES becomes two; the first half of them. */
static struct make_touching *split_back(struct make_instant *instant)
{
	struct make_touching *before = back_of(instant), *after = before + 1;

	*after = (struct make_touching){CLEW_NONE, before->out};
	before->out = CLEW_NONE;
	instant->count++;
	return before;
}

/* ---- the effect of an event ---- */

static int refuse(struct make_walk *walk, clew_time at, const char *what)
{
	const struct clew_span *span = make_model_span(walk->maker, walk->span);
	char moment[32];

	return make_fail(walk->maker, -EINVAL, "span '%.60s' at %s: %s",
			 strings_get(model_strings(walk->maker->model), span->name),
			 make_moment(walk->maker, at, moment), what);
}

static void play_out(struct make_instant *instant, uint32_t endpoint, unsigned place)
{
	bool ends = instant->count > 1 || !instant->opens_right;

	if (ends && front_of(instant)->out == CLEW_NONE)
		front_of(instant)->out = endpoint;
	else if (place & CLEW_PLACE_EARLY)
		split_front(instant)->out = endpoint;
	else
		split_back(instant)->out = endpoint;
}

static void play_in(struct make_instant *instant, uint32_t endpoint, unsigned place)
{
	if (!instant->opens_left && front_of(instant)->in == CLEW_NONE)
		front_of(instant)->in = endpoint;
	else if (place & CLEW_PLACE_LATE)
		split_back(instant)[1].in = endpoint;
	else
		split_front(instant)[1].in = endpoint;
}

static int play_endpoint(struct make_walk *walk, const struct sort_key *event)
{
	struct make_instant *instant = &walk->instant;
	unsigned place = EVENT_PLACE(event->tag);

	if ((place & CLEW_PLACE_EARLY) && (place & CLEW_PLACE_LATE))
		return refuse(walk, event_time(event->key),
			      "as early and as late as possible at once");
	if (instant->count == 0) {
		if (!(place & CLEW_PLACE_SPLIT_GAP))
			return refuse(walk, event_time(event->key), "it is suspended there");
		push_item(instant);
	}
	if (EVENT_KIND(event->tag) == EVENT_OUT)
		play_out(instant, event->index, place);
	else
		play_in(instant, event->index, place);
	return 0;
}

/* `suspend`: the one before this instant; *ret_suspend: the one after it. Marks
 * come last. */
static int play_instant(struct make_walk *walk, const struct sort_key *events, size_t count,
			uint32_t suspend, uint32_t *ret_suspend)
{
	struct make_instant *instant = &walk->instant;
	clew_time at = event_time(events->key);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		switch (EVENT_KIND(events[i].tag)) {
		case EVENT_SUSPEND:
			if (instant->count == 0 || !instant->opens_right)
				return refuse(walk, at,
					      "what begins there overlaps another suspend");
			instant->opens_right = false;
			*ret_suspend = events[i].index;
			break;
		case EVENT_RESUME:
			if (instant->count == 0 || !instant->opens_left ||
			    suspend != events[i].index)
				return refuse(walk, at,
					      "the suspend that ends there crosses a boundary");
			instant->opens_left = false;
			front_of(instant)->in = CLEW_NONE;
			break;
		case EVENT_MARK:
			if (instant->count == 0)
				return refuse(walk, at, "a mark where it is suspended");
			break;
		default:
			r = play_endpoint(walk, &events[i]);
		}
	}
	return r;
}

/* ---- the end of an instant ---- */

static struct clew_es *open_es(struct make_walk *walk, clew_time start, uint32_t in, uint32_t wait)
{
	struct clew_es *es = (struct clew_es *)walk->es->data + walk->es->count++;

	*es = (struct clew_es){.start = start,
			       .span = walk->span,
			       .in = in,
			       .out = CLEW_NONE,
			       .wait = wait,
			       .mark = (uint32_t)walk->marks->count};
	return es;
}

/* Newest first, as a maker inserts each before the others. */
static void leave_marks(struct make_walk *walk, const struct sort_key *events, size_t count)
{
	struct clew_mark *marks = walk->marks->data;

	for (; count > 0 && EVENT_KIND(events[count - 1].tag) == EVENT_MARK; count--)
		marks[walk->marks->count++] =
			(struct clew_mark){.at = event_time(events[count - 1].key),
					   .label = walk->labels[events[count - 1].index]};
}

static void leave_instant(struct make_walk *walk, const struct sort_key *events, size_t count,
			  uint32_t wait)
{
	const struct make_instant *instant = &walk->instant;
	clew_time at = event_time(events->key);

	for (size_t i = 0; i < instant->count; i++) {
		const struct make_touching *item = &instant->items[instant->front + i];
		bool ends = i + 1 < instant->count || !instant->opens_right;
		struct clew_es *es;

		if (i == 0 && instant->opens_left)
			es = (struct clew_es *)walk->es->data + walk->es->count - 1;
		else
			es = open_es(walk, at, item->in, i == 0 ? wait : CLEW_NONE);
		if (i == 0)
			leave_marks(walk, events, count);
		if (ends) {
			es->end = at;
			es->out = item->out;
		}
	}
}

static int walk_instant(struct make_walk *walk, const struct sort_key *events, size_t count,
			bool is_start)
{
	struct make_instant *instant = &walk->instant;
	clew_time at = event_time(events->key);
	uint32_t suspend = walk->running || is_start ? CLEW_NONE : walk->suspend, next = suspend;
	bool within_gap = suspend != CLEW_NONE && at < walk->suspends[suspend].end;
	int r = reserve_items(instant, count);

	if (r < 0)
		return make_dead(walk->maker);
	instant->count = 0;
	instant->opens_left = !is_start && !within_gap;
	instant->opens_right = at < walk->end && !within_gap;
	if (!within_gap)
		push_item(instant);
	r = play_instant(walk, events, count, suspend, &next);
	if (r < 0)
		return r;
	leave_instant(walk, events, count,
		      suspend == CLEW_NONE ? CLEW_NONE : walk->suspends[suspend].wait);
	walk->running = instant->opens_right;
	walk->suspend = next;
	return 0;
}

int make_walk_span(struct make_walk *walk, const struct sort_key *events, size_t count)
{
	uint64_t start = event_key(walk->start), end = event_key(walk->end);
	bool has_start = count > 0 && events[0].key == start,
	     has_end = count > 0 && events[count - 1].key == end;
	size_t group;

	walk->running = true;
	walk->suspend = CLEW_NONE;
	if (!has_start)
		open_es(walk, walk->start, CLEW_NONE, CLEW_NONE);
	for (size_t i = 0; i < count; i += group) {
		bool alone = i + 1 == count || events[i + 1].key != events[i].key;
		unsigned kind = EVENT_KIND(events[i].tag);
		int r;

		if (alone && walk->running && kind <= EVENT_IN && events[i].key > start &&
		    events[i].key < end) {
			struct clew_es *es = (struct clew_es *)walk->es->data + walk->es->count - 1;
			clew_time at = event_time(events[i].key);

			if ((EVENT_PLACE(events[i].tag) & (CLEW_PLACE_EARLY | CLEW_PLACE_LATE)) ==
			    (CLEW_PLACE_EARLY | CLEW_PLACE_LATE))
				return refuse(walk, at, "as early and as late as possible at once");
			es->end = at;
			es->out = kind == EVENT_OUT ? events[i].index : CLEW_NONE;
			open_es(walk, at, kind == EVENT_IN ? events[i].index : CLEW_NONE,
				CLEW_NONE);
			group = 1;
			continue;
		}
		for (group = 1; i + group < count && events[i + group].key == events[i].key;)
			group++;
		r = walk_instant(walk, events + i, group, events[i].key == start);
		if (r < 0)
			return r;
	}
	if (!has_end)
		((struct clew_es *)walk->es->data)[walk->es->count - 1].end = walk->end;
	return 0;
}

void make_walk_done(struct make_walk *walk)
{
	free(walk->instant.items);
}
