/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The operations of one class of a capture, or its announced calls of one name, one by one. */
#ifndef CLEW_COMPARE_TIMED_H
#define CLEW_COMPARE_TIMED_H

#include "base/vector.h"
#include "explain/chosen.h"
#include "relate/relate.h"

/* ns, CLOCK_MONOTONIC. */
struct timed_operation {
	uint64_t from, to;
	uint32_t tid;
};

struct timed {
	struct vector all; /* struct timed_operation, whole ones */
	char *name;	   /* of the class that was taken, or of the calls; NULL: none fits */
	char *others; /* up to three names that fit, too, and have less time; NULL: none does */
};

/* Takes of the classes that a glob or words name the one with most time. timed_done() in any case.
 * 0 or -ENOMEM. */
int timed_find_class(const struct clew_trace *trace, const struct clew_chosen *chosen,
		     const char *words, struct timed *ret_timed);
/* The same of calls, by "kv.get", "get" or the interface "kv". */
int timed_find_calls(const struct clew_relations *relations, const struct clew_chosen *chosen,
		     const char *name, struct timed *ret_timed);
void timed_done(struct timed *timed);

#endif
