/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of threads, in the classes of `clew report`. Time in which a thread waited
 * for work is in none of them, and clew's own threads are not there.
 */
#ifndef CLEW_REPORT_H
#define CLEW_REPORT_H

#include <clew/capture.h>
#include <clew/spent.h>

struct clew_report_thread {
	uint32_t task;
	uint64_t spent_ns[CLEW_SPENT_COUNT];
	uint64_t had_lock_ns; /* for which it held what others waited for */
};

/*
 * The sums of all threads in from..to, in order of their numbers; `to` 0: until the capture's end.
 * *ret_threads is to be freed. 0 or -ENOMEM.
 */
int clew_report_threads(const struct clew_capture *capture, uint64_t from, uint64_t to,
			struct clew_report_thread **ret_threads, size_t *ret_count);
/* The word for a class, as the JSON of `clew report` has it. Never NULL. */
const char *clew_spent_name(enum clew_spent spent);

#endif
