/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Containers, as the paths of control groups name them: the id of 64 hexadecimal digits that
 * Docker, Podman, CRI-O and containerd give, and the names that LXC and systemd-nspawn give.
 */
#ifndef CLEW_BASE_CONTAINER_H
#define CLEW_BASE_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>

#define CLEW_CONTAINER_ID   64
#define CLEW_CONTAINER_SIZE 256 /* of a name, with its NUL */

/* The container of that number in a group's path, 0 being the outermost one. False: there is none.
 */
bool clew_container_in(const char *path, unsigned number, char name[static CLEW_CONTAINER_SIZE]);

/* The innermost one. */
bool clew_container_of(const char *path, char name[static CLEW_CONTAINER_SIZE]);

/* True if `wanted` is a container's name, a glob that matches it, or the beginning of its id. */
bool clew_container_is(const char *name, const char *wanted);

#endif
