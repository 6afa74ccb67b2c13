/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of vectors that will be filled soon, made to be there by another thread.
 */
#ifndef CLEW_TRACE_TOUCH_H
#define CLEW_TRACE_TOUCH_H

#include "base/vector.h"

#define TRACE_TOUCHED 3 /* vectors */

struct trace_touch;

/* NULL: there is none, and everything is only slower. */
struct trace_touch *trace_touch_new(void);
/* Where the vectors are now, and how far they are filled. */
void trace_touch_tell(struct trace_touch *touch,
		      const struct vector *const vectors[static TRACE_TOUCHED]);
void trace_touch_free(struct trace_touch *touch);

#endif
