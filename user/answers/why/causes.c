/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The segments of a why added up into causes. */
#include "answers/why/causes.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/why/details.h"
#include "base/hash.h"
#include "words/called.h"
#include "words/commit.h"
#include "words/functions.h"
#include "words/hops.h"
#include "words/segment.h"
#include "words/segment_text.h"
#include "words/stack.h"
#include "words/writers.h"

/*
 * Everything that clew_segment_text() depends on, except for names: equal keys
 * have equal words.
 */
struct cause_key {
	uint32_t task;
	uint32_t by;
	uint32_t waiter;
	uint32_t born;
	uint16_t cpu;
	uint16_t call;
	uint8_t kind;
	uint8_t unknown_kind;
	int8_t via_type;
	uint8_t via_evidence; /* of a request */
	bool cycle;
	bool holds;
	bool queues;
	bool retried;
	uint8_t late;
	uint8_t held;
	uint8_t object_kind;
	uint8_t awaited_kind;
	uint8_t end;  /* how an unknown wait ended */
	uint8_t step; /* how the request came about */
	uint32_t device;
	uint32_t awaited_device;
	uint32_t writers[8]; /* of a request */
	uint32_t below_writers[8];
	uint32_t below_device;
	uint32_t below_file_device;
	uint8_t below_operation;
	uint8_t below_step;
	bool below_flush;
	bool done_below;
	uint64_t below;
	struct clew_commit commit;
	uint64_t object;
	uint64_t awaited;
	uint32_t awaited_call;
	struct clew_call_key called, perhaps;
	uint64_t activity; /* hash of the call's name */
	uint64_t timer;
	uint64_t chain;		 /* of its reasons, and its stack */
	uint64_t limit, limited; /* groups */
	uint32_t armed_by;
	uint32_t again;	       /* a memory limit had evicted what is read */
	uint32_t functions[2]; /* 1 + the number of the task's and of the waiter's; 0 none */
	uint64_t lock;	       /* of a runtime, 0 none */
};

struct keyed_segment {
	struct cause_key key;
	const struct clew_segment *segment;
};

/* The reason of a request, as segment_text.c tells it. */
static uint8_t step_of(const struct clew_block_request *block)
{
	return block->reason == CLEW_REQUEST_REASON_JOURNAL ? 1 : block->swap ? 2 : 0;
}

static void key_request(const struct clew_trace *trace, const struct clew_segment *segment,
			const struct clew_block_request *block, struct cause_key *key)
{
	const struct clew_trace_request *below = clew_segment_request(trace, segment->below);

	key->object_kind = CLEW_OBJECT_REQUEST;
	key->device = block->device;
	key->object = block->inode;
	key->by = block->file_device;
	key->call = block->operation & 0xff;
	key->end = block->bytes == 0;
	key->step = step_of(block);
	if (segment->kind == CLEW_WAIT_THROTTLE) {
		key->limit = block->group;
		key->limited = block->limited;
	}
	key->done_below = clew_segment_done_below(trace, segment);
	if (below) {
		key->below_device = below->block.device;
		key->below_flush = below->block.bytes == 0;
		key->below_operation = below->block.operation & 0xff;
		key->below_step = step_of(&below->block);
		key->below_file_device = below->block.file_device;
		key->below = below->block.inode;
		clew_request_writers(trace, segment->below->number, key->below_writers,
				     sizeof(key->below_writers) / sizeof(key->below_writers[0]));
	}
	clew_request_writers(trace, segment->link->number, key->writers,
			     sizeof(key->writers) / sizeof(key->writers[0]));
}

/* The activity that the segment was spent on: a call, a lock, a request, a work item or a wait. */
static void key_what(const struct clew_trace *trace, const struct clew_segment *segment,
		     struct cause_key *key)
{
	const struct clew_trace_request *request = clew_segment_request(trace, segment->link);
	const struct clew_sleep *sleep = segment->sleep;

	if (segment->stay) {
		key->call = segment->stay->call;
		key->step = segment->stay->reason;
		key->end = segment->stay->evidence + 1;
	} else if (segment->spin) {
		key->object_kind = CLEW_OBJECT_LOCK;
		key->object = segment->spin->lock;
		key->device = segment->spin->type;
		key->by = segment->spin->holder;
	} else if (request) {
		key_request(trace, segment, &request->block, key);
	} else if (segment->link) {
		key->object_kind = CLEW_OBJECT_WORK;
		key->object = segment->link->number;
	} else if (sleep && segment->kind != CLEW_SEGMENT_RUNNING &&
		   segment->kind != CLEW_SEGMENT_RUNQUEUE) {
		key->unknown_kind = segment->unknown_kind;
		key->call = sleep->call;
		key->end = sleep->end == CLEW_TIME_OPEN ? UINT8_MAX : sleep->context;
		key->step = sleep->link_count ? sleep->links[0].kind : 0;
		if (key->step == CLEW_LINK_TIMER) {
			key->timer = sleep->links[0].number;
			key->armed_by = sleep->links[0].task;
		}
		key->object_kind = sleep->object.kind;
		key->device = sleep->object.device;
		key->object = sleep->object.number;
	}
}

/* The object that the task before it in the chain waited for. */
static void key_awaited(const struct clew_sleep *awaiting, struct cause_key *key)
{
	key->awaited_kind = awaiting->object.kind;
	key->awaited_device = awaiting->object.device;
	key->awaited = awaiting->object.number;
	key->awaited_call = awaiting->object.kind == CLEW_OBJECT_FILE ? awaiting->call : 0;
}

static void make_key(const struct clew_trace *trace, const struct clew_relations *relations,
		     const struct clew_segment *segment, struct cause_key *key)
{
	const struct clew_sleep *awaiting = clew_segment_awaiting(trace, segment);
	const struct clew_sleep *sleep = segment->sleep;
	struct clew_piece piece;

	/* Padding takes part in the comparison. */
	memset(key, 0, sizeof(*key));
	key->task = segment->task;
	key->kind = segment->kind;
	key->cycle = segment->cycle;
	key->late = segment->late;
	key->held = segment->held;
	key->again = clew_segment_read_again(trace, segment);
	key->functions[0] = clew_segment_function(trace, segment) + 1;
	key->via_type = segment->via_type;
	key->via_evidence = segment->via_type == CLEW_EDGE_REQUEST ? segment->via_evidence : 0;
	key->waiter = clew_segment_waiter(segment);
	if (key->waiter != CLEW_NO_TASK)
		key->functions[1] = clew_function_at(trace, key->waiter, segment->start) + 1;
	key->born = segment->born;
	key->holds = clew_segment_holds(awaiting, segment);
	awaiting = awaiting ? clew_trace_last_slice(trace, awaiting) : NULL;
	key->queues = clew_segment_queues(awaiting, segment);
	key->chain =
		clew_chain_key(trace, segment) ^ clew_stack_key(trace, clew_stack_sleep(segment));
	key->retried = (awaiting && clew_trace_retried(trace, awaiting)) ||
		       (sleep && clew_trace_retried(trace, sleep));
	clew_call_key(relations, segment->called, &key->called);
	clew_call_key(relations, segment->perhaps, &key->perhaps);
	key->activity = segment->activity ? segment->activity->name : 0;
	key->lock = segment->lock ? segment->lock->joined : 0;
	if (segment->kind == CLEW_SEGMENT_RUNQUEUE) {
		key->by = segment->by;
		key->cpu = clew_trace_piece(trace, segment->task, segment->start, false, &piece)
				   ? piece.cpu
				   : UINT16_MAX;
	}
	if (segment->via_type == CLEW_EDGE_JOURNAL)
		clew_commit_find(trace, segment->task, awaiting ? awaiting->end : segment->end,
				 key->waiter, &key->commit);
	if (awaiting)
		key_awaited(awaiting, key);
	key_what(trace, segment, key);
}

uint64_t clew_cause_key(const struct clew_trace *trace, const struct clew_relations *relations,
			const struct clew_segment *segment)
{
	uint64_t hash = 1, word;
	struct cause_key key;

	make_key(trace, relations, segment, &key);
	_Static_assert(sizeof(key) % sizeof(word) == 0 &&
			       offsetof(struct cause_key, functions) % sizeof(word) == 0,
		       "a key is whole words");
	for (size_t i = 0; i < sizeof(key); i += sizeof(word)) {
		memcpy(&word, (const char *)&key + i, sizeof(word));
		/* Without functions and locks it is what it would be if there were none. */
		if (i >= offsetof(struct cause_key, functions) && !word)
			continue;
		hash = hash_mix(hash, word);
	}
	return hash;
}

static int compare_keys(const void *a, const void *b)
{
	const struct keyed_segment *one = a, *other = b;
	int order = memcmp(&one->key, &other->key, sizeof(one->key));

	return order ?: (one->segment > other->segment) - (one->segment < other->segment);
}

static int compare_causes(const void *a, const void *b)
{
	const struct clew_why_cause *one = a, *other = b;

	if (one->ns != other->ns)
		return one->ns < other->ns ? 1 : -1;
	return (one->first > other->first) - (one->first < other->first);
}

int clew_causes_make(const struct clew_trace *trace, const struct clew_relations *relations,
		     const struct clew_why *why, struct clew_why_cause **ret_causes,
		     size_t *ret_count)
{
	struct keyed_segment *keyed = calloc(why->segment_count + 1, sizeof(*keyed));
	struct clew_why_cause *causes = calloc(why->segment_count + 1, sizeof(*causes));
	const struct clew_segment **same = calloc(why->segment_count + 1, sizeof(*same));
	size_t count = 0;

	if (!keyed || !causes || !same)
		goto no_memory;
	for (size_t i = 0; i < why->segment_count; i++) {
		keyed[i].segment = &why->segments[i];
		make_key(trace, relations, keyed[i].segment, &keyed[i].key);
	}
	qsort(keyed, why->segment_count, sizeof(*keyed), compare_keys);
	for (size_t i = 0; i < why->segment_count; i++)
		same[i] = keyed[i].segment;
	for (size_t from = 0, to; from < why->segment_count; from = to) {
		struct clew_why_cause *cause = &causes[count++];
		const struct clew_segment *longest = same[from];
		struct clew_beside beside;

		cause->first = same[from];
		for (to = from; to < why->segment_count &&
				!memcmp(&keyed[to].key, &keyed[from].key, sizeof(keyed[to].key));
		     to++) {
			cause->ns += same[to]->end - same[to]->start;
			cause->segments++;
			/* A task's name is the one in the longest segment. */
			if (same[to]->end - same[to]->start > longest->end - longest->start)
				longest = same[to];
		}
		if (clew_beside_find(trace, same + from, to - from, &beside) < 0)
			goto no_memory;
		cause->text =
			clew_details_append(clew_segment_text(trace, relations, longest, &beside),
					    trace, same + from, to - from);
		if (!cause->text)
			goto no_memory;
	}
	qsort(causes, count, sizeof(*causes), compare_causes);
	free(same);
	free(keyed);
	*ret_causes = causes;
	*ret_count = count;
	return 0;

no_memory:
	free(same);
	free(keyed);
	clew_causes_free(causes, count);
	return -ENOMEM;
}

void clew_causes_free(struct clew_why_cause *causes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(causes[i].text);
	free(causes);
}
