/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts how long servers on other hosts took to answer. */
#include "daemon/peers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "trace/idle.h"
#include "trace/talk.h"
#include "words/describe.h"

#define USEC 1000 /* ns */

/* This machine's end of a connection; the other one may be here as well. */
struct peers_end {
	struct talk_end it;  /* side SIDE_UNKNOWN: nobody here asks */
	struct peers_of *of; /* NULL: it is not known yet that it is on another host */
	uint32_t resent;     /* as of the last message */
	bool seen;	     /* there was one */
	uint16_t local_port, peer_port;
	uint32_t first; /* sequence number of the first byte, which differs between connections */
	char name[PEERS_NAME];
};

static struct peers_of *find(struct peers *peers, const char *name)
{
	struct peers_of *of = peers->of;

	for (size_t i = 0; i < peers->count; i++, of++)
		if (!strcmp(of->name, name))
			return of;
	if (peers->count < PEERS_MOST) {
		peers->count++;
		snprintf(of->name, sizeof(of->name), "%s", name);
		return of;
	}
	peers->count = PEERS_MOST + 1;
	return &peers->of[PEERS_MOST];
}

static struct peers_end *end_of(const struct peers *peers, uint64_t inode)
{
	const uint64_t *place = map_get(&peers->sockets, inode, 0);

	return place ? (struct peers_end *)peers->ends.data + *place : NULL;
}

static int add(struct peers *peers, uint64_t inode, struct peers_end **ret_end)
{
	if (peers->ends.count == PEERS_SOCKETS_MOST) {
		map_done(&peers->sockets);
		peers->ends.count = 0;
	}
	peers->ends.item = sizeof(struct peers_end);
	if (vector_reserve(&peers->ends, peers->ends.count + 1) < 0 ||
	    map_set(&peers->sockets, inode, 0, peers->ends.count) < 0)
		return -ENOMEM;
	*ret_end = (struct peers_end *)peers->ends.data + peers->ends.count++;
	return 0;
}

int peers_take_socket(struct peers *peers, const struct clew_socket_record *socket)
{
	bool asks = (socket->family == AF_INET || socket->family == AF_INET6) &&
		    socket->peer_port && socket_side_of(socket) == SIDE_CLIENT;
	struct peers_end *end = end_of(peers, socket->inode);
	struct endpoint peer;

	/* Sockets are stated again from time to time. */
	if (end && asks && end->local_port == socket->local_port &&
	    end->peer_port == socket->peer_port && end->first == socket->sent_first)
		return 0;
	if (!end && (!asks || add(peers, socket->inode, &end) < 0))
		return asks ? -ENOMEM : 0;
	*end = (struct peers_end){.it.side = asks ? SIDE_CLIENT : SIDE_UNKNOWN,
				  .local_port = socket->local_port,
				  .peer_port = socket->peer_port,
				  .first = socket->sent_first};
	if (!asks)
		return 0;
	describe_endpoint(socket, true, &peer);
	snprintf(end->name, sizeof(end->name), "%.*s", PEERS_NAME - 1, peer.text);
	return 0;
}

void peers_take_message(struct peers *peers, const struct clew_message_record *message)
{
	const uint8_t flags = message->header.flags;
	struct peers_end *end = end_of(peers, message->socket);
	uint64_t trip = (uint64_t)message->round_trip * USEC, took;
	struct talk over;
	bool answered;

	if (!end || end->it.side != SIDE_CLIENT || !(flags & CLEW_MESSAGE_OUTSIDE))
		return;
	if (!end->of)
		end->of = find(peers, end->name);
	if (end->seen && flags & CLEW_MESSAGE_PLACED)
		end->of->resent += message->resent - end->resent;
	end->seen = true;
	end->resent = message->resent;
	answered = end->it.talk.answered;
	talk_take(&end->it, message,
		  flags & CLEW_MESSAGE_TIMED ? message->at : message->header.time, false, &over);
	/* In a pipeline, no message shows which question it answers. */
	if (answered || !(flags & CLEW_MESSAGE_RECEIVED) || !end->it.talk.asked ||
	    !end->it.talk.answered || end->it.pipelined ||
	    end->it.talk.answered < end->it.talk.more)
		return;
	took = end->it.talk.answered - end->it.talk.more;
	buckets_add(&end->of->buckets, took > trip ? took - trip : 0);
}

void peers_done(struct peers *peers)
{
	map_done(&peers->sockets);
	vector_done(&peers->ends);
}
