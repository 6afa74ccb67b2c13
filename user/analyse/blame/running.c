/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the spans that ran while others waited. Each chosen span is a sequence of stretches, in
 * which it waits or runs; the spans are merged by time. The time that two spans have in common is
 * added where the first of the two intervals ends, so that the work grows with the number of
 * spans that wait and run at once, not with time.
 */
#include "analyse/blame/internal.h"
#include "base/big.h"

/* A span on its way through time. */
struct actor {
	clew_time at; /* the next moment of it: begin or end of the stretch */
	struct stretch stretch;
	uint32_t span;
	uint32_t next; /* ES whose stretches come next */
	uint32_t end;
	uint32_t place;	      /* in the list of those that wait, or run; CLEW_NONE: in a hole */
	uint32_t row, column; /* in the sums */
	bool runs;	      /* else it waits */
	bool run_next;	      /* the wait of ES `next` is over */
};

struct active {
	uint32_t *actors;
	uint32_t count;
};

struct running {
	struct blame *blame;
	struct stretch (*waits)(const struct blame *blame, uint32_t es);
	uint32_t kind;
	struct actor *actors;
	uint32_t *heap;
	uint32_t count, rows, columns;
	struct active waiting, at_work;
	clew_time *sums; /* rows x columns; NULL: too many, they are charged one by one */
};

enum { MOST_SUMS = 1 << 22 };

/* Goes to the next stretch of a span that is not empty. False: there is none. */
static bool next_stretch(const struct running *running, struct actor *actor)
{
	const struct blame *blame = running->blame;
	const struct clew_es *es;

	for (; actor->next < actor->end; actor->next++, actor->run_next = false) {
		es = &blame->model->es[actor->next];
		if (!actor->run_next && blame->victims[actor->span]) {
			actor->stretch = blame_part_of(blame, running->waits(blame, actor->next));
			actor->runs = false;
			actor->run_next = true;
			if (actor->stretch.from < actor->stretch.to)
				return true;
		}
		actor->run_next = true;
		if (blame->antagonists[actor->span] && es->start < es->end) {
			actor->stretch = (struct stretch){es->start, es->end};
			actor->runs = true;
			actor->next++;
			actor->run_next = false;
			return true;
		}
	}
	return false;
}

static void enter(struct running *running, struct actor *actor)
{
	struct active *list = actor->runs ? &running->at_work : &running->waiting;

	actor->place = list->count;
	list->actors[list->count++] = (uint32_t)(actor - running->actors);
}

static int leave(struct running *running, struct actor *actor)
{
	struct active *list = actor->runs ? &running->at_work : &running->waiting;
	const struct active *others = actor->runs ? &running->waiting : &running->at_work;
	uint32_t last = list->actors[--list->count];

	list->actors[actor->place] = last;
	running->actors[last].place = actor->place;
	actor->place = CLEW_NONE;
	for (uint32_t i = 0; i < others->count; i++) {
		const struct actor *other = &running->actors[others->actors[i]];
		const struct actor *victim = actor->runs ? other : actor,
				   *antagonist = actor->runs ? actor : other;
		clew_time from = other->stretch.from > actor->stretch.from ? other->stretch.from
									   : actor->stretch.from;
		int r;

		if (running->sums) {
			running->sums[(size_t)victim->row * running->columns +
				      antagonist->column] += actor->stretch.to - from;
			continue;
		}
		r = blame_charge(
			running->blame, victim->span, antagonist->span,
			&(struct charge){.ns = actor->stretch.to - from, .kind = running->kind});
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- merging ---- */

static bool before(const struct running *running, uint32_t a, uint32_t b)
{
	return running->actors[a].at < running->actors[b].at;
}

static void sift(struct running *running, uint32_t at)
{
	uint32_t *heap = running->heap, item = heap[at], child;

	while ((child = 2 * at + 1) < running->count) {
		if (child + 1 < running->count && before(running, heap[child + 1], heap[child]))
			child++;
		if (!before(running, heap[child], item))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

static int merge(struct running *running)
{
	for (uint32_t i = running->count / 2; i-- > 0;)
		sift(running, i);
	while (running->count) {
		struct actor *actor = &running->actors[running->heap[0]];
		bool more = true;

		if (actor->place == CLEW_NONE) {
			enter(running, actor);
			actor->at = actor->stretch.to;
		} else {
			int r = leave(running, actor);

			if (r < 0)
				return r;
			more = next_stretch(running, actor);
			actor->at = actor->stretch.from;
		}
		if (!more)
			running->heap[0] = running->heap[--running->count];
		if (running->count)
			sift(running, 0);
	}
	return 0;
}

static int prepare(struct running *running)
{
	const struct blame *blame = running->blame;
	const struct clew_model *model = blame->model;
	uint32_t spans = model->span_count;

	running->actors = big_alloc(spans, sizeof(*running->actors));
	running->heap = big_alloc(spans, sizeof(*running->heap));
	running->waiting.actors = big_alloc(spans, sizeof(uint32_t));
	running->at_work.actors = big_alloc(spans, sizeof(uint32_t));
	if (!running->actors || !running->heap || !running->waiting.actors ||
	    !running->at_work.actors)
		return -ENOMEM;
	for (uint32_t span = 0; span < spans; span++) {
		const struct clew_range *range = &model->spans[span].elementary;
		struct actor *actor = &running->actors[running->count];

		if (!blame->victims[span] && !blame->antagonists[span])
			continue;
		*actor = (struct actor){.span = span,
					.next = range->first,
					.end = range->first + range->count,
					.place = CLEW_NONE};
		actor->row = running->rows;
		actor->column = running->columns;
		running->rows += blame->victims[span];
		running->columns += blame->antagonists[span];
		if (!next_stretch(running, actor))
			continue;
		actor->at = actor->stretch.from;
		running->heap[running->count] = running->count;
		running->count++;
	}
	if ((uint64_t)running->rows * running->columns <= MOST_SUMS) {
		running->sums = calloc((size_t)running->rows * running->columns + 1,
				       sizeof(*running->sums));
		if (!running->sums)
			return -ENOMEM;
	}
	return 0;
}

static int charge_sums(struct running *running, uint32_t actors)
{
	for (uint32_t i = 0; i < actors && running->sums; i++) {
		const struct actor *victim = &running->actors[i];

		for (uint32_t j = 0; j < actors && running->blame->victims[victim->span]; j++) {
			const struct actor *antagonist = &running->actors[j];
			int r = 0;

			if (running->blame->antagonists[antagonist->span])
				r = blame_charge(
					running->blame, victim->span, antagonist->span,
					&(struct charge){
						.ns = running->sums[(size_t)victim->row *
									    running->columns +
								    antagonist->column],
						.kind = running->kind});
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int blame_running(struct blame *blame, uint32_t kind,
		  struct stretch (*waits)(const struct blame *blame, uint32_t es))
{
	struct running running = {.blame = blame, .kind = kind, .waits = waits};
	uint32_t actors;
	int r = prepare(&running);

	actors = running.count;
	if (r == 0)
		r = merge(&running);
	if (r == 0)
		r = charge_sums(&running, actors);
	free(running.actors);
	free(running.heap);
	free(running.waiting.actors);
	free(running.at_work.actors);
	free(running.sums);
	return r;
}
