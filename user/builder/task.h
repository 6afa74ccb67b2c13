/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks that the builder knows: by serial, by their tids, and by the memory that they
 * share.
 *
 * The time of a task is handed out once. `frontier` is the moment up to which its
 * runs, sleeps and ready intervals have been emitted, or given up as unknown. Nothing
 * that begins before it is emitted any more.
 */
#ifndef CLEW_BUILDER_TASK_H
#define CLEW_BUILDER_TASK_H

#include "base/map.h"
#include "builder/findings.h"
#include "builder/wake.h"
#include "builder/where.h"

/* ns: how long a dead task is kept, so that the tasks it woke can name it. */
#define BUILD_DEAD_GRACE 1000000000ull

/* The serial of a task that ran but could not be identified. */
#define BUILD_UNKNOWN_TASK UINT32_MAX

enum task_state {
	TASK_UNSEEN,  /* no record gave its state yet */
	TASK_UNKNOWN, /* something about it was lost */
	TASK_RUNNING,
	TASK_READY,
	TASK_SLEEPING,
	TASK_DEAD,
};

struct clew_builder;
struct futex_wait;
struct worker;
struct ring_wait;
struct flush;
struct frame_stack;

struct task {
	uint32_t serial;
	uint8_t state;	 /* enum task_state */
	bool found;	 /* the state comes from a STATE record and may prove wrong */
	bool open_start; /* the state held when the capture began */
	bool switched;	 /* a SWITCH record named it */
	bool forked;	 /* it was made during the capture */
	bool has_wait;
	bool throttled; /* its sleep is none: its group's quota, or its own runtime, was used up */
	bool kworker;
	bool stop_woken; /* stop_wake holds a wake whose switch-in the capture lacks */
	uint16_t cpu;
	uint16_t sleep_state;
	uint32_t call_id;
	uint64_t number; /* of the sleep it is in */
	uint64_t since;
	uint64_t refilled;    /* throttled: when a refill first left enough for all tasks of its
				 group, 0 not yet */
	uint64_t switched_in; /* when it last came on a CPU, or later, 0 unknown */
	uint64_t frontier;
	uint64_t released_at; /* raw time of the unlock that ended its last sleep, 0 none */
	uint64_t taking;      /* ns that it has to run since then to have taken the lock, 0 none */
	uint64_t resumed;     /* when it last came on a CPU after a sleep, or for the first time */
	uint64_t call_run;    /* `resumed` at the first sleep of the current call: the call began
				 after it, but the task may have been preempted since */
	uint64_t slept_from;  /* begin of its last sleep that is over, 0 unknown */
	uint64_t slept_until; /* and its wake */
	struct futex_wait *futex_wait;
	struct worker *worker;	     /* NULL: it never began a work item */
	struct ring_wait *ring_wait; /* an ended sleep that is kept back */
	uint64_t ring_submitted;     /* when it last submitted a request to a ring */
	struct flush *flush;	     /* NULL: it never wrote back or synced */
	struct frame_stack *frames;  /* NULL: it was in no traced function */
	struct clew_link *ended;     /* its requests that ended during the current call's sleeps */
	uint32_t ended_count, ended_capacity;
	struct clew_wait wait;
	struct where_state where;

	uint32_t process;
	uint32_t pid_namespace;
	uint32_t tid;			      /* in its own pid namespace */
	struct task *tid_next, *tid_previous; /* others that live and have the same */
	uint32_t memory_record;		      /* clew_task_record.memory */
	uint32_t memory;		      /* a number for its memory as of now, 0 unknown */
	uint32_t global_tid;
	uint64_t start_time;
	char comm[CLEW_COMM_SIZE];

	struct wake stop_wake;
	struct task *next; /* in the free list, or in the queue of the dead */
};

/* Tasks by serial: pages of pointers, freed with their last task. */
#define TASK_PAGE_BITS 10
#define TASK_PAGE_MASK ((1u << TASK_PAGE_BITS) - 1)
struct task_page {
	unsigned used;
	struct task *tasks[1 << TASK_PAGE_BITS];
};

struct task_table {
	struct task_page **pages;
	size_t page_count;
	size_t count;
	size_t pages_used;
	struct task *free;
	size_t free_count;
	struct task *dead_first, *dead_last; /* in order of death; `since` is when */
	struct map tids;     /* tid in any pid namespace -> serial of a living task that has it
				in its own */
	struct map memories; /* clew_task_record.memory -> number of living tasks << 32 | what
				task.memory of each is */
	uint32_t last_memory;
	struct map global_tids; /* tid in the initial namespace -> serial of the living task */
};

/* A serial that names no task: the idle task's, or that of one that could not be identified. */
static inline bool build_nobody(uint32_t serial)
{
	return serial == CLEW_NO_TASK || serial == BUILD_UNKNOWN_TASK;
}

/* ---- tasks.c ---- */

/* NULL: never seen, or forgotten. */
struct task *build_task_find(const struct clew_builder *builder, uint32_t serial);
/* Finds or makes it; NULL: no memory, or the serial names no task. */
struct task *build_task_get(struct clew_builder *builder, uint32_t serial);
int build_task_identity(struct clew_builder *builder, const struct clew_task_record *record);
void build_task_dead(struct clew_builder *builder, struct task *task);
/* The tasks among which the tid in a futex word is looked up. */
enum tid_scope {
	TID_OF_MEMORY, /* tasks that share the waiter's memory */
	TID_OF_KERNEL, /* tasks of the waiter's pid namespace, as in the kernel's own look-up */
	TID_OF_ANY,
};

/*
 * The living task that wrote its tid, as it is in that task's own pid namespace, into a
 * word that `waiter` waits for; CLEW_NO_TASK: none, or it may be one of several.
 */
uint32_t build_task_resolve(const struct clew_builder *builder, const struct task *waiter,
			    uint32_t tid, enum tid_scope scope);
/* A number that is the same for all tasks that share their memory. */
uint32_t build_task_memory(const struct clew_builder *builder, const struct task *task);
/* The number of living tasks that share the memory of a task, 1 at least. */
unsigned build_task_threads(const struct clew_builder *builder, uint32_t serial);
/* The living task of a tid in the initial namespace. */
uint32_t build_task_by_tid(const struct clew_builder *builder, uint32_t tid);
size_t build_tasks_memory(const struct clew_builder *builder);

/* ---- forget.c ---- */

/* Frees the tasks that died before a moment, and what other files keep for them. */
void build_task_forget_dead(struct clew_builder *builder, uint64_t before);
void build_tasks_done(struct clew_builder *builder);

#endif
