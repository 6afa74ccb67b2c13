/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks that are added up: a tree whose nodes are frames, with sums where stacks end. A place
 * has one number wherever it stands; without lines of the source its name is all of it.
 */
#ifndef CLEW_STACKS_TREE_H
#define CLEW_STACKS_TREE_H

#include "base/map.h"
#include "base/vector.h"
#include "explain/chosen.h"
#include "relate/relate.h"

/* A frame as it is shown. */
struct stack_place {
	const char *name;
	const char *file; /* path of the source; NULL unknown */
	uint32_t line;	  /* from 1; 0 unknown */
	uint32_t outer;	  /* 1 + number of the place that this one was compiled into; 0: none */
};

struct stack_node {
	uint32_t parent; /* index, less than the node's own; 0 is the root, which is no frame */
	uint32_t place;
	uint64_t count; /* stacks that end here; 0: none */
	uint64_t ns;	/* of them together */
	uint64_t running_ns;
	uint8_t kind; /* enum clew_wait_kind, segments included; meaningless without a count */
};

struct stacks {
	struct vector nodes;  /* struct stack_node */
	struct vector places; /* struct stack_place, with texts in the arena, by number */
	struct arena arena;
	struct map numbers;  /* hash of a place, size of its name -> number */
	struct map children; /* (parent, place) -> index */
	int error;	     /* 0 or -ENOMEM */
};

/* Begins a tree that has only its root. 0 or -ENOMEM; stacks_done() frees it in either case. */
int stacks_begin(struct stacks *stacks);
void stacks_done(struct stacks *stacks);

static inline const struct stack_node *stacks_node(const struct stacks *stacks, size_t index)
{
	return (const struct stack_node *)stacks->nodes.data + index;
}

static inline const struct stack_place *stacks_place(const struct stacks *stacks, size_t number)
{
	return (const struct stack_place *)stacks->places.data + number;
}

/* The number of a place, whose texts are copied. */
uint32_t stacks_number(struct stacks *stacks, const struct stack_place *place);
/* The node of a frame called in another one. Without memory that other one. */
uint32_t stacks_push_number(struct stacks *stacks, uint32_t parent, uint32_t number);
uint32_t stacks_push(struct stacks *stacks, uint32_t parent, const char *name);
void stacks_add(struct stacks *stacks, uint32_t node, unsigned kind, uint64_t ns);

/* ---- code.c: waits and samples by their code ---- */

/* The waits and samples that stacks are made of. */
struct stacks_asked {
	const struct clew_trace *trace;
	struct clew_chosen chosen;
	uint64_t from, to;			/* ns; they lie in it, at least in part */
	bool begun_in;				/* they began in it */
	bool idle;				/* waits for work, too */
	const struct clew_relations *relations; /* logical spans are frames, NULL: they are not */
};

/* Adds waits by the code that waited, and samples by the code that ran; the tree has the error. */
void stacks_off_cpu(struct stacks *stacks, const struct stacks_asked *asked);
void stacks_on_cpu(struct stacks *stacks, const struct stacks_asked *asked);
/* The frames of a task: its process, and the thread if that has another name. */
uint32_t stacks_task(struct stacks *stacks, const struct clew_trace *trace, uint32_t serial,
		     uint64_t at);
/* "futex 0x7f001000": a wait as a frame. */
uint32_t stacks_wait(struct stacks *stacks, const struct clew_trace *trace, uint32_t parent,
		     const struct clew_sleep *sleep);
/* True if a wait is asked for. */
bool stacks_wants(const struct stacks_asked *asked, const struct clew_sleep *sleep);

#endif
