/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This table keeps the numbers, names and control groups of tasks, and the names of disks and of
 * containers, while findings come.
 *
 * Invariant: memory is bounded by the tasks that live, and those beyond KNOWN_MOST: then all are
 * forgotten until a record states them again. A task stays for KNOWN_LINGER after its end, as its
 * last findings come after that.
 */
#ifndef CLEW_LIVE_KNOWN_H
#define CLEW_LIVE_KNOWN_H

#include "base/map.h"
#include "base/vector.h"
#include "builder/findings.h"

#define KNOWN_MOST   (1u << 18)
#define KNOWN_LINGER 5000000000ull /* ns */

/* A task. The owner of the table may have more behind it, zeroed at first. */
struct known_task {
	uint32_t serial, process;
	uint32_t tid, pid, flags;
	uint64_t cgroup;
	char comm[CLEW_COMM_SIZE + 1];
};

struct known {
	size_t task_size;
	struct map tasks;	/* serial -> struct known_task * */
	struct map paths;	/* id of a cgroup -> its path */
	struct map group_names; /* number of a text about a cgroup -> the text */
	struct map disks; /* device -> its name, and in brackets the one that a mapping was given */
	struct vector ended;
	size_t gone; /* of `ended` */
};

/* `task_size`: of what the owner keeps for a task, which begins with a struct known_task. */
void known_init(struct known *known, size_t task_size);
void known_done(struct known *known);
/* Takes a finding of tag IDENTITY. 0 or -ENOMEM. */
int known_take(struct known *known, const struct clew_header *record);
/* NULL: nothing is known of it. */
struct known_task *known_find(const struct known *known, uint32_t serial);
/* The path of a cgroup; NULL: unknown. */
const char *known_path(const struct known *known, uint64_t cgroup);
/* A name of a cgroup's container or pod (enum clew_group_name); NULL: unknown. */
const char *known_group_name(const struct known *known, uint64_t cgroup, unsigned which);
/* The name of a disk; NULL: unknown. */
const char *known_disk(const struct known *known, uint32_t device);

#endif
