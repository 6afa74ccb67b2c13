/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths of control groups name containers, pods and units. Containers: the id of 64 hexadecimal
 * digits that Docker, Podman, CRI-O and containerd give, and the names that LXC and systemd-nspawn
 * give. Pods: their unique number. Units of systemd.
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

/* True if a container's name is an id, which people know it by only if nothing else is known. */
bool clew_container_is_id(const char *name);

#define CLEW_POD_UID_SIZE 64

/* The number of a pod of Kubernetes in a group's path, as the kubelet names the group in either of
 * its ways: "podUID", "kubepods-burstable-podU_I_D.slice". False: there is none. */
bool clew_pod_uid_in(const char *path, char uid[static CLEW_POD_UID_SIZE]);

/* The innermost unit of systemd in a group's path that is a service or a scope. One
 * that a container's runtime made is none that people know. False: there is none. */
bool clew_unit_of(const char *path, char unit[static CLEW_CONTAINER_SIZE]);

/* True if `wanted` is a unit's name, or that of a service without ".service", or a glob. */
bool clew_unit_is(const char *unit, const char *wanted);

/* True if `wanted` is a container's name, a glob that matches it, or the beginning of its id. */
bool clew_container_is(const char *name, const char *wanted);

#endif
