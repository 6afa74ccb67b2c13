/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sums of io.h over all of a trace: in one piece, or in the windows of a long capture
 * (trace/windows.h).
 *
 * An act counts in the window in which it was found out, a request in that in which it was over, a
 * wait in that in which it ended.
 */
#ifndef CLEW_EXPLAIN_IO_SUM_H
#define CLEW_EXPLAIN_IO_SUM_H

#include "explain/io.h"
#include "trace/windows.h"

struct clew_io_sum;

/* `chosen` stays the caller's, and is asked in the processes of the windows. from..to: as for
 * clew_io_analyse(), in one piece. NULL: no memory. Free it with clew_io_sum_free(). */
struct clew_io_sum *clew_io_sum_begin(const struct clew_chosen *chosen, uint64_t from, uint64_t to);
void clew_io_sum_free(struct clew_io_sum *sum);

/* For clew_windows_run() and clew_windows_alone(). */
struct clew_windows_taker clew_io_sum_taker(struct clew_io_sum *sum);

/* The sums of all windows, once they are added; `names`: the trace, or one that has the capture's
 * names. Only a trace in one piece has `sleep_files`. Free it with clew_io_done(). 0 or -errno. */
int clew_io_sum_finish(struct clew_io_sum *sum, const struct clew_trace *names,
		       struct clew_io *ret_io);

#endif
