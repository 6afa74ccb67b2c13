/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the waits for work, which separate operations, and the asking side of a socket. */
#ifndef CLEW_TRACE_IDLE_H
#define CLEW_TRACE_IDLE_H

#include "builder/findings.h"

/*
 * True if a wait of a kind (enum clew_wait_kind) in a system call
 * (CLEW_NO_CALL: none) is a wait for work. `idle_kinds`: a mask of kinds that
 * count as such; 0: the default. `in_exchange`: the wait is in an exchange (trace/exchange.c),
 * and by default no wait for work.
 */
bool operation_is_idle(unsigned kind, unsigned call, bool in_exchange, uint64_t idle_kinds);

/* True if a system call takes what others sent. */
bool call_receives(unsigned call);

/* The side that a socket's own end is on, as far as the capture shows who connected to whom. */
enum socket_side { SIDE_UNKNOWN, SIDE_CLIENT, SIDE_SERVER };
enum socket_side socket_side_of(const struct clew_socket_record *socket);

#endif
