/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that processes map executable: those that are mapped now, and then each
 * new one, mapped by an exec or as a library.
 */
#ifndef CLEW_RECORD_STACKS_MAPPINGS_H
#define CLEW_RECORD_STACKS_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "opener/opener.h"

struct clew_mapping_files;
struct clew_mappings;

struct clew_mapping {
	struct clew_open_mapping at;	  /* with its path as the process sees it */
	struct clew_mapping_files *known; /* files of the scan that it is of, NULL none */
};

/* Returns whether the mapping's file is new to it. */
typedef bool clew_mapping_found(void *context, const struct clew_mapping *mapping);

/* Records new mappings from now on. 0 or -errno. */
int clew_mappings_open(unsigned cpus, struct clew_mappings **ret_mappings);
/* Calls `found` for each executable mapping that there is now, until the end comes. */
void clew_mappings_scan(clew_mapping_found *found, void *context);
/*
 * Waits for new mappings and calls `found` for each. 0, -ECANCELED once `stop`
 * can be read, or -errno.
 */
int clew_mappings_wait(struct clew_mappings *mappings, int stop, clew_mapping_found *found,
		       void *context);
void clew_mappings_close(struct clew_mappings *mappings);

/*
 * Finds the file of a mapping: 0 or -errno, as the process or the file may be gone. The caller's,
 * by clew_opened_close().
 */
int clew_mapping_file(const struct clew_mapping *mapping, struct clew_opened *ret_file);

#endif
