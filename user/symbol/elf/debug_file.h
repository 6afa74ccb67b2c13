/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The file with the debugging information (DWARF) of an object: the object itself, the file that
 * the system keeps for its build-id under /usr/lib/debug, or the one that the object's debug link
 * names; at last one that servers have, if these are given. A separate file is taken only if its
 * build-id is the object's. The file that several debug files share (DWZ) is found by its own
 * build-id.
 */
#ifndef CLEW_SYMBOL_ELF_DEBUG_FILE_H
#define CLEW_SYMBOL_ELF_DEBUG_FILE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/debug_server.h"

/* One file of DWARF. */
struct debug_part {
	int descriptor; /* -1: the caller's, or none */
	Elf *elf;
	Dwarf *dwarf;
};

struct debug_file {
	struct debug_part main;
	struct debug_part shared; /* dwarf NULL: there is none */
};

/* Why there is none, the one that says most. */
enum debug_missing {
	DEBUG_MISSING,	  /* no file with that build-id has any */
	DEBUG_UNASKED,	  /* the same here, and the servers could not be asked */
	DEBUG_OTHER,	  /* a debug link leads to, or a server sent, one of another build-id */
	DEBUG_SHARED,	  /* the part that it shares with others is not there */
	DEBUG_UNREADABLE, /* it is there and damaged */
};

/*
 * `object`: descriptor of the object, used until the close; -1: it is not at hand, and only its
 * build-id is known. `path`: of the object, if the descriptor is of a copy; else NULL. Without a
 * build-id only the object itself is looked into. `servers`: asked for what is not here; NULL: none
 * is. 0 or -errno: -ENODATA there is none, and *ret_missing says why; it may be NULL. Then there is
 * nothing to close.
 */
int debug_file_open(int object, const char *path, const uint8_t *id, size_t id_size,
		    struct debug_servers *servers, struct debug_file *ret_file,
		    enum debug_missing *ret_missing);
void debug_file_close(struct debug_file *file);

#endif
