/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of threads for programs with libclew. */
#include <clew/report.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/report/report.h"
#include "explain/spent.h"
#include "library/internal.h"

static int by_task(const void *a, const void *b)
{
	const struct clew_report_thread *left = a, *right = b;

	return left->task < right->task ? -1 : left->task > right->task;
}

int clew_report_threads(const struct clew_capture *capture, uint64_t from, uint64_t to,
			struct clew_report_thread **ret_threads, size_t *ret_count)
{
	const struct clew_chosen all = {};
	struct clew_task_times times = {};
	const struct clew_task_time *found;
	int r = clew_task_times_gather(&times, capture->trace, &all, from,
				       to ?: clew_trace_end(capture->trace), NULL);

	*ret_threads = r < 0 ? NULL : calloc(times.times.count + 1, sizeof(**ret_threads));
	if (*ret_threads) {
		found = times.times.data;
		*ret_count = times.times.count;
		for (size_t i = 0; i < times.times.count; i++) {
			struct clew_report_thread *thread = &(*ret_threads)[i];

			thread->task = found[i].task;
			thread->had_lock_ns = found[i].had_lock;
			memcpy(thread->spent_ns, found[i].spent, sizeof(thread->spent_ns));
		}
		qsort(*ret_threads, *ret_count, sizeof(**ret_threads), by_task);
	} else if (r == 0) {
		r = -ENOMEM;
	}
	clew_task_times_done(&times);
	return r;
}

const char *clew_spent_name(enum clew_spent spent)
{
	return clew_spent_word(spent) ?: "idle";
}
