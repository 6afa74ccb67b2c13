/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The largest part of a broad node of a why's tree: its words name a program and a kind of wait,
 * without the object, the file and the functions by which a reader knows what to do.
 */
#ifndef CLEW_ANSWERS_WHY_LARGEST_H
#define CLEW_ANSWERS_WHY_LARGEST_H

#include "answers/why/why_tree.h"
#include "base/vector.h"

/* Segments with equal hops and an equal cause that are in a node. */
struct clew_node_part {
	uint32_t node;
	uint32_t place; /* of the hop that the node is about; UINT32_MAX: it is a leaf */
	uint64_t ns;
	const struct clew_segment *const *same; /* not copied */
	size_t count;
	const struct clew_segment *longest;
};

/* Zeroed at first, `item` apart; for vector_done(). */
int clew_largest_add(struct vector *parts, const struct clew_node_part *part);

/*
 * Appends to the phrases of the nodes what at least half of their time has in common: ", most of it
 * fdatasync /var/lib/db/wal". To running ones the functions of their samples. 0 or -ENOMEM.
 */
int clew_largest_append(const struct clew_trace *trace, struct vector *parts,
			struct clew_tree_node *nodes);

#endif
