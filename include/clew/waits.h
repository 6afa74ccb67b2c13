/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The waits and dependencies of a capture, as `clew waits` and `clew edges` list them. An index
 * counts from 0 in order of time.
 */
#ifndef CLEW_WAITS_H
#define CLEW_WAITS_H

#include <clew/capture.h>
#include <stdbool.h>

/* Why a wait is not whole: the capture lacks its start, or its end. */
enum clew_waits_open {
	CLEW_WAITS_WHOLE,
	CLEW_WAITS_NO_START = 1,
	CLEW_WAITS_NO_END = 2,
};

struct clew_waits_wait {
	uint64_t start;
	uint64_t end;	   /* UINT64_MAX: not in the capture */
	uint64_t ready_ns; /* how long its thread was ready then, before it ran */
	uint32_t task;
	uint32_t ended_by; /* the task that ended it; 0: an event did, or it is unknown */
	uint32_t holder;   /* who held the lock for most of it; 0: none is known */
	uint8_t kind;	   /* enum clew_wait_kind */
	int8_t type;	   /* enum clew_edge_type of what ended it; -1 unknown */
	uint8_t evidence;  /* enum clew_evidence of that */
	uint8_t open;	   /* enum clew_waits_open */
	bool idle;  /* `clew waits` leaves it out: for work, or because its program chose to */
	bool blind; /* records were lost: what ended it may be wrong or missing */
	const char *call; /* name of the system call; NULL: none */
};

size_t clew_waits_count(const struct clew_capture *capture);
/* -ENOENT: there are not so many. */
int clew_waits_at(const struct clew_capture *capture, size_t index,
		  struct clew_waits_wait *ret_wait);
/*
 * The object of the wait, in words: "futex orders_lock", "/data/log". Safe for a terminal, to be
 * freed. NULL: it has no object, or there is no memory.
 */
char *clew_waits_object(const struct clew_capture *capture, size_t index);

/* One dependency: what `from` did let `to` go on. */
struct clew_waits_edge {
	uint64_t from_at;
	uint64_t to_at;
	uint32_t from;
	uint32_t to;
	uint8_t type;	  /* enum clew_edge_type */
	uint8_t evidence; /* enum clew_evidence */
	bool ends_wait;
};

/* Their number; 0 also where memory is short. A release that woke several is an edge for
 * each.
 */
size_t clew_waits_edge_count(const struct clew_capture *capture);
/* -ENOENT: there are not so many. */
int clew_waits_edge_at(const struct clew_capture *capture, size_t index,
		       struct clew_waits_edge *ret_edge);
/* The object that it goes through; as clew_waits_object(). */
char *clew_waits_edge_object(const struct clew_capture *capture, size_t index);

#endif
