/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chain of a segment of a why with its reasons.
 *
 * Each task of a chain is asleep during the whole segment, so that its wait is the
 * one at the segment's start.
 */
#include "words/hops.h"
#include "base/kind.h"

#include <clew/tokens.h>

#include "base/hash.h"
#include "words/describe.h"
#include "words/functions.h"
#include "words/object.h"
#include "words/segment.h"
#include "words/stack.h"
#include "words/task.h"

const struct clew_sleep *clew_hop_sleep(const struct clew_trace *trace,
					const struct clew_segment *segment, uint32_t place)
{
	struct clew_piece piece;

	if (!clew_trace_piece(trace, segment->chain[place], segment->start, false, &piece))
		return NULL;
	return piece.kind == CLEW_PIECE_SLEEP ? piece.sleep : NULL;
}

uint32_t clew_hop_count(const struct clew_segment *segment)
{
	uint32_t length = segment->chain_length;

	return length && segment->chain[length - 1] == segment->task ? length - 1 : length;
}

uint32_t clew_hop_next(const struct clew_segment *segment, uint32_t place)
{
	return place + 1 < segment->chain_length ? segment->chain[place + 1] : segment->task;
}

bool clew_hop_holds(const struct clew_trace *trace, const struct clew_segment *segment,
		    uint32_t place)
{
	return clew_held_by(clew_hop_sleep(trace, segment, place), clew_hop_next(segment, place),
			    segment->start);
}

struct clew_hop_via clew_hop_via_behind(const struct clew_segment *segment, uint32_t place)
{
	if (place + 1 < segment->chain_length)
		return segment->vias[place + 1];
	return (struct clew_hop_via){segment->via_type, segment->via_evidence};
}

bool clew_is_held_back(const struct clew_sleep *sleep)
{
	return sleep && (sleep->kind == CLEW_WAIT_MEMORY || sleep->kind == CLEW_WAIT_STOPPED ||
			 sleep->kind == CLEW_WAIT_THROTTLE);
}

/* True if the object alone tells what the wait was. */
static bool speaks_for_itself(const struct clew_sleep *sleep)
{
	if (sleep->kind == CLEW_WAIT_POLL)
		return false;
	switch (sleep->object.kind) {
	case CLEW_OBJECT_PIPE:
	case CLEW_OBJECT_SOCKET:
	case CLEW_OBJECT_EVENTFD:
	case CLEW_OBJECT_FUTEX:
	case CLEW_OBJECT_LOCK:
	case CLEW_OBJECT_IO_URING:
	case CLEW_OBJECT_MEMORY:
		return true;
	default:
		return false;
	}
}

/*
 * A timer's object is the moment at which it is due, which is another one in each wait. That
 * epoll_wait() waits for an epoll says nothing.
 */
static bool has_lasting_object(const struct clew_sleep *sleep)
{
	return clew_waits_for_object(sleep) && !clew_waits_for_epoll(sleep) &&
	       sleep->object.kind != CLEW_OBJECT_TIMER && sleep->object.kind != CLEW_OBJECT_TIMERFD;
}

/* The call that the words about a wait name; NULL: none. */
static const char *told_call(const struct clew_sleep *sleep)
{
	bool has_object = has_lasting_object(sleep);

	if (sleep->kind == CLEW_WAIT_STOPPED || sleep->kind == CLEW_WAIT_FAULT ||
	    (has_object && (speaks_for_itself(sleep) || clew_is_held_back(sleep))))
		return NULL;
	return clew_call_name(sleep->call);
}

void clew_print_hop_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const char *call = told_call(sleep);
	bool has_object = has_lasting_object(sleep);

	if (clew_is_held_back(sleep) && sleep->object.kind != CLEW_OBJECT_MEMORY)
		fprintf(out, "%s%s", clew_wait_kind_name(sleep->kind),
			has_object ? ": "
			: call	   ? " in "
				   : "");
	else if (!has_object && !call)
		fputs(sleep->kind == CLEW_WAIT_FAULT ? "page fault"
						     : clew_wait_kind_name(sleep->kind),
		      out);
	if (call)
		fprintf(out, "%s%s", call, has_object ? " " : "");
	if (has_object)
		clew_print_object(out, trace, &sleep->object, sleep);
}

/* Types that say more than the wait: the next task did not merely end it. */
static bool is_told(int type)
{
	return type == CLEW_EDGE_FORK || type == CLEW_EDGE_EXEC || type == CLEW_EDGE_CALL;
}

static void print_reason(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
			 struct clew_hop_via via)
{
	fputc('(', out);
	if (sleep)
		clew_print_hop_wait(out, trace, sleep);
	else
		fputs(clew_wait_kind_name(CLEW_WAIT_UNKNOWN), out);
	if (via.type >= 0 && is_told(via.type))
		fprintf(out, ", %s", clew_trace_type_name(trace, (unsigned)via.type));
	if (via.type >= 0 && via.evidence != CLEW_EVIDENCE_EXACT)
		fprintf(out, ", %s", clew_evidence_name(via.evidence));
	fputc(')', out);
}

void clew_print_hops(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	for (uint32_t i = 0; i < clew_hop_count(segment); i++) {
		clew_print_task(out, trace, segment->chain[i], segment->start);
		clew_print_in_function(out, trace, segment->chain[i], segment->start);
		fputs(" <- ", out);
		print_reason(out, trace, clew_hop_sleep(trace, segment, i),
			     clew_hop_via_behind(segment, i));
		fputc(' ', out);
	}
}

/* The own wait of the segment's task, if the segment does not say that it was held back; else NULL.
 */
static const struct clew_sleep *untold_wait(const struct clew_trace *trace,
					    const struct clew_segment *segment)
{
	const struct clew_sleep *sleep;

	if (clew_hop_count(segment) == segment->chain_length)
		return NULL;
	sleep = clew_hop_sleep(trace, segment, segment->chain_length - 1);
	return clew_is_held_back(sleep) && segment->kind != sleep->kind ? sleep : NULL;
}

void clew_print_own_reason(FILE *out, const struct clew_trace *trace,
			   const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = untold_wait(trace, segment);

	if (!sleep)
		return;
	fputc(' ', out);
	print_reason(out, trace, sleep, (struct clew_hop_via){.type = -1});
}

/* True if the words about the last hop do not tell what its waiter waited for. */
static bool leaves_out_wait(const struct clew_segment *segment, const struct clew_sleep *sleep)
{
	if (segment->called || clew_is_held_back(sleep))
		return true;
	return clew_edge_type_has(segment->via_type, CLEW_TYPE_ACT);
}

static bool has_more_to_say(const struct clew_trace *trace, const struct clew_segment *segment)
{
	uint32_t count = clew_hop_count(segment);

	return count > 1 || untold_wait(trace, segment) ||
	       (count == 1 && leaves_out_wait(segment, clew_hop_sleep(trace, segment, 0)));
}

void clew_print_chain(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	if (!has_more_to_say(trace, segment))
		return;
	fputs("; ", out);
	clew_print_hops(out, trace, segment);
	clew_print_task(out, trace, segment->task, segment->end - 1);
	clew_print_own_reason(out, trace, segment);
}

/* The function from which the task at a place waits. A trace without functions has the keys that
 * it would have without this. */
static uint64_t mix_function(uint64_t key, const struct clew_trace *trace,
			     const struct clew_segment *segment, uint32_t place)
{
	uint32_t function = clew_function_at(trace, segment->chain[place], segment->start);

	return function == CLEW_NO_NUMBER ? key : hash_mix(key, (uint64_t)function + 1);
}

/* A trace without stacks has the keys that it would have without this. */
static uint64_t mix_stack(uint64_t key, const struct clew_trace *trace,
			  const struct clew_sleep *sleep)
{
	uint64_t stack = clew_stack_key(trace, sleep);

	return stack ? hash_mix(key, stack) : key;
}

/* Mixes in all that clew_print_hop_wait() depends on. */
static uint64_t mix_wait(uint64_t key, const struct clew_sleep *sleep)
{
	if (!sleep)
		return hash_mix(key, CLEW_WAIT_UNKNOWN);
	key = hash_mix(key, (uint64_t)sleep->kind << 16 |
				    (told_call(sleep) ? sleep->call : CLEW_NO_CALL));
	if (!has_lasting_object(sleep))
		return key;
	key = hash_mix(key, (uint64_t)sleep->object.kind << 32 | sleep->object.device);
	key = hash_mix(key, sleep->object.number);
	return hash_mix(key, sleep->object.kind == CLEW_OBJECT_CHILD ? sleep->ended_by : 0);
}

uint64_t clew_chain_key(const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_sleep *own = untold_wait(trace, segment);
	uint64_t key = 1;

	if (!has_more_to_say(trace, segment))
		return 0;
	for (uint32_t i = 0; i < clew_hop_count(segment); i++) {
		struct clew_hop_via via = clew_hop_via_behind(segment, i);

		key = hash_mix(key, segment->chain[i]);
		key = mix_function(key, trace, segment, i);
		key = mix_wait(key, clew_hop_sleep(trace, segment, i));
		key = hash_mix(key, (uint64_t)(uint8_t)via.type << 8 | via.evidence);
	}
	return own ? mix_wait(hash_mix(key, segment->task), own) : key;
}

uint64_t clew_hop_key(const struct clew_trace *trace, const struct clew_segment *segment,
		      uint32_t place)
{
	struct clew_hop_via via = clew_hop_via_behind(segment, place);
	uint64_t key = mix_wait(hash_mix(1, clew_hop_next(segment, place)),
				clew_hop_sleep(trace, segment, place));

	key = hash_mix(key, (uint64_t)(uint8_t)via.type << 8 | via.evidence);
	key = mix_function(key, trace, segment, place);
	key = mix_stack(key, trace, clew_hop_sleep(trace, segment, place));
	return hash_mix(key, clew_hop_holds(trace, segment, place));
}
