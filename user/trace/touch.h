/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that populates the memory of growing vectors ahead of their use.
 */
#ifndef CLEW_TRACE_TOUCH_H
#define CLEW_TRACE_TOUCH_H

#include "base/vector.h"

#define TRACE_TOUCHED 3 /* vectors */

struct trace_touch;

/* NULL: there is no thread, and loading is only slower. */
struct trace_touch *trace_touch_new(void);
/* Reports where the vectors are now, and how far they are filled. */
void trace_touch_update(struct trace_touch *touch,
			const struct vector *const vectors[static TRACE_TOUCHED]);
void trace_touch_free(struct trace_touch *touch);

#endif
