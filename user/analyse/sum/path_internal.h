/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files that find paths and add them up. */
#ifndef CLEW_ANALYSE_SUM_PATH_INTERNAL_H
#define CLEW_ANALYSE_SUM_PATH_INTERNAL_H

#include "analyse/sum/path.h"
#include "base/shared.h"

/* Finds and adds the path of an operation of a span. 0, -EINVAL or -ENOMEM. */
int path_find_operation(struct clew_path_sum *sum, uint32_t span,
			const struct clew_path_operation *operation);

/* Writes what was found in a window to shared memory, as its root. `longs`: operations that were
 * not. 0 or -ENOMEM. */
int path_leave(struct clew_path_sum *part, const struct clew_trace *trace,
	       const struct vector *longs, struct shared *out);
/* Adds it. 0 or -ENOMEM. */
int path_join(struct clew_path_sum *sum, const struct shared *found);
void path_windows_done(struct clew_path_windows *windows);

#endif
