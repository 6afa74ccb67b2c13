/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plans the operations that make a finished trace again. A span is written with
 * plain lines if the rules of construction give each of its instants the right
 * ESs. Otherwise it is written exactly: its boundaries first, then each
 * endpoint with the number of its ES.
 *
 * Order of the lines: each span with its suspends and splits after it;
 * dependencies, in order of number, before a span if its line makes a call with
 * a higher number; simplify; marks.
 */
#ifndef CLEW_NOTATION_PLAN_H
#define CLEW_NOTATION_PLAN_H

#include <clew/model.h>

enum {
	PLAN_ES_EARLY = 0x01,	    /* its origin is placed early */
	PLAN_ES_LATE = 0x02,	    /* its destination is placed late */
	PLAN_ES_GAP_IMPLIED = 0x04, /* the line of a child makes the gap before it */
};

struct plan {
	const struct clew_model *model;
	uint8_t *es;	 /* PLAN_ES_* */
	uint32_t *calls; /* of each span: the call that its line makes, the return being the next;
			    CLEW_NONE: none */
	bool *is_exact;	 /* of each span */
	bool *is_made;	 /* of each dependency: the line of a span makes it */
	bool simplify;
};

/* 0, -ENOMEM, or -EINVAL with a message: no operations can make the trace. */
int plan_make(struct plan *plan, const struct clew_model *model, char *message,
	      size_t message_size);
void plan_done(struct plan *plan);

/* ---- plan_instant.c ---- */

/* True if the plain lines make the ESs of a span; sets the places of its
 * endpoints. */
bool plan_span(struct plan *plan, uint32_t span);

#endif
