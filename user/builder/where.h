/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places that running tasks run in, see where.c.
 */
#ifndef CLEW_BUILDER_WHERE_H
#define CLEW_BUILDER_WHERE_H

#include <clew/kernel/records.h>
#include <stdbool.h>
#include <stdint.h>

struct clew_builder;
struct task;

/* The last moment at which it is known what a task was in. */
struct where_point {
	uint64_t at;	   /* 0: not known */
	uint32_t identity; /* as clew_where, 0 none */
	uint16_t call;	   /* CLEW_NO_CALL in none */
	bool left;	   /* it left the CPU there */
	bool stayed;	   /* it was not in user mode since it came on the CPU before */
};

/* The state of a task. */
struct where_state {
	struct where_point point;
	uint64_t resumed;    /* when it first came on a CPU after `counted_at`, 0 not yet */
	uint64_t counted_at; /* when its page faults were counted last, 0 never */
	uint32_t faults;     /* how many were over then, modulo 2^32 */
	uint32_t yields;     /* how often it gave up its CPU since `yielding` */
	uint64_t yielding,
		yielded; /* the run with the first of them began, that with the last ended */
};

int build_feed_where(struct clew_builder *builder, const struct clew_where *record);
/* The task leaves its CPU now, by this record. */
int build_where_leave(struct clew_builder *builder, struct task *task,
		      const struct clew_switch *record);
/* The task comes on a CPU now. */
void build_where_enter(struct clew_builder *builder, struct task *task);
/* Something about the task was lost. */
void build_where_lost(struct task *task);
/* Emits what is kept back of the task. */
int build_where_flush(struct clew_builder *builder, struct task *task);

#endif
