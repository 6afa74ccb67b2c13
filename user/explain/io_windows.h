/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sums of io.h over a long capture that is looked at in windows: the same as over the capture
 * in one piece. See trace/windows.h.
 *
 * An act counts in the window in which it was found out, a request in that in which it was over, a
 * wait in that in which it ended.
 */
#ifndef CLEW_EXPLAIN_IO_WINDOWS_H
#define CLEW_EXPLAIN_IO_WINDOWS_H

#include "explain/io.h"
#include "trace/windows.h"

struct clew_io_windows;

/* `chosen` stays the caller's, and is asked in the processes of the windows. NULL: no memory. Free
 * it with clew_io_windows_free(). */
struct clew_io_windows *clew_io_windows_new(const struct clew_chosen *chosen);
void clew_io_windows_free(struct clew_io_windows *windows);

/* For clew_windows_run(). */
struct clew_windows_taker clew_io_windows_taker(struct clew_io_windows *windows);

/* The sums of all windows, once they are added; `names` is of the whole capture. It has no
 * `sleep_files`. Free it with clew_io_done(). 0 or -errno. */
int clew_io_windows_finish(struct clew_io_windows *windows, const struct clew_trace *names,
			   struct clew_io *ret_io);

#endif
