/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks that were waited for: what each cost, who held it meanwhile and what the holder did with
 * it, in which order it was handed over, and what went wrong with it.
 *
 * Only the part of a hold in which somebody waited can be seen. Times are ns, CLOCK_MONOTONIC, and
 * lie in the interval that was asked for; tasks are serials.
 */
#ifndef CLEW_EXPLAIN_LOCKS_H
#define CLEW_EXPLAIN_LOCKS_H

#include "explain/chosen.h"
#include "explain/why.h"
#include "trace/wait_key.h"

/* A wait for a lock: asleep, or spinning on a CPU; one of `sleep` and `spin` is not NULL. */
struct clew_lock_wait {
	uint64_t from;
	uint64_t to;
	const struct clew_sleep *sleep;
	const struct clew_spin *spin;
	uint32_t task;
};

/* A part of a hold in which somebody waited. */
struct clew_lock_hold {
	uint64_t from;
	uint64_t to;
	uint32_t task;
	uint8_t evidence; /* enum clew_evidence */
	bool barged;	  /* it took the lock although another waiter had been woken for it */
	bool coming; /* it had been woken for the lock, which nobody is known to have held, and had
			no CPU yet */
};

/* Why a holder kept the lock: time of the task itself, or of the one that it waited for. */
struct clew_lock_doing {
	uint64_t ns;
	struct clew_segment segment; /* the longest one, without its chain */
	uint32_t function;	     /* number; CLEW_NO_NUMBER: in no traced one */
	const char *words; /* the segment in words; NULL: they are to be made of it. The owner of
			      the trace that it was found in has them. */
};

/* All holds of one task. */
struct clew_lock_holder {
	uint32_t task;
	uint8_t evidence;    /* of most of its time */
	uint64_t first;	     /* when its first hold began */
	uint64_t held_ns;    /* while somebody waited */
	uint64_t max_ns;     /* its longest hold */
	uint64_t coming_ns;  /* woken for it, without a CPU */
	uint64_t unknown_ns; /* of `held_ns`, what it did is not known */
	size_t holds;
	size_t barged;
	struct clew_lock_doing *doing; /* longest first; clew_lock_explain() makes them */
	size_t doing_count;
};

/* The lock went from one task to another. */
struct clew_lock_handover {
	uint64_t at; /* ns, when the first one let go */
	uint32_t from;
	uint32_t to;
	uint8_t evidence;
	bool barged; /* `to` was not the one that had been woken for it */
};

/* A task waited for a holder of lower priority, which one of a priority between them kept from
 * running. */
struct clew_lock_inversion {
	uint64_t ns;
	uint64_t at; /* when it began for the first time */
	uint32_t waiter;
	uint32_t holder;
	uint32_t by;
};

struct clew_contended {
	struct clew_wait_key key;
	struct clew_lock_wait *waits; /* in order of `from` */
	size_t wait_count;
	size_t longest;	     /* index of the longest wait */
	size_t waiters;	     /* tasks */
	size_t most_at_once; /* tasks that waited at one moment */
	uint64_t wait_ns;    /* of all waits together */
	uint64_t max_wait_ns;
	uint64_t contended_ns;	      /* somebody waited */
	uint64_t unheld_ns;	      /* of these, no holder is known */
	struct clew_lock_hold *holds; /* in order of `from` */
	size_t hold_count;
	struct clew_lock_holder *holders; /* longest first */
	size_t holder_count;
	struct clew_lock_handover *handovers; /* in order of `at` */
	size_t handover_count;
	size_t barged;	      /* takes before the one that had been woken for it */
	size_t convoys;	      /* see locks_order.c */
	size_t convoy_length; /* handovers of the longest one */
	struct clew_lock_inversion *inversions; /* longest first; clew_lock_explain() makes them */
	size_t inversion_count;
};

/* One task of a circle: it waited for `lock`, which the next one held. */
struct clew_lock_step {
	uint32_t task;
	size_t lock; /* index */
};

struct clew_lock_cycle {
	struct clew_lock_step *steps;
	size_t count;
	uint64_t from; /* the circle was closed */
	uint64_t to;
	uint8_t evidence; /* the weakest of its holders' */
};

struct clew_locks {
	struct clew_contended *locks; /* most `wait_ns` first */
	size_t count;
	struct clew_lock_cycle *cycles; /* in order of `from` */
	size_t cycle_count;
};

/*
 * Finds the locks that the chosen tasks waited for in from..to. Free the result with
 * clew_locks_done(). 0 or -ENOMEM.
 */
int clew_locks_make(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, struct clew_locks *ret_locks);
void clew_locks_done(struct clew_locks *locks);

/* Waits that may be for locks. */
struct clew_lock_waiting {
	const struct clew_sleep *sleeps;
	size_t sleep_count;
	const struct clew_spin *spins;
	size_t spin_count;
};
bool clew_may_be_lock(const struct clew_sleep *sleep);
/* All sleeps and spins of a trace. */
struct clew_lock_waiting clew_lock_waiting_of(const struct clew_trace *trace);
/* The same, from waits that outlive the result; `trace` has only the names. */
int clew_locks_make_of(const struct clew_trace *trace, const struct clew_lock_waiting *waiting,
		       const struct clew_chosen *chosen, uint64_t from, uint64_t to,
		       struct clew_locks *ret_locks);

/* Follows what the holders of a lock did. `relations`: as for clew_why_explain(). 0 or -ENOMEM. */
int clew_lock_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		      struct clew_contended *lock);
/*
 * Adds what the holders of a lock did in some of its holds; these come in order of time.
 * `part` has explained holders and inversions; `arena` gets copies of what is kept of them. 0 or
 * -ENOMEM.
 */
struct arena;
int clew_lock_explain_more(const struct clew_trace *trace, const struct clew_contended *part,
			   struct clew_contended *lock, struct arena *arena);
/* Puts it in order once all is added. */
void clew_lock_explain_end(struct clew_contended *lock);

#endif
