/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arrays of a model of a trace that was run again, on their way.
 */
#ifndef CLEW_ANALYSE_WHATIF_RESULT_H
#define CLEW_ANALYSE_WHATIF_RESULT_H

#include "analyse/whatif/internal.h"

/* A wait that the trace did not have. */
struct new_wait {
	uint32_t kind;
	uint32_t attributes; /* those of this list, but for the ones below; CLEW_NONE: only those
				below */
	clew_time runqueue;  /* 0: it has none */
	uint32_t section;    /* of a lock: who had it; CLEW_NONE */
};

/* A dependency from who let go of a lock to who got it. */
struct link {
	uint32_t origin, destination; /* ESs */
};

struct result {
	struct whatif *w;
	struct clew_model out;
	struct clew_span *spans;
	struct clew_dependency *dependencies;
	uint32_t *origins, *destinations;
	struct clew_mark *marks;
	uint32_t *number; /* of each dependency, CLEW_NONE: it is removed; NULL: as before */
	uint32_t *moved;  /* of each ES; NULL: as before */

	struct clew_model_wait
		*waits; /* the trace's, and behind them new ones; NULL: no new ones */
	struct new_wait *new_waits;
	uint32_t new_wait_count, new_wait_capacity;
	struct link *links;
	uint32_t link_count, linked_count; /* dependencies that were made for them */
};

/* Kinds of the waits before ESs that waited in another way than recorded. */
int whatif_type_waits(struct result *result);
/* The attributes of new waits, when the model has been made. */
int whatif_describe_waits(const struct result *result, struct clew_model *model);

/* The dependencies by which a lock's new holder no longer starts, and those by which it does. */
int whatif_choose_links(struct result *result);
/* Adds them, when the others have been joined. */
int whatif_add_links(struct result *result);

/* ESs that were off their CPU become several. */
int whatif_expand(struct result *result);

#endif
