/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that processes map to execute them: those mapped now, and from then on each
 * as it is mapped, by exec or by a library being loaded.
 */
#ifndef CLEW_RECORD_MAPPINGS_H
#define CLEW_RECORD_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct clew_mapping {
	pid_t pid;
	uint64_t start;
	uint64_t end;
	uint64_t inode;
	uint64_t generation; /* of the inode's number; 0 unknown */
	uint32_t major, minor;
	const char *path; /* as the process sees it */
};

struct clew_mappings;

/* Returns whether its file is new. */
typedef bool clew_mapping_found(void *context, const struct clew_mapping *mapping);

/* Follows new mappings from here on. 0 or -errno. */
int clew_mappings_open(unsigned cpus, struct clew_mappings **ret_mappings);
/* Those that are there now. */
void clew_mappings_scan(clew_mapping_found *found, void *context);
/* Waits until there is a new one, or `stop` can be read: -ECANCELED then. Calls `found` for each.
 */
int clew_mappings_wait(struct clew_mappings *mappings, int stop, clew_mapping_found *found,
		       void *context);
void clew_mappings_close(struct clew_mappings *mappings);

/* The file of a mapping, open for reading, or -errno: it may be gone. */
int clew_mapping_file(const struct clew_mapping *mapping);

#endif
