/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder: records in, tasks, runs, waits and edges out.
 *
 * It is a push interface: feed records in order of time, from a file or live;
 * each finding goes to the sink as soon as it is certain. State is bounded: per
 * task, per CPU and per futex that somebody waits for.
 */
#ifndef CLEW_BUILD_H
#define CLEW_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/records.h>
#include <clew/tokens.h>

#define CLEW_TIME_OPEN UINT64_MAX /* an end that the capture does not contain */
#define CLEW_NO_TASK   0u

enum clew_open {
	CLEW_OPEN_NONE = 0,
	CLEW_OPEN_START = 1,
	CLEW_OPEN_END = 2,
	CLEW_OPEN_BOTH = 3,
};

/* An object as the records give it; identities are looked up by the trace. */
struct clew_object {
	uint64_t number;
	uint32_t device;
	int32_t descriptor;
	uint8_t kind;		 /* enum clew_object_kind */
	uint8_t futex_operation; /* raw, low 8 bits */
	bool shared;		 /* futex: not private */
};

struct clew_holder {
	uint32_t task;
	uint8_t evidence; /* enum clew_evidence */
	bool barged;
	uint64_t from;
	uint64_t to;
};

/* A stretch of a task on a CPU; of serial 0, the CPU was idle. */
enum clew_run_end { CLEW_RUN_SLEPT, CLEW_RUN_PREEMPTED, CLEW_RUN_YIELDED, CLEW_RUN_EXITED, CLEW_RUN_OPEN, CLEW_RUN_LOST };
struct clew_run {
	uint64_t start;
	uint64_t end;
	uint32_t task;
	uint16_t cpu;
	uint8_t ended;	 /* enum clew_run_end */
	bool open_start; /* ran already when the capture began */
};

/*
 * One sleep. `end` is the wake, clamped to `start`; CLEW_TIME_OPEN while the
 * capture does not contain it. `switch_in` is when the task next ran.
 */
struct clew_sleep {
	uint64_t start;
	uint64_t end;
	uint64_t raw_end;   /* the wake as stamped, 0 none */
	uint64_t switch_in; /* CLEW_TIME_OPEN: not in the capture */
	uint32_t task;
	uint32_t ended_by; /* the task that caused the wake, CLEW_NO_TASK none or unknown */
	uint32_t call_id;  /* the same for all waits in one call of this task */
	uint16_t call;	   /* CLEW_NO_CALL none */
	uint8_t kind;	   /* enum clew_wait_kind */
	uint8_t context;   /* enum clew_wake_context */
	uint8_t open;	   /* enum clew_open */
	uint8_t flags;	   /* CLEW_WAIT_FLAG_* */
	int8_t edge_type;  /* enum clew_edge_type of the edge that ended it, -1 none */
	uint8_t edge_evidence;
	bool blind;	   /* touched by a loss: what ended it may be wrong or missing */
	uint8_t operation; /* enum clew_wake_operation of the wake */
	uint16_t poller;   /* of a wait in epoll: the same for all on one instance; 0 none */
	struct clew_object object;
	const struct clew_holder *holders; /* the builder's; valid during the call */
	uint32_t holder_count;
	uint32_t number; /* sleeps in the order they began, from 0; a few numbers stay unused */
};

/* Ready, but off the CPU without a sleep before it: preempted, yielded or new. */
struct clew_ready {
	uint64_t start;
	uint64_t end; /* CLEW_TIME_OPEN: not in the capture */
	uint32_t task;
};

struct clew_edge {
	uint64_t from_at; /* raw time of the cause */
	uint64_t to_at;
	uint32_t from;
	uint32_t to;
	uint8_t type;	   /* enum clew_edge_type */
	uint8_t evidence;  /* enum clew_evidence */
	uint8_t context;   /* enum clew_wake_context */
	uint8_t operation; /* enum clew_wake_operation: wakes of one WAKE_MANY are one edge with several destinations */
	bool ends_sleep;   /* a sleep of `to` says the same in its edge_type, ended_by, end and raw_end */
	struct clew_object object;
	char from_comm[CLEW_COMM_SIZE]; /* name of `from` at that moment */
	char to_comm[CLEW_COMM_SIZE];
};

/*
 * Where findings go. Any function may be NULL. A negative return stops the
 * builder, which returns it. Records of identity (TASK, FILE, SOCKET, CGROUP,
 * TEXT, RENAME, FORK, EXEC, EXIT, GAP) are passed on as they came.
 */
struct clew_sink {
	void *context;
	int (*identity)(void *context, const struct clew_header *record);
	int (*run)(void *context, const struct clew_run *run);
	int (*sleep)(void *context, const struct clew_sleep *sleep);
	int (*ready)(void *context, const struct clew_ready *ready);
	int (*edge)(void *context, const struct clew_edge *edge);
};

struct clew_builder;

struct clew_builder_options {
	size_t size;	     /* sizeof(struct clew_builder_options) */
	uint64_t start;	     /* ns: when recording was enabled */
	uint32_t drop_types; /* bit mask of edge types to treat as never seen (their sleeps end unexplained) */
};

int clew_builder_new(const struct clew_builder_options *options, const struct clew_sink *sink, struct clew_builder **ret_builder);

/* Takes one record; they come in order of time. */
int clew_builder_feed(struct clew_builder *builder, const struct clew_header *record);

/* Nothing more will come: what is open is marked so and sent. `end`: when recording was disabled. */
int clew_builder_finish(struct clew_builder *builder, uint64_t end);

/* Bytes held now, and how many tasks they are for. */
size_t clew_builder_memory(const struct clew_builder *builder, size_t *ret_tasks);

void clew_builder_free(struct clew_builder *builder);

/* The wait kind that a wait record proves. `state`: clew_switch.prev_state. */
enum clew_wait_kind clew_classify_wait(const struct clew_wait *wait, unsigned state);

#endif
