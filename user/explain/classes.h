/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations by kind, and classes of those that can be compared.
 *
 * Every nanosecond of a thread that is no wait for work and no rest is in an operation, also
 * before its first such wait and after its last one. A client's request lies within an operation
 * of its thread, and begins when its question left. A process that ended is a command besides.
 * Works of runtimes are operations as logical spans, in whatever threads they ran: work of these
 * threads counts as far as it is in none of them.
 */
#ifndef CLEW_EXPLAIN_CLASSES_H
#define CLEW_EXPLAIN_CLASSES_H

#include "base/vector.h"
#include "explain/chosen.h"
#include "explain/why.h"

enum clew_operation_kind {
	CLEW_OPERATION_REQUEST,	 /* a client's, from its question until its answer */
	CLEW_OPERATION_SERVED,	 /* a server's, from the question until its answer */
	CLEW_OPERATION_PIPELINE, /* several questions that were open at once, at either end */
	CLEW_OPERATION_CONNECT,
	CLEW_OPERATION_WORK,	/* between two waits for work, or rests */
	CLEW_OPERATION_START,	/* until a thread's first wait for work */
	CLEW_OPERATION_COMMAND, /* from exec, or fork, to exit */
	CLEW_OPERATION_SPAN,	/* a logical span, from its submit to its end */
	CLEW_OPERATION_KINDS,
};

/* "request", "served", ..; for --class and JSON. */
const char *clew_operation_kind_name(enum clew_operation_kind kind);
/* CLEW_OPERATION_KINDS: there is no such word. */
enum clew_operation_kind clew_operation_kind_of(const char *name);

struct clew_kind_operation {
	struct clew_operation operation;
	const struct clew_sleep *by; /* the wait for the answer, or for the work; NULL none */
	/* The messages of the request; NULL: it is known from what threads waited for. */
	const struct clew_exchange *exchange;
	uint64_t inner_ns; /* of the requests within it */
	/* By its own choice, of work behind a sleep in the same call; of a span, until the network
	   or a timer resumed it; or in the spans that ran in the thread. */
	uint64_t slept_ns;
	uint32_t class;	   /* index */
	uint32_t inner;	   /* requests of the same thread within it */
	uint8_t kind;	   /* enum clew_operation_kind */
	bool begun_before; /* it was under way when the recording began */
	bool goes_on;	   /* .. or ended */
};

/* Operations of one kind, program and endpoint. Lengths are without `slept_ns` where that is more
 * than half. */
struct clew_operation_class {
	uint32_t program; /* a process of it */
	uint8_t kind;
	bool messages;	     /* all of its requests are known, from messages */
	bool throughout;     /* the longest one was under way before and behind the recording */
	size_t first, count; /* in the list of operations, longest first */
	uint64_t p50, p99, sum, longest;
	uint64_t usual; /* what is usual of one; 0: there are too few to say */
	uint64_t own;	/* the sum without what has classes of its own */
	uint64_t hurts; /* .. beyond what is usual */
};

struct clew_operation_classes {
	struct vector all;			/* struct clew_kind_operation */
	struct clew_kind_operation *operations; /* its elements, by class */
	struct clew_operation_class *classes;	/* the one that hurts most first */
	size_t operation_count, class_count;
};

/* True if an operation is seen from the server's end. */
static inline bool clew_operation_serves(const struct clew_kind_operation *operation)
{
	return operation->exchange ? !operation->exchange->client
				   : operation->kind == CLEW_OPERATION_SERVED;
}

/* The connection of a request, or what the wait before the operation was for. */
struct clew_object clew_operation_object(const struct clew_kind_operation *operation);
/* The task at the other end, or that ended that wait; CLEW_NO_TASK: unknown. */
uint32_t clew_operation_other(const struct clew_kind_operation *operation);
/* A number that is the same for operations of one class, in all traces. */
uint64_t clew_operation_class_key(const struct clew_trace *trace,
				  const struct clew_kind_operation *operation);
/* The operations of the chosen tasks that overlap from..to, ns. 0 or -ENOMEM. */
int clew_classes_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		      uint64_t from, uint64_t to, struct clew_operation_classes *ret_found);
/*
 * The longest operations of the class that hurts most, at most `limit`. The array is the caller's
 * to free. 0 or -ENOMEM.
 */
int clew_classes_slowest(const struct clew_trace *trace, const struct clew_chosen *chosen,
			 uint64_t from, uint64_t to, size_t limit,
			 struct clew_operation **ret_operations, size_t *ret_count);
/* The same of a class, by its index. NULL: no memory. */
struct clew_operation *clew_class_longest(const struct clew_operation_classes *found, size_t class,
					  size_t limit, size_t *ret_count);
/* The operation that an interval overlaps most, the shortest one of these; NULL: none. */
const struct clew_kind_operation *clew_classes_at(const struct clew_operation_classes *found,
						  uint64_t from, uint64_t to);
void clew_classes_done(struct clew_operation_classes *found);

#endif
