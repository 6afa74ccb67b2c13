/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in a process's memory an address is: in which variable of which file, or in the heap. It
 * is read from /proc at once, as long as there is the process, and from the files' symbol tables
 * later. Both are kept for a while.
 */
#ifndef CLEW_RECORD_STACKS_MEMORY_MAP_H
#define CLEW_RECORD_STACKS_MEMORY_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "record/stream/recording.h"

struct clew_memory_maps;

/* A place that an answer can name. */
struct clew_memory_place {
	enum clew_address_place place;
	uint64_t offset;  /* as in struct clew_address */
	const char *name; /* "" none; it lives until the next call */
	const char *path; /* "" none; the spot's */
};

/* `names_most`: bytes that the names of variables may take, but for those of one file that takes
 * more. NULL: no memory. */
struct clew_memory_maps *clew_memory_maps_new(size_t names_most);
void clew_memory_maps_free(struct clew_memory_maps *maps);

/* Where an address lies; it stays so when its process is gone. */
struct clew_memory_spot {
	uint64_t address;
	uint64_t start;		   /* of the heap */
	uint64_t file_start;	   /* of the file's first mapping */
	uint64_t file_offset;	   /* of that in the file */
	uint32_t file;		   /* number, 0: in none */
	bool heap;		   /* in a file's data, or else in the heap */
	char path[CLEW_PATH_SIZE]; /* of the file */
};

/*
 * Finds the mapping that an address is in, without reading a file. `memory` is another number if
 * the process has begun another program. `now` in ns: mappings that were read a second before are
 * read again. False: it is in none that may have a name, or the process is gone.
 */
bool clew_memory_maps_find(struct clew_memory_maps *maps, pid_t pid, uint32_t memory, uint64_t now,
			   uint64_t address, struct clew_memory_spot *ret_spot);
/* Names a spot, which may take long for the first one of a file. False: it has no name. */
bool clew_memory_maps_name(struct clew_memory_maps *maps, const struct clew_memory_spot *spot,
			   struct clew_memory_place *ret_place);
/* The same of a function that begins there, or has the address. */
bool clew_memory_maps_name_code(struct clew_memory_maps *maps, const struct clew_memory_spot *spot,
				struct clew_memory_place *ret_place);
/* Bytes of memory that names take. */
size_t clew_memory_maps_names(const struct clew_memory_maps *maps);
/* Forgets all that was read: it may take much memory. */
void clew_memory_maps_forget(struct clew_memory_maps *maps);

#endif
