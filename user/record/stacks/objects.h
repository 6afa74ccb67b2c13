/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program or library that a person means: by its path, its name, or a process. */
#ifndef CLEW_RECORD_STACKS_OBJECTS_H
#define CLEW_RECORD_STACKS_OBJECTS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/message.h"
#include "opener/opener.h"

/* One file. */
struct clew_object {
	char *path; /* in the mount namespace of `pid` */
	struct clew_opened file;
	int descriptor; /* of a copy of it, the object's; -1: it was not read yet */
	pid_t pid;	/* a process that maps it, 0: it was found by its path */
};

struct clew_objects {
	struct clew_object *list;
	size_t count;
	pid_t pid; /* the process that was asked for, 0: none was */
};

/*
 * `name`: a path, if it has a slash; the number of a process, whose executable mappings
 * count; else the last part of a path: each file of that name that a process maps, else the
 * library that the loader finds, else the program that a shell would run. 0 or -errno with a
 * message. Close with clew_objects_done.
 */
int clew_objects_find(const char *name, struct clew_objects *ret, struct clew_message *message);
/* Copies a file, unless that was done. 0 or -errno. */
int clew_object_read(struct clew_object *object);
void clew_objects_done(struct clew_objects *objects);

/* The path of the program that a shell would run by a name without a slash. 0 or -ENOENT. */
int clew_program_find(const char *name, char *ret_path, size_t size);

#endif
