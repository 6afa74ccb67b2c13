/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures the cost of functions' calls while they are recorded, and finds those that cost more
 * than is allowed. */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_LIMIT_H
#define CLEW_RECORD_FUNCTIONS_TRACED_LIMIT_H

#include <clew/kernel/maps.h>

#include "record/functions/traced_file.h"

struct clew_bpf;

struct traced_limit {
	unsigned percent;		   /* of one CPU, 0: there is no limit */
	struct clew_function_calls *calls; /* mapped from the kernel */
	size_t size;			   /* bytes of it */
	struct vector before;		   /* uint32_t, calls of each site at the last check */
	uint64_t last;			   /* ns, when that was */
};

/* Before the load. */
void traced_limit_prepare(struct clew_bpf *bpf, unsigned cpus);
/* After it. 0 or -errno. */
int traced_limit_open(struct traced_limit *limit, const struct traced *traced, unsigned percent);
void traced_limit_close(struct traced_limit *limit);

/* Calls count from now on. 0 or -ENOMEM. */
int traced_limit_begin(struct traced_limit *limit, const struct traced *traced, uint64_t now);
/*
 * Once a second: the dearest functions whose probes the rest has to do without to keep to the
 * limit. *ret: the caller's to free, NULL if *ret_count is 0. 0 or -ENOMEM.
 */
int traced_limit_check(struct traced_limit *limit, const struct traced *traced, uint64_t now,
		       struct clew_dropped **ret, size_t *ret_count);

#endif
