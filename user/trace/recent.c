/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last runs before a part of a capture. */
#include "trace/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

#define MOST_RUNS   (1u << 20) /* 24 MB */
#define MOST_OTHERS (1u << 18) /* of each kind; 10 MB or less */

/* The last things of one kind. */
struct ring {
	void *items;
	size_t size; /* bytes of one */
	size_t capacity;
	size_t count; /* of all that were ever noted */
};

struct trace_recent {
	struct ring runs, stays, tallies, samples;
};

static int ring_init(struct ring *ring, size_t size, size_t capacity)
{
	*ring = (struct ring){.items = malloc(size * capacity), .size = size, .capacity = capacity};
	return ring->items ? 0 : -ENOMEM;
}

static void *ring_at(const struct ring *ring, size_t number)
{
	return (char *)ring->items + number % ring->capacity * ring->size;
}

static void ring_note(struct ring *ring, const void *item)
{
	memcpy(ring_at(ring, ring->count++), item, ring->size);
}

/* The number of the first one that is still there. */
static size_t ring_oldest(const struct ring *ring)
{
	return ring->count > ring->capacity ? ring->count - ring->capacity : 0;
}

struct trace_recent *trace_recent_new(void)
{
	struct trace_recent *recent = calloc(1, sizeof(*recent));

	if (!recent)
		return NULL;
	if (ring_init(&recent->runs, sizeof(struct clew_run), MOST_RUNS) == 0 &&
	    ring_init(&recent->stays, sizeof(struct clew_stay), MOST_OTHERS) == 0 &&
	    ring_init(&recent->tallies, sizeof(struct clew_tally), MOST_OTHERS) == 0 &&
	    ring_init(&recent->samples, sizeof(struct clew_task_stacks), MOST_OTHERS) == 0)
		return recent;
	trace_recent_free(recent);
	return NULL;
}

void trace_recent_free(struct trace_recent *recent)
{
	if (!recent)
		return;
	free(recent->runs.items);
	free(recent->stays.items);
	free(recent->tallies.items);
	free(recent->samples.items);
	free(recent);
}

void trace_recent_note(struct trace_recent *recent, const struct clew_finding *finding)
{
	if (finding->tag == CLEW_FINDING_RUN)
		ring_note(&recent->runs, finding->run);
	else if (finding->tag == CLEW_FINDING_STAY)
		ring_note(&recent->stays, finding->stay);
	else if (finding->tag == CLEW_FINDING_TALLY)
		ring_note(&recent->tallies, finding->tally);
	else if (finding->tag == CLEW_FINDING_IDENTITY &&
		 finding->identity->kind == CLEW_KIND_SAMPLE)
		ring_note(&recent->samples, finding->identity);
}

/* Moves what was appended behind the first `count` numbers to the front. 0 or -ENOMEM. */
static int move_to_front(struct numbers *numbers, uint32_t count)
{
	uint32_t added = numbers->count - count, *kept;

	if (!added || !count)
		return 0;
	kept = malloc(count * sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	memcpy(kept, numbers->data, count * sizeof(*kept));
	memmove(numbers->data, numbers->data + count, added * sizeof(*kept));
	memcpy(numbers->data + added, kept, count * sizeof(*kept));
	free(kept);
	return 0;
}

/* The run that take_lead() has kept is in the task's timeline already. */
static int give_run(struct clew_trace *trace, const struct clew_run *run)
{
	struct trace_task *task = trace_task_find(trace, run->task);
	size_t index;
	int r = trace_keep_run(trace, run, &index);

	if (r < 0 || !task || task->led == run->end)
		return r;
	if (!task->recent) {
		task->recent = true;
		task->kept = task->pieces.count;
	}
	return trace_append_piece(trace, task, PIECE_RUN, index);
}

static int put_in_order(struct clew_trace *trace, const uint32_t *kept, size_t kept_count)
{
	int r = 0;

	for (size_t cpu = 0; cpu < trace->cpu_count && r == 0; cpu++)
		r = move_to_front(&trace->cpus[cpu], cpu < kept_count ? kept[cpu] : 0);
	for (size_t i = 0; i < trace->tasks.count && r == 0; i++)
		if (trace_task_at(trace, i)->recent)
			r = move_to_front(&trace_task_at(trace, i)->pieces,
					  trace_task_at(trace, i)->kept);
	return r;
}

int trace_recent_give_runs(struct clew_trace *trace, const struct trace_recent *recent,
			   uint64_t since, uint64_t *ret_known)
{
	const struct ring *runs = &recent->runs;
	size_t oldest = ring_oldest(runs), first = runs->count, cpus = trace->cpu_count;
	uint32_t *kept = malloc((cpus + 1) * sizeof(*kept));
	int r = kept ? 0 : -ENOMEM;

	for (size_t cpu = 0; cpu < cpus && kept; cpu++)
		kept[cpu] = trace->cpus[cpu].count;
	/* They came nearly in order of their ends. */
	while (first > oldest && ((struct clew_run *)ring_at(runs, first - 1))->end > since)
		first--;
	*ret_known =
		first > oldest || !oldest ? since : ((struct clew_run *)ring_at(runs, oldest))->end;
	for (size_t i = first; i < runs->count && r >= 0; i++)
		r = give_run(trace, ring_at(runs, i));
	if (r >= 0)
		r = put_in_order(trace, kept, cpus);
	free(kept);
	return r;
}

int trace_recent_give_others(struct clew_trace *trace, const struct trace_recent *recent,
			     uint64_t since)
{
	const struct ring *stays = &recent->stays, *tallies = &recent->tallies,
			  *samples = &recent->samples;
	int r = 0;

	for (size_t i = ring_oldest(stays); i < stays->count && r >= 0; i++) {
		const struct clew_stay *stay = ring_at(stays, i);

		if (stay->end > since)
			r = trace_add_stay(trace, stay);
	}
	for (size_t i = ring_oldest(tallies); i < tallies->count && r >= 0; i++) {
		const struct clew_tally *tally = ring_at(tallies, i);

		if (tally->end > since)
			r = trace_add_tally(trace, tally);
	}
	for (size_t i = ring_oldest(samples); i < samples->count && r >= 0; i++) {
		const struct clew_task_stacks *sample = ring_at(samples, i);

		if (sample->header.time > since)
			r = trace_identity(trace, &sample->header);
	}
	return r;
}
