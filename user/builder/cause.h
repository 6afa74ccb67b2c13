/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The links between a wake, or a work item, and its cause.
 */
#ifndef CLEW_BUILDER_CAUSE_H
#define CLEW_BUILDER_CAUSE_H

#include "builder/findings.h"

struct clew_builder;
struct wake;

/* The most links of one wake, and the most further requests that had to end for it. */
#define BUILD_LINKS 4
#define BUILD_AND   1024u
/* ns: how long ended requests and begun work items are remembered; and at most how many of one
 * address or worker. */
#define BUILD_PAST	1000000000ull
#define BUILD_PAST_MOST 256u

struct links {
	uint32_t count;
	struct clew_link of[BUILD_LINKS];
};

/* The links of a wake, the nearest first; none if nothing is known of its cause. */
void build_links(struct clew_builder *builder, const struct wake *wake, struct links *ret_links);
/* Appends the links of a cause that was recorded at `at`. */
void build_cause_links(struct clew_builder *builder, const struct clew_cause *cause, uint64_t at,
		       struct links *links);

#endif
