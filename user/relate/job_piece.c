/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logical spans and the pieces of their time. The pieces of a span follow each other without a gap.
 */
#include "relate/job_join.h"

#include <errno.h>
#include <string.h>

struct clew_job_piece *job_last_piece(const struct join *join, const struct clew_job *span)
{
	return span->last == CLEW_NO_NUMBER ? NULL : clew_job_piece_at(join->jobs, span->last);
}

bool job_is_in(const struct join *join, uint32_t number, enum clew_job_piece_kind kind)
{
	const struct clew_job_piece *piece = job_last_piece(join, clew_job_at(join->jobs, number));

	return piece && piece->end == CLEW_TIME_OPEN && piece->kind == kind;
}

/* Takes a span off the thread that it runs on. */
static int leave_thread(struct join *join, uint32_t number, uint32_t task)
{
	uint32_t at = job_look_up(&join->top, task, 0), above = CLEW_NO_NUMBER;
	struct clew_job *span = clew_job_at(join->jobs, number);

	while (at != CLEW_NO_NUMBER && at != number) {
		above = at;
		at = clew_job_at(join->jobs, at)->below;
	}
	if (at == CLEW_NO_NUMBER)
		return 0;
	if (above != CLEW_NO_NUMBER) {
		clew_job_at(join->jobs, above)->below = span->below;
		return 0;
	}
	return map_set(&join->top, task, 0,
		       span->below == CLEW_NO_NUMBER ? 0 : (uint64_t)span->below + 1);
}

static int end_piece(struct join *join, uint32_t number, uint64_t at)
{
	struct clew_job_piece *piece = job_last_piece(join, clew_job_at(join->jobs, number));

	if (!piece || piece->end != CLEW_TIME_OPEN)
		return 0;
	piece->end = at > piece->start ? at : piece->start;
	return piece->kind == CLEW_JOB_RUNS ? leave_thread(join, number, piece->task) : 0;
}

/* Ends the last piece of a span and begins another. */
int job_begin_piece(struct join *join, uint32_t number, enum clew_job_piece_kind kind, uint64_t at,
		    uint32_t task)
{
	struct clew_jobs *jobs = join->jobs;
	uint32_t place = (uint32_t)jobs->pieces.count;
	struct clew_job *span = clew_job_at(jobs, number);
	int r = end_piece(join, number, at);

	r = r < 0 ? r : vector_reserve(&jobs->pieces, jobs->pieces.count + 1);
	if (r < 0)
		return r;
	*clew_job_piece_at(jobs, place) = (struct clew_job_piece){
		.start = at,
		.end = CLEW_TIME_OPEN,
		.job = number,
		.next = CLEW_NO_NUMBER,
		.task = task,
		.waker = CLEW_NO_NUMBER,
		.kind = (uint8_t)kind,
	};
	jobs->pieces.count++;
	if (span->last == CLEW_NO_NUMBER)
		span->first = place;
	else
		job_last_piece(join, span)->next = place;
	span->last = place;
	return 0;
}

int job_close(struct join *join, uint32_t number, uint64_t at, enum clew_job_closed closed)
{
	struct clew_job *span = clew_job_at(join->jobs, number);
	int r = end_piece(join, number, at);

	span->end = at;
	span->closed = (uint8_t)closed;
	return r;
}

int job_new(struct join *join, const struct taking *taking, uint64_t key, const uint64_t *numbers,
	    uint32_t *ret_number)
{
	struct clew_jobs *jobs = join->jobs;
	const struct happened *happened = taking->happened;
	int r = vector_reserve(&jobs->list, jobs->list.count + 1);
	struct clew_job *span;

	if (r < 0 || jobs->list.count >= CLEW_NO_NUMBER - 1)
		return r < 0 ? r : -EFBIG;
	*ret_number = (uint32_t)jobs->list.count++;
	span = clew_job_at(jobs, *ret_number);
	*span = (struct clew_job){
		.runtime = taking->runtime,
		.kind = &taking->runtime->spans[taking->event->span],
		.begin = happened->time,
		.end = CLEW_TIME_OPEN,
		.process = job_process(join, happened->task),
		.submitter = CLEW_NO_TASK,
		.parent = CLEW_NO_NUMBER,
		.first = CLEW_NO_NUMBER,
		.last = CLEW_NO_NUMBER,
		.below = CLEW_NO_NUMBER,
		.next = CLEW_NO_NUMBER,
		.youngest = CLEW_NO_NUMBER,
		.closed = CLEW_JOB_OPEN,
		.key_count = taking->event->key_count,
		.joined = key,
	};
	memcpy(span->key, numbers, taking->event->key_count * sizeof(*numbers));
	r = map_set(&join->live, key, 0, (uint64_t)*ret_number + 1);
	return r < 0 ? r : map_set(&join->known, key, 0, (uint64_t)*ret_number + 1);
}

/* True if the name is the number of an operation of io_uring. */
static bool is_operation(const struct taking *taking)
{
	const struct clew_expression *name = &clew_event_value(taking->event, "name")->expression;

	return name->base == CLEW_BASE_FIELD && name->number == CLEW_RING_FIELD_OPERATION;
}

int job_describe(struct join *join, const struct taking *taking, uint32_t number)
{
	struct clew_job *span = clew_job_at(join->jobs, number);
	const char *text;
	uint64_t value;

	if (job_named_value(taking, "name", &value, &text)) {
		if (text && !span->label) {
			span->label = arena_copy(&join->jobs->arena, text, strlen(text));
			if (!span->label)
				return -ENOMEM;
		} else if (!text && is_operation(taking)) {
			span->label = clew_ring_operation(value);
		} else if (!text && !span->code) {
			span->code = value;
		}
	}
	if (job_named_value(taking, "queue", &value, &text) && !text) {
		span->queue = value;
		span->has_queue = true;
	}
	if (job_named_value(taking, "status", &value, &text) && !text) {
		span->status = value;
		span->has_status = true;
	}
	return 0;
}
