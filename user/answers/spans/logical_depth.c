/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts spans that there are at once, by the queue that they were submitted to, and those that are
 * still open at the end, by where they were submitted: spans that are never over pile up there.
 */
#include "answers/spans/logical_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/sort.h"

/* A piece begins or ends: its number, and at the same moment ends come first. */
#define BEGINS 1u

static struct logical_queue *queue_at(const struct logical_sum *sum, size_t number)
{
	return (struct logical_queue *)sum->queues.data + number;
}

static int find_queue(struct logical_sum *sum, struct map *places, const struct clew_job *job,
		      uint32_t *ret)
{
	uint64_t key = hash_mix(hash_mix(hash_mix(HASH_SEED, (uintptr_t)job->kind), job->process),
				job->has_queue ? job->queue : 0);
	const uint64_t *known = map_get(places, key, job->has_queue);

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	if (vector_reserve(&sum->queues, sum->queues.count + 1) < 0)
		return -ENOMEM;
	*ret = (uint32_t)sum->queues.count;
	*queue_at(sum, sum->queues.count++) = (struct logical_queue){.runtime = job->runtime,
								     .kind = job->kind,
								     .process = job->process,
								     .queue = job->queue,
								     .has_queue = job->has_queue};
	return map_set(places, key, job->has_queue, *ret);
}

static void count(struct logical_queue *queue, const struct clew_job_piece *piece, bool begins)
{
	uint64_t *now = &queue->now[piece->kind], *most = &queue->most[piece->kind];

	*now += begins ? 1 : (uint64_t)-1;
	*most = *now > *most ? *now : *most;
}

/* Walks through the pieces' begins and ends. `of`: the queue of each piece's span. */
static void walk(struct logical_sum *sum, const struct sort_key *keys, size_t key_count,
		 const uint32_t *of)
{
	const struct clew_jobs *jobs = sum->logical->jobs;

	for (size_t i = 0; i < key_count; i++) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, keys[i].index / 2);

		count(queue_at(sum, of[piece->job]), piece, keys[i].index & BEGINS);
	}
}

int logical_queues(struct logical_sum *sum)
{
	const struct clew_jobs *jobs = sum->logical->jobs;
	size_t pieces = jobs->pieces.count, key_count = 0;
	uint32_t *of = malloc((jobs->list.count + 1) * sizeof(*of));
	struct sort_key *keys = malloc((4 * pieces + 1) * sizeof(*keys));
	struct map places = {};
	int r = of && keys && pieces < CLEW_NO_NUMBER / 2 ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < jobs->list.count; i++) {
		of[i] = CLEW_NO_NUMBER;
		if (clew_logical_wants(sum->logical, clew_job_at(jobs, i)))
			r = find_queue(sum, &places, clew_job_at(jobs, i), &of[i]);
	}
	for (uint32_t i = 0; r >= 0 && i < pieces; i++) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		/* A piece that takes no time is nowhere. */
		if (of[piece->job] == CLEW_NO_NUMBER || piece->start == piece->end)
			continue;
		keys[key_count++] = (struct sort_key){.key = piece->start << 1 | BEGINS,
						      .index = 2 * i + BEGINS};
		if (piece->end != CLEW_TIME_OPEN)
			keys[key_count++] =
				(struct sort_key){.key = piece->end << 1, .index = 2 * i};
	}
	if (r >= 0) {
		sort_keys(keys, keys + key_count, key_count);
		walk(sum, keys, key_count, of);
	}
	map_done(&places);
	free(keys);
	free(of);
	return r;
}

/* ---- spans that are open ---- */

static int by_count(const void *left, const void *right)
{
	const struct logical_open *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->name, b->name);
}

int logical_opens(struct logical_sum *sum)
{
	const struct clew_jobs *jobs = sum->logical->jobs;
	struct map places = {};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < jobs->list.count; i++) {
		const struct clew_job *job = clew_job_at(jobs, i);
		const char *name = clew_job_name(jobs, job), *in = job->submitted_in;
		struct logical_open *open;
		uint64_t key, *known;

		if (job->closed != CLEW_JOB_OPEN || !clew_logical_wants(sum->logical, job))
			continue;
		if (job->parent != CLEW_NO_NUMBER)
			in = clew_job_name(jobs, clew_job_at(jobs, job->parent));
		key = hash_text(hash_text(hash_mix(HASH_SEED, (uintptr_t)job->kind), name),
				in ?: "");
		known = map_get(&places, key, 0);
		if (!known) {
			if (vector_reserve(&sum->opens, sum->opens.count + 1) < 0 ||
			    map_set(&places, key, 0, sum->opens.count) < 0) {
				r = -ENOMEM;
				break;
			}
			known = map_get(&places, key, 0);
			((struct logical_open *)sum->opens.data)[sum->opens.count++] =
				(struct logical_open){.job = job, .name = name, .in = in};
		}
		open = (struct logical_open *)sum->opens.data + *known;
		open->count++;
	}
	if (sum->opens.count > 1)
		qsort(sum->opens.data, sum->opens.count, sum->opens.item, by_count);
	map_done(&places);
	return r;
}
