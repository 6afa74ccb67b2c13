/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a wait leads to, and the search that goes there. */
#ifndef CLEW_EXPLAIN_WHY_INTERNAL_H
#define CLEW_EXPLAIN_WHY_INTERNAL_H

#include "explain/why.h"
#include "trace/internal.h"

/* To whom, and until when, a part of a wait is charged. */
struct why_cause {
	uint64_t until;
	uint32_t task;	    /* CLEW_NO_TASK: a leaf, of `kind` */
	uint32_t submitter; /* of a leaf that is a request */
	uint8_t kind;	    /* enum clew_wait_kind, CLEW_SEGMENT_DEVICE and _QUEUED included */
	uint8_t late;	    /* enum clew_late */
	uint8_t edge_type;  /* enum clew_edge_type */
	uint8_t evidence;
	const struct clew_link *link;  /* the step that this part is of, or NULL */
	const struct clew_link *below; /* of a request: the one on a disk below, or NULL */
};

/* The cause of the part of a wait that begins at `from`; it ends at `to` at the latest. */
struct why_cause why_cause_of(const struct clew_sleep *sleep, uint64_t from, uint64_t to);

/*
 * Of a part that is a request's in its device from `from` on: if that device asks others
 * below, what is behind that moment there. A link made for it is of the arena. 0 or -ENOMEM.
 */
int why_below(const struct clew_trace *trace, struct arena *arena, uint64_t from,
	      struct why_cause *cause);

/*
 * Whether `task`, ready at `at` for a CPU, was kept off it as its group's quota was
 * used up there: until when, `to` at most; false: until when it was not.
 */
bool why_throttled(const struct clew_trace *trace, const struct trace_task *task, uint16_t cpu,
		   uint64_t at, uint64_t to, const struct clew_sleep **ret_sleep,
		   uint64_t *ret_until);

/* Whether a wait of which no record says what it was for may have been for what a call in another
 * task did. */
bool why_may_be_for_call(const struct clew_sleep *sleep, const struct why_cause *cause);

/* Whether a wait of this kind is one that a disk's interrupt ends. */
bool why_waits_for_disk(unsigned kind);

/* ---- the search itself ---- */

/*
 * Chains are arrays that share their beginnings: one may be longer than another in
 * the same memory. `used` is how much of a block has been given out.
 */
struct chain_block {
	uint32_t used, capacity;
	uint32_t tasks[];
};

struct chain {
	struct chain_block *block;
	uint32_t length;
};

/* A task and the stretch of its time that is still to be explained. */
struct frame {
	const struct trace_task *task;
	uint64_t cursor, to;
	struct chain chain;    /* without the task itself */
	struct chain sleeping; /* with it; block NULL: not made yet */
	int8_t via_type;
	uint8_t via_evidence;
	uint32_t born; /* via FORK, EXEC: the task that began with it, else CLEW_NO_TASK */
	const struct clew_sleep
		*waited;	      /* the wait that led here, of the frame below; NULL: none */
	const struct clew_link *link; /* the work item that the task is followed for, or NULL */
	const struct clew_relation *called; /* via CALL */
};

struct why_search {
	const struct clew_trace *trace;
	const struct clew_relations *relations; /* NULL: calls are not followed */
	struct clew_why *why;
	struct arena *arena;
	struct frame *frames;
	size_t depth, frame_capacity;
	size_t segment_capacity;
	struct vector hints; /* by task: where the task's last piece was found */
};

/* Explains from..to of a task's time into search->why, with memory of search->arena. 0 or -ENOMEM.
 */
int why_search_all(struct why_search *search, const struct trace_task *task, uint64_t from,
		   uint64_t to);

/* For many questions of one trace. */
int why_search_new(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct why_search **ret_search);
void why_search_free(struct why_search *search);
/*
 * The sleep that is followed to the lower one of a relation until that ends, if its upper
 * one's task waits for that then; NULL: it does not. 0 or -ENOMEM.
 */
int why_search_waiter(struct why_search *search, const struct clew_relation *relation,
		      const struct clew_sleep **ret_sleep);

#endif
