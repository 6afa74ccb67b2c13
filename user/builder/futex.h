/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks that somebody waits for: futexes that have holders, the kernel's own locks,
 * and locks on files. All are called futex here.
 */
#ifndef CLEW_BUILDER_FUTEX_H
#define CLEW_BUILDER_FUTEX_H

#include "base/map.h"
#include "builder/findings.h"

struct clew_builder;
struct task;
struct wake;

/* ns: how long a decision is put off that later records may still change. */
#define BUILD_GRACE 100000000ull
/* The most sleeps that are put off at once, and the most shared futexes that are remembered without
 * waiters. */
#define BUILD_PENDING_MAX 65536u
#define BUILD_ALIAS_MAX	  4096u
/* ns: how long such a futex is remembered; and how many of its releases. */
#define BUILD_ALIAS_GRACE 1000000000ull
#define BUILD_ALIAS_LOG	  64u
/* ns: a woken waiter that has run for that long has taken the futex by then, or that has come back
 * so often. */
#define BUILD_TAKING 50000
#define BUILD_BACK   4u
/* ns: from a waiter's last look at the word to its sleep. */
#define BUILD_FALLING_ASLEEP 20000
/* The last tasks that a futex woke while it was not known to be a lock. */
#define BUILD_WOKEN_LATELY 4u

/* A release of a futex: `releaser` held it up to `at` and woke `woken`. */
struct release {
	uint64_t at;
	uint64_t ran_at;   /* when `woken` could take it: it came on a CPU, or the wake itself
			      handed it over; CLEW_TIME_OPEN not in the capture */
	uint64_t earliest; /* `woken` cannot have come before; less than `ran_at` if the switch was
			      hidden */
	uint64_t left_at;  /* when `woken` left that CPU, 0 it did not yet */
	uint64_t back_at[BUILD_BACK]; /* when it came back, after runs too short to take the futex;
					 0 */
	uint64_t again;		      /* when `woken` slept on the futex again, 0 it did not */
	uint32_t releaser;
	uint32_t woken;
	uint32_t owner; /* task that held the futex at `again` */
	bool many;	/* one of several wakes of one call */
	bool timed;	/* `woken` may have given up instead, without another sleep */
};

/* A task that began to sleep for a futex at `at`: somebody held it then, and the release is no
 * longer one without a wake. */
struct attempt {
	uint64_t at;
	uint64_t ran_at; /* when the task had come on its CPU */
	uint32_t task;
	uint32_t owner; /* that was read, or CLEW_NO_TASK */
};

struct futex_log {
	void *entries; /* in order of `at` */
	size_t first, count, capacity;
};

struct futex_key {
	uint32_t memory; /* as build_task_memory() says; CLEW_NO_TASK: the kernel's */
	uint64_t address;
	struct futex_key *next;
};

struct wait_list {
	struct futex_wait *first, *last;
};

/* `active` waits are in order of start. `pending` waits have ended, but their holders may still
 * change. */
struct futex {
	struct futex_key *keys;
	unsigned key_count;
	struct wait_list active, pending;
	struct futex_log releases, attempts;
	size_t prune_at;			 /* that many entries in both */
	struct futex *idle_next, *idle_previous; /* in the list of those without waiters */
	uint64_t idle_since;
	uint32_t woken[BUILD_WOKEN_LATELY]; /* the latest first */
	uint64_t woken_at;		    /* when the first of those was woken */
	uint8_t class; /* enum clew_futex_class by which later waits for it are recognised */
	bool idle;
	bool shared;
	bool lock; /* its owner, or a task that was woken for it, was seen to release it; else it
		      only looks like a lock */
};

struct futex_wait {
	struct futex *futex;
	uint32_t owner;	  /* task that held it at `read_at`, or CLEW_NO_TASK */
	uint32_t process; /* main thread of the process that held it, where only that is known; or
			     CLEW_NO_TASK */
	bool on_file;
	bool threads; /* `process` has other threads */
	bool ended;
	bool sure; /* a task that releases it is known to have held it */
	bool word; /* a futex: a woken task holds it once it runs. A task woken for a kernel lock
		      may go on waiting without a sleep. */
	uint64_t start;
	uint64_t ran_at; /* as of an attempt */
	uint64_t read_at;
	uint64_t deadline;
	struct clew_sleep sleep;			/* when ended */
	struct clew_link *links;			/* the sleep's */
	struct futex_wait *next, *previous;		/* in its futex's list */
	struct futex_wait *queue_next, *queue_previous; /* in the queue of the pending */
};

struct futex_table {
	struct map keys; /* (address, memory) -> struct futex * */
	struct futex *free_futexes;
	struct futex_wait *free_waits;
	struct futex_wait *queue_first, *queue_last; /* pending, in order of deadline */
	size_t pending;
	struct futex *idle_first, *idle_last;
	size_t idle_count;
	size_t memory;
	struct clew_holder *holders; /* for one sleep at a time */
	size_t holder_capacity;
};

/* True if a task that releases what a wait is for is known to have held it: for a kernel lock only
 * if the lock stores its owner. */
static inline bool build_owner_known(const struct clew_wait *wait)
{
	return wait->reason == CLEW_REASON_LOCK &&
	       (wait->lock_type & (CLEW_LOCK_MUTEX | CLEW_LOCK_RT) ||
		(!(wait->lock_type & CLEW_LOCK_PERCPU) && wait->lock_owner));
}

/* ---- futex.c ---- */

/* A task begins to wait; nothing happens if it is not for a lock. */
int build_futex_wait(struct clew_builder *builder, struct task *task);
/* A task that a release woke leaves a CPU, or comes back on one. `took`: it has the futex for
 * certain. */
void build_futex_left(struct clew_builder *builder, struct task *task, bool took);
void build_futex_back(struct clew_builder *builder, struct task *task);
/* The task was not asleep after all. */
void build_futex_cancel(struct clew_builder *builder, struct task *task);
/* The task's wait, which build_futex_wait() noted, has ended. */
int build_futex_ended(struct clew_builder *builder, struct task *task,
		      const struct clew_sleep *sleep, const struct wake *wake);
/*
 * False if the task waits for a word that nothing but its value makes look like a lock,
 * and neither this wake of the task nor what was seen before proves that it is one.
 */
bool build_futex_is_lock(const struct task *task, const struct wake *wake);
/* Emits the sleeps that were put off long enough, or all. */
int build_futex_expire(struct clew_builder *builder, uint64_t now, bool all);

/* ---- holders.c ---- */

/*
 * Finds the holders during an ended wait, in order, and leaves them in the table's
 * `holders`. Returns their number or -ENOMEM.
 */
int build_find_holders(struct clew_builder *builder, const struct futex_wait *wait);

/* ---- futex_table.c ---- */

void futex_list_remove(struct wait_list *list, struct futex_wait *wait);
/* After `place`; NULL: first. */
void futex_list_insert(struct wait_list *list, struct futex_wait *place, struct futex_wait *wait);
/* Adds a wait to the active ones, in order of start. */
void futex_add_active(struct futex *futex, struct futex_wait *wait);

/* NULL: nobody waits for it, or did shortly before. */
struct futex *futex_find(struct futex_table *table, uint32_t memory, uint64_t address,
			 uint64_t now);
/* NULL: no memory. */
struct futex *futex_new(struct futex_table *table, uint32_t memory, uint64_t address);
/* Somebody waits for it again. */
void futex_not_idle(struct futex_table *table, struct futex *futex);
/*
 * Forgets a futex that nobody waits for. One that is known to be a lock is remembered as
 * such for a while, a shared one also with its last releases: a waiter under another
 * address may prove to wait for the same word.
 */
void futex_retire(struct futex_table *table, struct futex *futex, uint64_t now);
/* Notes that an address in a memory is this futex, too. */
int futex_join(struct futex_table *table, struct futex *futex, uint32_t memory, uint64_t address,
	       uint64_t now);

void build_futexes_done(struct clew_builder *builder);
size_t build_futexes_memory(const struct clew_builder *builder);

/* ---- futex_log.c ---- */

int futex_release_add(struct futex_table *table, struct futex *futex,
		      const struct release *release);
int futex_attempt_add(struct futex_table *table, struct futex *futex,
		      const struct attempt *attempt);
/* The first one after a moment. */
struct release *futex_release_after(const struct futex *futex, uint64_t moment);
const struct attempt *futex_attempt_after(const struct futex *futex, uint64_t moment);
/* Keeps the last ones. */
void futex_logs_trim(struct futex *futex, size_t kept);
/* Forgets all; memory for up to `most` is kept for the next futex. */
void futex_logs_reset(struct futex_table *table, struct futex *futex, size_t most);
/* Adds those of another futex. */
int futex_logs_join(struct futex_table *table, struct futex *futex, const struct futex *other);

/* A log that is empty may have no memory. NULL plus a number is undefined, even plus 0. */
static inline struct release *futex_releases(const struct futex *futex)
{
	const struct futex_log *log = &futex->releases;

	return log->entries ? (struct release *)log->entries + log->first : NULL;
}

static inline struct release *futex_releases_end(const struct futex *futex)
{
	return futex->releases.entries ? futex_releases(futex) + futex->releases.count : NULL;
}

static inline const struct attempt *futex_attempts(const struct futex *futex)
{
	const struct futex_log *log = &futex->attempts;

	return log->entries ? (const struct attempt *)log->entries + log->first : NULL;
}

static inline const struct attempt *futex_attempts_end(const struct futex *futex)
{
	return futex->attempts.entries ? futex_attempts(futex) + futex->attempts.count : NULL;
}

#endif
