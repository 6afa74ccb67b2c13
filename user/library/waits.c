/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits and dependencies for programs with libclew. */
#include <clew/tokens.h>
#include <clew/waits.h>
#include <errno.h>
#include <stdlib.h>

#include "explain/operations.h"
#include "explain/wait_groups.h"
#include "library/internal.h"
#include "words/edge.h"
#include "words/object.h"
#include "words/wait.h"

static const struct clew_sleep *sleep_at(const struct clew_capture *capture, size_t index)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(capture->trace, &count);

	return index < count ? &sleeps[index] : NULL;
}

static const struct clew_edge *edge_at(const struct clew_capture *capture, size_t index)
{
	size_t count;
	const struct clew_edge *edges = clew_trace_edges(capture->trace, &count);

	return index < count ? &edges[index] : NULL;
}

/* NULL also where there is none. */
static char *object_words(const struct clew_capture *capture, const struct clew_object *object,
			  const struct clew_sleep *sleep)
{
	char *words = NULL;
	size_t size;
	FILE *out = open_memstream(&words, &size);
	bool found;

	if (!out)
		return NULL;
	found = clew_print_object(out, capture->trace, object, sleep);
	if (fclose(out) == 0 && found)
		return words;
	free(words);
	return NULL;
}

size_t clew_waits_count(const struct clew_capture *capture)
{
	size_t count;

	clew_trace_sleeps(capture->trace, &count);
	return count;
}

int clew_waits_at(const struct clew_capture *capture, size_t index,
		  struct clew_waits_wait *ret_wait)
{
	const struct clew_sleep *sleep = sleep_at(capture, index);
	const struct clew_holder *holder;

	if (!sleep)
		return -ENOENT;
	holder = clew_wait_main_holder(sleep);
	*ret_wait = (struct clew_waits_wait){
		.start = sleep->start,
		.end = sleep->end,
		.ready_ns = clew_wait_runqueue(capture->trace, sleep),
		.task = sleep->task,
		.ended_by = sleep->ended_by,
		.holder = holder ? holder->task : CLEW_NO_TASK,
		.kind = sleep->kind,
		.type = sleep->edge_type,
		.evidence = sleep->edge_evidence,
		.open = (uint8_t)((sleep->open & CLEW_OPEN_START ? CLEW_WAITS_NO_START : 0) |
				  (sleep->open & CLEW_OPEN_END ? CLEW_WAITS_NO_END : 0)),
		.idle = sleep_is_idle(capture->trace, sleep),
		.blind = sleep->blind,
		.call = clew_call_name(sleep->call),
	};
	return 0;
}

char *clew_waits_object(const struct clew_capture *capture, size_t index)
{
	const struct clew_sleep *sleep = sleep_at(capture, index);

	return sleep ? object_words(capture, &sleep->object, sleep) : NULL;
}

size_t clew_waits_edge_count(const struct clew_capture *capture)
{
	size_t count;

	clew_trace_edges(capture->trace, &count);
	return count;
}

int clew_waits_edge_at(const struct clew_capture *capture, size_t index,
		       struct clew_waits_edge *ret_edge)
{
	const struct clew_edge *edge = edge_at(capture, index);

	if (!edge)
		return -ENOENT;
	*ret_edge = (struct clew_waits_edge){
		.from_at = edge->from_at,
		.to_at = edge->to_at,
		.from = edge->from,
		.to = edge->to,
		.type = edge->type,
		.evidence = edge->evidence,
		.ends_wait = edge->ends_sleep,
	};
	return 0;
}

char *clew_waits_edge_object(const struct clew_capture *capture, size_t index)
{
	const struct clew_edge *edge = edge_at(capture, index);
	struct clew_object object;
	struct clew_sleep ended;

	if (!edge)
		return NULL;
	object = clew_edge_object(edge);
	ended = clew_edge_ended(edge);
	return object_words(capture, &object, &ended);
}
