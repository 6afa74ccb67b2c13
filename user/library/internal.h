/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The structure behind the handle of a capture that a program with libclew has. */
#ifndef CLEW_LIBRARY_INTERNAL_H
#define CLEW_LIBRARY_INTERNAL_H

#include <clew/capture.h>

#include "relate/relate.h"
#include "trace/trace.h"

struct clew_capture {
	struct clew_trace *trace;
	struct clew_relations *relations; /* NULL: nothing was announced */
};

#endif
