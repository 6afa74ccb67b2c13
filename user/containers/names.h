/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of containers and pods, as the runtimes' own files on the machine have them. A control
 * group's path has ids only.
 *
 * The files belong to the runtime, and parts of them are what users of the runtime wrote. So they
 * are opened as all files are whose names or contents others choose (opener/opener.h).
 */
#ifndef CLEW_CONTAINERS_NAMES_H
#define CLEW_CONTAINERS_NAMES_H

#include <clew/kernel/records/header.h>
#include <clew/kernel/records/identity.h>

struct clew_container_names {
	char of[CLEW_GROUP_NAMES][CLEW_TEXT_SIZE]; /* by enum clew_group_name, "" none */
};

/* Where the runtimes' files are. */
struct clew_containers {
	int machine;   /* a folder whose "root" is the machine's root; -1: our own root is */
	char root[64]; /* the path of that root, "" our own */
};

/* Looks in the machine's root, which is that of process 1. Where that one may not be looked into,
 * the root is that of the first process which it started and which is in no container, else our
 * own. */
void clew_containers_open(struct clew_containers *ret_containers);
void clew_containers_close(struct clew_containers *runtime);

/* The names of the innermost container in a group's path, and of the pod in it. 0; -ENOENT: no
 * runtime has a file about it, so there are none. */
int clew_containers_names(struct clew_containers *runtime, const char *path,
			  struct clew_container_names *ret_names);

#endif
