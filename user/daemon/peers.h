/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts how long servers on other hosts took to answer, by address and port: from when a question
 * had left to when the first of its answer came, without the round trip.
 *
 * Invariant: memory is fixed but for the sockets, of which there are PEERS_SOCKETS_MOST: then all
 * are forgotten until a record states them again. The first PEERS_MOST peers have sums of their
 * own, and all others share one. A peer keeps its sums, so that they never fall.
 */
#ifndef CLEW_DAEMON_PEERS_H
#define CLEW_DAEMON_PEERS_H

#include "base/map.h"
#include "base/vector.h"
#include "daemon/buckets.h"
#include <clew/kernel/records.h>

#define PEERS_MOST	   50
#define PEERS_SOCKETS_MOST 16384
#define PEERS_NAME	   64

struct peers_of {
	char name[PEERS_NAME]; /* "": of all others */
	struct buckets buckets;
	uint64_t resent; /* segments */
};

struct peers {
	struct peers_of of[PEERS_MOST + 1];
	size_t count;
	struct map sockets; /* inode -> its place in `ends` */
	struct vector ends; /* struct peers_end, by place */
};

/* 0 or -ENOMEM. */
int peers_take_socket(struct peers *peers, const struct clew_socket_record *socket);
void peers_take_message(struct peers *peers, const struct clew_message_record *message);
void peers_done(struct peers *peers);

#endif
