/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in a process's memory an address is: in which variable of which file, or in the heap. It
 * is read from /proc and from the files' symbol tables, which are kept for a while.
 */
#ifndef CLEW_RECORD_MEMORY_MAP_H
#define CLEW_RECORD_MEMORY_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "record/recorder.h"

struct clew_memory_maps;

/* A place that an answer can name. */
struct clew_memory_place {
	enum clew_address_place place;
	uint64_t offset;  /* as in struct clew_address */
	const char *name; /* "" none; it lives until the next call */
	const char *path; /* the same */
};

/* NULL: no memory. */
struct clew_memory_maps *clew_memory_maps_new(void);
void clew_memory_maps_free(struct clew_memory_maps *maps);

/*
 * Finds the place of an address. `memory` is another number if the process has begun another
 * program. `now` in ns: mappings that were read a second before are read again. False: it is in
 * none that has a name, or the process is gone.
 */
bool clew_memory_maps_find(struct clew_memory_maps *maps, pid_t pid, uint32_t memory, uint64_t now,
			   uint64_t address, struct clew_memory_place *ret_place);
/* Forgets all that was read: it may take much memory. */
void clew_memory_maps_forget(struct clew_memory_maps *maps);

#endif
