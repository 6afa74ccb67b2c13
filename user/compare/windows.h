/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds the operations of a long capture, window by window. */
#ifndef CLEW_COMPARE_WINDOWS_H
#define CLEW_COMPARE_WINDOWS_H

#include "compare/compare.h"
#include "trace/windows.h"

struct compare_windows {
	struct compare *compare;
	enum compare_side_name side;
	const struct clew_trace *works; /* has what separates operations in the whole capture */
	const struct clew_chosen *chosen;
};

/* A taker of the windows of one capture; each operation belongs to the window in which it ends. One
 * that began long before its window is counted as cut. `windows` has to outlive it. */
struct clew_windows_taker compare_windows_taker(struct compare_windows *windows);
/* To be called behind the last window. `names`: all names of the capture. 0 or -ENOMEM. */
int compare_windows_end(struct compare_windows *windows, const struct clew_trace *names);

#endif
