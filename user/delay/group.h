/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A control group that is made for some processes and removed again. In version 1 it is within the
 * group of the first process, in version 2, where a group with processes has none within, beside
 * it.
 *
 * Invariant: whatever becomes of this process, the group's processes are soon where they came from,
 * and the group is gone: a process of its own waits for that.
 *
 * Functions return 0 or -errno, with a message if there is one to take it.
 */
#ifndef CLEW_DELAY_GROUP_H
#define CLEW_DELAY_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/message.h"

#define DELAY_GROUP_HOME 4096
#define DELAY_GROUP_PATH (DELAY_GROUP_HOME + 32)

struct delay_group {
	bool unified;		     /* version 2 */
	char home[DELAY_GROUP_HOME]; /* the directory of the group that the processes came from */
	char path[DELAY_GROUP_PATH]; /* that of their own; "": there is none */
	int alive;		     /* a pipe: the guard acts once it is closed; -1: none */
	pid_t guard;
};

/* Makes a group with a controller, "cpu" or "io" ("blkio" in version 1), for a process, and moves
 * it there with all its descendants that are in its group. */
int delay_group_make(const char *controller, pid_t pid, struct delay_group *ret_group,
		     struct clew_message *message);
/* Writes a line into a file of the group. */
int delay_group_write(const struct delay_group *group, const char *file, const char *line);
/* Reads a file of the group, at most `size` - 1 bytes. */
int delay_group_read(const struct delay_group *group, const char *file, char *text, size_t size);
/* Moves all back, and removes the group. */
void delay_group_end(struct delay_group *group);

#endif
