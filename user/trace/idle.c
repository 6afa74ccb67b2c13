/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the waits for work. */
#include "trace/idle.h"
#include "base/kind.h"

#include <clew/kernel/call_numbers.h>
#include <sys/socket.h>

bool call_receives(unsigned call)
{
	switch (call) {
	case CLEW_NR_read:
	case CLEW_NR_readv:
	case CLEW_NR_accept:
	case CLEW_NR_accept4:
	case CLEW_NR_recvfrom:
	case CLEW_NR_recvmsg:
	case CLEW_NR_recvmmsg:
		return true;
	default:
		return false;
	}
}

bool operation_is_idle(unsigned kind, unsigned call, bool in_exchange, uint64_t idle_kinds)
{
	if (idle_kinds)
		return kind < 64 && idle_kinds >> kind & 1;
	if (in_exchange)
		return false;
	return clew_wait_kind_has(kind, CLEW_TRAIT_WORK) ||
	       (clew_wait_kind_has(kind, CLEW_TRAIT_RECEIVED) && call_receives(call));
}

enum socket_side socket_side_of(const struct clew_socket_record *socket)
{
	bool local, peer;

	if (socket->family != AF_UNIX)
		return socket->header.flags & CLEW_SOCKET_CONNECTED  ? SIDE_CLIENT
		       : socket->header.flags & CLEW_SOCKET_ACCEPTED ? SIDE_SERVER
								     : SIDE_UNKNOWN;
	local = socket->local_path[0];
	peer = socket->peer_path[0];
	return local == peer ? SIDE_UNKNOWN : peer ? SIDE_CLIENT : SIDE_SERVER;
}
