/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of a run: a heap in order of time, then of kind, then of ES. Where no order
 * of events can change the result (`ordered` is false) it is a stack. One event is held
 * outside of the heap, as the event that was planned last is often the next one.
 */
#ifndef CLEW_ANALYSE_WHATIF_EVENTS_H
#define CLEW_ANALYSE_WHATIF_EVENTS_H

#include "analyse/whatif/internal.h"

/* Adds an event to the heap. 0 or -ENOMEM. */
int events_push(struct whatif *w, struct event event);

/* Something is to happen at a moment; `es` as the kind says. 0 or -ENOMEM. */
static inline int events_plan(struct whatif *w, clew_time at, uint32_t es, enum event_kind kind)
{
	struct event event = {.at = at, .es = es, .kind = kind};

	if (w->holds && w->ordered)
		return events_push(w, event);
	if (w->holds && events_push(w, w->held) < 0)
		return -ENOMEM;
	w->held = event;
	w->holds = true;
	return 0;
}

/* Takes the next event. False: there is none. */
bool events_next(struct whatif *w, struct event *ret_event);

#endif
