/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The object that a dependency goes through, for answers and exports alike. */
#ifndef CLEW_WORDS_EDGE_H
#define CLEW_WORDS_EDGE_H

#include "trace/trace.h"

/* The object that an edge goes through: a request, a timer, a work item, else what was waited
 * for. */
struct clew_object clew_edge_object(const struct clew_edge *edge);
/* The part of the wait that an edge ended that the object's description needs. */
struct clew_sleep clew_edge_ended(const struct clew_edge *edge);

#endif
