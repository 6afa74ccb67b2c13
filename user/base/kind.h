/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The traits of each kind of wait and of each type of dependency, from the tables
 * <clew/wait_kinds.def> and <clew/edge_types.def>.
 */
#ifndef CLEW_BASE_KIND_H
#define CLEW_BASE_KIND_H

#include <stdbool.h>

#include <clew/tokens.h>

enum clew_kind_trait {
	CLEW_TRAIT_DISK = 0x1,	     /* for a disk */
	CLEW_TRAIT_FILE = 0x2,	     /* may be for pages of a file */
	CLEW_TRAIT_OTHER_END = 0x4,  /* what it waits at may have an other end, as a pipe has */
	CLEW_TRAIT_NOBODY = 0x8,     /* no task is expected to end it */
	CLEW_TRAIT_OTHERS = 0x10,    /* another thread, a device or another machine is */
	CLEW_TRAIT_OUTSIDE = 0x20,   /* its end may come from outside the machine */
	CLEW_TRAIT_CALL = 0x40,	     /* may be for a call that another thread serves */
	CLEW_TRAIT_RETURNS = 0x80,   /* its call may return once it has anything at all */
	CLEW_TRAIT_WORK = 0x100,     /* outside an exchange it is for work */
	CLEW_TRAIT_RECEIVED = 0x200, /* so it is in a call that receives */
};

enum clew_type_trait {
	CLEW_TYPE_MESSAGE = 0x1, /* it carries a message, which its sender may be asked for */
	CLEW_TYPE_ACT = 0x2,	 /* the words for it name an act, and not what was waited for */
};

/* True if one of the traits holds of a kind of wait; segments apart from waits have none. */
bool clew_wait_kind_has(unsigned kind, unsigned traits);

/* True if one of the traits holds of a type of dependency. */
bool clew_edge_type_has(unsigned type, unsigned traits);

/*
 * The type of a dependency on the task that ends a wait of this kind, unless the wait or the
 * wake shows another one.
 */
enum clew_edge_type clew_wait_kind_edge(unsigned kind);

#endif
