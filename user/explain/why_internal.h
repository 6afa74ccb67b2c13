/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cause of a wait, and the search that follows causes.
 */
#ifndef CLEW_EXPLAIN_WHY_INTERNAL_H
#define CLEW_EXPLAIN_WHY_INTERNAL_H

#include "explain/why.h"
#include "trace/internal.h"

/* The cause of a part of a wait, and until when it holds. */
struct why_cause {
	const struct clew_sleep *sleep; /* whose end it explains: the wait, or its last slice */
	uint64_t until;
	uint32_t task;	    /* CLEW_NO_TASK: a leaf, of `kind` */
	uint32_t submitter; /* of a leaf that is a request; else CLEW_NO_TASK */
	uint8_t kind;	    /* enum clew_wait_kind, CLEW_SEGMENT_DEVICE and _QUEUED included */
	uint8_t late;	    /* enum clew_late */
	uint8_t held;	    /* enum clew_held */
	uint8_t edge_type;  /* enum clew_edge_type */
	uint8_t evidence;
	const struct clew_link *link;  /* the step that this part belongs to, or NULL */
	const struct clew_link *below; /* of a request: the request on a lower disk, or NULL */
};

/*
 * The cause of the part of a wait that begins at `from`; the part ends at `to`
 * at the latest. A slice of a retried wait has the cause of the last slice.
 */
struct why_cause why_cause_of(const struct clew_trace *trace, const struct clew_sleep *sleep,
			      uint64_t from, uint64_t to);

/* The same without regard to other slices. */
struct why_cause why_own_cause(const struct clew_sleep *sleep, uint64_t from, uint64_t to);

/*
 * For time from `from` on that a request spends in a stacked device: refines
 * `cause` by the request on the lower device. A link that is made for this is
 * allocated in the arena. 0 or -ENOMEM.
 */
int why_below(const struct clew_trace *trace, struct arena *arena, uint64_t from,
	      struct why_cause *cause);

/*
 * True if `task`, ready at `at`, was kept off its CPU because its group's quota
 * was used up there. *ret_until: how long the answer holds, at most `to`.
 */
bool why_throttled(const struct clew_trace *trace, const struct trace_task *task, uint16_t cpu,
		   uint64_t at, uint64_t to, const struct clew_sleep **ret_sleep,
		   uint64_t *ret_until);

/*
 * True if a wait that no record explains may have been for a call in another
 * task.
 */
bool why_may_be_for_call(const struct clew_sleep *sleep, const struct why_cause *cause);

/* True if a wait of this kind is one that a disk's interrupt ends. */
bool why_waits_for_disk(unsigned kind);

/* ---- the search itself ---- */

/*
 * Chains share their memory: a longer one continues a shorter one in the same
 * block. `used` is how much of the block is in use. `vias` has as many places
 * as `tasks`, and lies behind them.
 */
struct chain_block {
	uint32_t used, capacity;
	struct clew_hop_via *vias;
	uint32_t tasks[];
};

struct chain {
	struct chain_block *block;
	uint32_t length;
};

/* A task and the interval of its time that is still to be explained. */
struct frame {
	const struct trace_task *task;
	uint64_t cursor, to;
	struct chain chain;    /* without the task itself */
	struct chain sleeping; /* with the task itself; block NULL: not made yet */
	int8_t via_type;
	uint8_t via_evidence;
	uint32_t born; /* via FORK, EXEC: the task that began by it, else CLEW_NO_TASK */
	const struct clew_sleep *waited; /* the wait of the frame below that led here; NULL: none */
	const struct clew_link
		*link; /* the work item because of which the task is followed, or NULL */
	const struct clew_relation *called; /* via CALL */
	bool by_end;	/* it has the other end of what is waited for, and has not ended the wait */
	uint32_t job;	/* number + 1 of the logical span whose time it is, instead of the task's; 0
			   none */
	uint32_t piece; /* of it, where the cursor is, or before */
	const struct clew_job_wait *lock; /* the wait for a lock that it had; NULL: none */
	const struct clew_job_hop *job_hops;
};

struct why_search {
	const struct clew_trace *trace;
	const struct clew_relations *relations; /* NULL: calls are not followed */
	struct clew_why *why;
	struct arena *arena;
	struct frame *frames;
	size_t depth, frame_capacity;
	size_t segment_capacity;
	struct vector hints; /* by task: index of the piece that was found last */
};

/* *ret_chain: the frame's chain with the frame's task behind it. 0 or -ENOMEM. */
int why_chain_extend(struct why_search *search, const struct frame *frame, struct chain *ret_chain);
bool why_in_chain(const struct chain *chain, uint32_t task);

/* Explains from..to of a task's time into search->why, with memory of search->arena. 0 or -ENOMEM.
 */
int why_search_all(struct why_search *search, const struct trace_task *task, uint64_t from,
		   uint64_t to);

/* Pushes a frame: from..to of the time of a task that `waited` is due to. 0 or -ENOMEM. */
int why_push(struct why_search *search, const struct trace_task *task, uint64_t from, uint64_t to,
	     struct chain chain, int type, unsigned evidence, const struct clew_sleep *waited);

/*
 * why_end.c: tries to explain a wait that nothing ends by the task that has the
 * other end. *ret_found: a frame for it was pushed. *ret_cycle: that task waits
 * for this one, so that neither goes on. 0 or -ENOMEM.
 */
int why_follow_end(struct why_search *search, const struct clew_sleep *sleep,
		   const struct why_cause *cause, uint64_t from, bool *ret_found, bool *ret_cycle);

/*
 * why_job.c: explains a part of the time of the logical span that the top frame is of. 0 or
 * -ENOMEM.
 */
int why_explain_job(struct why_search *search);
/* Tries to explain a wait by the span that its object joins it to. The same results. */
int why_follow_job(struct why_search *search, const struct clew_sleep *sleep,
		   struct why_cause *cause, uint64_t from, bool *ret_found);
/* Pushes a frame of a span's time. 0 or -ENOMEM. */
int why_push_job(struct why_search *search, uint32_t job, uint64_t from, uint64_t to,
		 struct chain chain, int type, unsigned evidence, const struct clew_sleep *waited);
/* The span whose time an operation is, CLEW_NO_NUMBER: it is that of its thread. */
uint32_t why_job_of(const struct clew_relations *relations, const struct clew_operation *operation);
/* Pushes a frame for what comes before a span begins: the time of who submitted it, else of
 * `asked`. *from moves to where the span's own time begins. 0 or -ENOMEM. */
int why_push_before_job(struct why_search *search, const struct trace_task *asked, uint32_t job,
			uint64_t *from, uint64_t to);
int why_add_segment(struct why_search *search, struct clew_segment segment);
struct clew_segment why_segment_of(const struct frame *frame, uint64_t start, uint64_t end,
				   unsigned kind);

/*
 * why_unanswered.c: tries to explain a part of an attempt to connect that nothing answers.
 * *ret_found: a frame for the task that accepts there was pushed; else `cause` is refined. 0 or
 * -ENOMEM.
 */
int why_follow_unanswered(struct why_search *search, const struct clew_sleep *sleep,
			  struct why_cause *cause, uint64_t from, bool *ret_found);

/* A search that answers many questions about one trace. 0 or -ENOMEM. */
int why_search_new(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct why_search **ret_search);
void why_search_free(struct why_search *search);
/*
 * The sleep of the upper activity's task that `why` explains by the lower
 * activity at the end of that; NULL: it does not wait for it then. 0 or
 * -ENOMEM.
 */
int why_search_waiter(struct why_search *search, const struct clew_relation *relation,
		      const struct clew_sleep **ret_sleep);

#endif
