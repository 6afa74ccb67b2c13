/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requests that each disk served lately, to charge who asked for those ahead of one that a
 * thread waited for.
 *
 * Invariants: each disk keeps its last SERVED_REQUESTS requests, and SERVED_WAITS waits until it
 * has served SERVED_LATER more requests, as some that were ahead may end after the wait. So a wait
 * over more requests is charged in part, and one for a disk beyond SERVED_DISKS not at all.
 */
#ifndef CLEW_DAEMON_SERVED_H
#define CLEW_DAEMON_SERVED_H

#include <stddef.h>
#include <stdint.h>

#define SERVED_DISKS	32
#define SERVED_REQUESTS 4096
#define SERVED_WAITS	256
#define SERVED_LATER	128
#define SERVED_GRACE	1000000000ull /* ns: a wait on an idle disk is charged after that time */

struct served_request {
	uint64_t queued, end; /* ns */
	uint32_t task;	      /* that asked for it, 0 unknown .. */
	uint32_t group;	      /* .. and its group */
};

struct served_wait {
	uint64_t from, to; /* ns; from when the request is queued */
	uint64_t queued;   /* ns: when the request that it was for was */
	uint32_t task, group;
};

/* Takes what `group` kept a wait waiting. */
typedef void served_charge(void *context, const struct served_wait *wait, uint32_t group,
			   uint64_t ns);

struct served_disk;
struct served {
	struct served_disk *disks[SERVED_DISKS];
	unsigned count;
	served_charge *charge;
	void *context;
};

/* Adds a request that ended after all of its disk that were added. 0 or -ENOMEM. */
int served_add(struct served *served, uint32_t device, const struct served_request *request);

/* Adds a wait for a request of the disk, which is to be charged later. */
void served_await(struct served *served, uint32_t device, const struct served_wait *wait);

/* Charges the waits that ended more than SERVED_GRACE before. */
void served_step(struct served *served, uint64_t now);

void served_done(struct served *served);

#endif
