/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where findings leave the builder.
 */
#ifndef CLEW_BUILDER_EMIT_H
#define CLEW_BUILDER_EMIT_H

#include "builder/builder.h"

/* Tags of findings that follow from what is known of pages. */
#define BUILD_PAGE_TAGS                                                                            \
	(CLEW_FINDING_BIT(CLEW_FINDING_PAGES) | CLEW_FINDING_BIT(CLEW_FINDING_EDGE) |              \
	 CLEW_FINDING_BIT(CLEW_FINDING_TOUCH))
/* Tags of findings that follow from what a sleep was for and what ended it. */
#define BUILD_SLEEP_TAGS                                                                           \
	(CLEW_FINDING_BIT(CLEW_FINDING_SLEEP) | CLEW_FINDING_BIT(CLEW_FINDING_EDGE))

/* Copies the takers into the builder and derives what they need. 0 or -ENOMEM. */
int build_takers_set(struct clew_builder *builder, const struct clew_finding_taker *takers,
		     size_t count);
void build_takers_done(struct clew_builder *builder);
/* Hands a finding to all takers that want it. */
int build_emit(struct clew_builder *builder, struct clew_finding finding);
/* Emits an edge; names that are empty are filled in. */
int build_send_edge(struct clew_builder *builder, struct clew_edge *edge);
/* Emits the edge that ended a sleep, if there is one. */
int build_send_edge_of(struct clew_builder *builder, const struct clew_sleep *sleep);
/* Emits a finished sleep and its edge. */
int build_send_sleep(struct clew_builder *builder, struct clew_sleep *sleep);

static inline bool build_wants(const struct clew_builder *builder, enum clew_finding_tag tag)
{
	return builder->wanted & CLEW_FINDING_BIT(tag);
}

static inline bool build_needs(const struct clew_builder *builder, unsigned kind)
{
	return kind >= 64 || builder->needed_kinds >> kind & 1;
}

/* True if edges of a type are treated as never seen. */
static inline bool build_dropped(const struct clew_builder *builder, enum clew_edge_type type)
{
	return builder->options.drop_types >> type & 1;
}

#endif
