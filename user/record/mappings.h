/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that processes map executable: those that are mapped now, and then each
 * new one, mapped by an exec or as a library.
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
	uint64_t generation; /* tells uses of one inode number apart; 0 unknown */
	uint32_t major, minor;
	const char *path; /* in the mount namespace of the process */
};

struct clew_mappings;

/* Returns whether the mapping's file is new to it. */
typedef bool clew_mapping_found(void *context, const struct clew_mapping *mapping);

/* Records new mappings from now on. 0 or -errno. */
int clew_mappings_open(unsigned cpus, struct clew_mappings **ret_mappings);
/* Calls `found` for each executable mapping that there is now. */
void clew_mappings_scan(clew_mapping_found *found, void *context);
/*
 * Waits for new mappings and calls `found` for each. 0, -ECANCELED once `stop`
 * can be read, or -errno.
 */
int clew_mappings_wait(struct clew_mappings *mappings, int stop, clew_mapping_found *found,
		       void *context);
void clew_mappings_close(struct clew_mappings *mappings);

/*
 * Opens the file of a mapping for reading: a descriptor, or -errno, as the
 * process or the file may be gone.
 */
int clew_mapping_file(const struct clew_mapping *mapping);

#endif
