/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attempts to connect to a Unix socket that fail. No event says so. But the kernel then gives up
 * the packet by which the connection would have begun, and nothing else does so in that function.
 * Before 6.14 the packet counts as dropped, since then as used.
 */
#ifndef CLEW_BPF_REFUSED_H
#define CLEW_BPF_REFUSED_H

#include "arch.h"
#include "call.h"
#include "failed.h"
#include "identity.h"
#include "kernel.h"
#include "object.h"
#include "read.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

/* unix_stream_connect(); 0: not known. */
const volatile __u64 unix_connect, unix_connect_end;

/* The address to which a task wants to connect, as socket records have it. */
static __always_inline void read_wanted_path(char *path, __u64 address, __u64 length)
{
	__u32 size = (__u32)length - (__u32)sizeof(unsigned short);

	if (length <= sizeof(unsigned short))
		return;
	if (size > CLEW_UNIX_PATH_SIZE)
		size = CLEW_UNIX_PATH_SIZE;
	bpf_probe_read_user(path, size, (const void *)(address + sizeof(unsigned short)));
	if (!path[0])
		path[0] = '@';
}

/* Sends the socket with the address that it is not connected to: no wait may ever name it. */
static __always_inline void send_unconnected(struct clew_cpu_state *cpu_state, __u32 cpu,
					     struct socket *socket, __u64 inode, __u64 address,
					     __u64 length)
{
	struct clew_socket_record *record;

	record = record_reserve(cpu_state, cpu, CLEW_KIND_SOCKET, clock_ns(), sizeof(*record));
	if (!record)
		return;
	__builtin_memset((void *)record + sizeof(record->header), 0,
			 sizeof(*record) - sizeof(record->header));
	record->inode = inode;
	record->family = AF_UNIX;
	record->type = READ(socket, type);
	read_wanted_path(record->peer_path, address, length);
	record_submit(record);
}

/* Global, see identity.h. */
__noinline int connect_refused(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_failed tried = {.call = CALL_CONNECT};
	struct clew_cpu_state *cpu_state;
	struct clew_task_state *state;
	__u32 cpu = bpf_get_smp_processor_id();
	struct socket *socket;
	struct file *file;
	struct call call;

	cpu_state = this_cpu_state(cpu);
	state = task_state(task);
	if (!cpu_state || !state || !(state->flags & CLEW_TASK_STATE_DETAIL))
		return 0;
	read_call(task, &call);
	if (call.number != CALL_CONNECT)
		return 0;
	file = (struct file *)find_file(number_of(task), call.argument[0]);
	socket = file ? (struct socket *)READ_NUMBER(file, private_data) : NULL;
	if (!socket || READ(socket, sk, __sk_common.skc_family) != AF_UNIX)
		return 0;
	tried.task = state->serial;
	tried.object = socket_inode(socket);
	if (!tried.object)
		return 0;
	send_unconnected(cpu_state, cpu, socket, tried.object, call.argument[1], call.argument[2]);
	failed_emit(CLEW_FAILED_CONNECT, &tried);
	return 0;
}

/* The kernel gives up a packet at `place`. All but one in very many have been sent and received. */
static __always_inline bool begins_connection(__u64 place)
{
	return unlikely(place - unix_connect < unix_connect_end - unix_connect);
}

#endif
