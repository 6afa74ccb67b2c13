/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a finished trace is said in operations that make it again. Where the rules of
 * construction give an instant its ESs, the plain lines are used; a span of which
 * that does not hold is written exactly: its boundaries first, then each endpoint
 * with the number of its ES.
 *
 * What is written, in this order: each span, its suspends and splits behind it;
 * dependencies, in order of number, between spans only where a span's line makes a
 * call of a higher number; simplify; marks.
 */
#ifndef CLEW_NOTATION_PLAN_H
#define CLEW_NOTATION_PLAN_H

#include <clew/model.h>

enum {
	PLAN_ES_EARLY = 0x01,	    /* its origin is placed early */
	PLAN_ES_LATE = 0x02,	    /* its destination is placed late */
	PLAN_ES_GAP_IMPLIED = 0x04, /* the gap before it comes of a child's line */
};

struct plan {
	const struct clew_model *model;
	uint8_t *es;	 /* PLAN_ES_* */
	uint32_t *calls; /* of each span: the call that its line makes, the return being the next;
			    CLEW_NONE: none */
	bool *is_exact;	 /* of each span */
	bool *is_made;	 /* of each dependency: by a span's line */
	bool simplify;
};

/* 0, -ENOMEM, or -EINVAL with a message: no operations can make this. */
int plan_make(struct plan *plan, const struct clew_model *model, char *message,
	      size_t message_size);
void plan_done(struct plan *plan);

/* ---- plan_instant.c ---- */

/* Whether the plain lines make the ESs of a span; sets the places of its endpoints. */
bool plan_span(struct plan *plan, uint32_t span);

#endif
