/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An object as strings, from which JSON and text are made. */
#include "words/describe.h"

#include <arpa/inet.h>
#include <clew/kernel/call_numbers.h>
#include <clew/tokens.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>

#include "base/device.h"
#include "format/text.h"
#include "trace/name.h"
#include "words/file.h"

static const char *object_kind_name(unsigned kind)
{
	static const char *const names[CLEW_OBJECT_KIND_COUNT] = {
		[CLEW_OBJECT_FILE] = "file",
		[CLEW_OBJECT_PIPE] = "pipe",
		[CLEW_OBJECT_SOCKET] = "socket",
		[CLEW_OBJECT_EVENTFD] = "eventfd",
		[CLEW_OBJECT_TIMERFD] = "timer",
		[CLEW_OBJECT_SIGNALFD] = "signalfd",
		[CLEW_OBJECT_INOTIFY] = "inotify",
		[CLEW_OBJECT_EPOLL] = "epoll",
		[CLEW_OBJECT_PIDFD] = "pidfd",
		[CLEW_OBJECT_IO_URING] = "io_uring",
		[CLEW_OBJECT_TTY] = "tty",
		[CLEW_OBJECT_DEVICE] = "device",
		[CLEW_OBJECT_ANONYMOUS] = "anonymous",
		[CLEW_OBJECT_FUTEX] = "futex",
		[CLEW_OBJECT_PATH] = "file",
		[CLEW_OBJECT_CHILD] = "child",
		[CLEW_OBJECT_FUNCTION] = "function",
		[CLEW_OBJECT_IPC] = "ipc",
		[CLEW_OBJECT_LOCK] = "lock",
		[CLEW_OBJECT_CGROUP] = "cgroup",
		[CLEW_OBJECT_REQUEST] = "request",
		[CLEW_OBJECT_TIMER] = "timer",
		[CLEW_OBJECT_WORK] = "work",
		[CLEW_OBJECT_MEMORY] = "memory",
	};

	return kind < CLEW_OBJECT_KIND_COUNT && names[kind] ? names[kind] : "unknown";
}

static const char *futex_operation_name(unsigned operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return "wait";
	case FUTEX_WAIT_BITSET:
		return "wait_bitset";
	case FUTEX_LOCK_PI:
		return "lock_pi";
	case FUTEX_LOCK_PI2:
		return "lock_pi2";
	case FUTEX_WAIT_REQUEUE_PI:
		return "wait_requeue_pi";
	default:
		return "other";
	}
}

void describe_endpoint(const struct clew_socket_record *socket, bool peer, struct endpoint *ret)
{
	static const uint8_t nobody[sizeof(socket->remote)];
	const void *address = peer ? socket->remote : socket->local;
	unsigned port = peer ? socket->peer_port : socket->local_port;
	char host[INET6_ADDRSTRLEN] = "";

	ret->text[0] = '\0';
	/* A listening socket, and one that receives from any address. */
	if (peer && socket->family != AF_UNIX && port == 0 &&
	    memcmp(address, nobody, sizeof(nobody)) == 0)
		return;
	if (socket->family == AF_UNIX)
		snprintf(ret->text, sizeof(ret->text), "%.*s", CLEW_UNIX_PATH_SIZE,
			 peer ? socket->peer_path : socket->local_path);
	else if (socket->family == AF_INET && inet_ntop(AF_INET, address, host, sizeof(host)))
		snprintf(ret->text, sizeof(ret->text), "%s:%u", host, port);
	else if (socket->family == AF_INET6 && inet_ntop(AF_INET6, address, host, sizeof(host)))
		snprintf(ret->text, sizeof(ret->text), "[%s]:%u", host, port);
}

static const char *socket_family_name(unsigned family)
{
	switch (family) {
	case AF_UNIX:
		return "unix";
	case AF_INET:
		return "inet";
	case AF_INET6:
		return "inet6";
	case AF_NETLINK:
		return "netlink";
	case AF_PACKET:
		return "packet";
	case AF_VSOCK:
		return "vsock";
	default:
		return "other";
	}
}

static const char *socket_protocol_name(const struct clew_socket_record *socket)
{
	if (socket->family != AF_INET && socket->family != AF_INET6)
		return socket_family_name(socket->family);
	return socket->type == SOCK_STREAM ? "tcp" : socket->type == SOCK_DGRAM ? "udp" : "raw";
}

static void describe_socket(const struct clew_trace *trace, const struct clew_object *object,
			    struct object_description *ret)
{
	const struct clew_socket_record *socket = clew_trace_socket(trace, object->number);
	char number[sizeof(":[18446744073709551615]")] = "";
	const char *path;

	/* One that no process has opened, as before accept(), has no number. */
	if (object->number)
		snprintf(number, sizeof(number), ":[%" PRIu64 "]", object->number);
	snprintf(ret->name, sizeof(ret->name), "socket%s", number);
	if (!socket)
		return;
	ret->family = socket_family_name(socket->family);
	ret->protocol = socket_protocol_name(socket);
	describe_endpoint(socket, false, &ret->local);
	describe_endpoint(socket, true, &ret->peer);
	path = ret->local.text[0] ? ret->local.text : ret->peer.text;
	if (socket->family == AF_UNIX && path[0])
		snprintf(ret->name, sizeof(ret->name), "unix socket %s", path);
	else if (ret->local.text[0] && socket->peer_port)
		snprintf(ret->name, sizeof(ret->name), "%s %s -> %s", ret->protocol,
			 ret->local.text, ret->peer.text);
	else if (ret->local.text[0])
		snprintf(ret->name, sizeof(ret->name), "%s %s", ret->protocol, ret->local.text);
	else
		snprintf(ret->name, sizeof(ret->name), "%s socket%s", ret->family, number);
}

/* Prints the path, with what a reader needs to find the file. */
static void print_path(const struct clew_trace *trace, struct object_description *ret)
{
	uint32_t mounts = ret->file->mount_namespace, own = clew_trace_mount_namespace(trace);
	char where[48] = "";

	if (mounts && own && mounts != own)
		snprintf(where, sizeof(where), " (in mount namespace %" PRIu32 ")", mounts);
	snprintf(ret->name, sizeof(ret->name), "%s%s%s", ret->path, where,
		 ret->file->header.flags & CLEW_FILE_DELETED ? " (deleted)" : "");
}

static void describe_file(const struct clew_trace *trace, const struct clew_object *object,
			  const struct clew_sleep *sleep, struct object_description *ret)
{
	const char *path;

	ret->file = clew_trace_file_then(trace, object->device, object->number,
					 sleep ? sleep->start : CLEW_TIME_OPEN, &path);
	ret->path = clew_true_path(object->device, object->number, path);
	if (ret->path)
		print_path(trace, ret);
	else if (path[0])
		snprintf(ret->name, sizeof(ret->name), "metadata of %s",
			 CLEW_DISK(trace, (uint32_t)object->number));
	else
		snprintf(ret->name, sizeof(ret->name), "inode %" PRIu64 " on %s", object->number,
			 CLEW_DISK(trace, object->device));
}

/* The pid namespace that pids in answers belong to: that of the capture's first process. */
static bool in_initial_namespace(const struct clew_trace *trace, uint32_t serial)
{
	const uint32_t initial = 0xeffffffc; /* PROC_PID_INIT_INO, part of the kernel's interface */
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	return task && task->pid_namespace == initial;
}

static void describe_child(const struct clew_trace *trace, const struct clew_object *object,
			   const struct clew_sleep *sleep, struct object_description *ret)
{
	int32_t argument = (int32_t)object->number;
	const struct clew_trace_task *child = NULL, *leader;

	/*
	 * The child that ended says more than the call's argument, which is in
	 * the caller's namespace.
	 */
	if (sleep && sleep->edge_type == CLEW_EDGE_EXIT)
		child = clew_trace_task(trace, sleep->ended_by);
	if (child) {
		leader = clew_trace_task(trace, child->process);
		ret->pid = child->pid;
		snprintf(ret->name, sizeof(ret->name), "child %s-%u",
			 leader ? leader->comm : child->comm, child->pid);
	} else if (argument == OBJECT_ANY_PID) {
		ret->pid = OBJECT_ANY_PID;
		snprintf(ret->name, sizeof(ret->name), "any child");
	} else if (argument > 0 && sleep && in_initial_namespace(trace, sleep->task)) {
		ret->pid = argument;
		snprintf(ret->name, sizeof(ret->name), "child %d", argument);
	} else {
		snprintf(ret->name, sizeof(ret->name),
			 argument > 0 ? "child" : "a child of a process group");
	}
}

static void describe_device(const struct clew_trace *trace, const struct clew_object *object,
			    const struct clew_sleep *sleep, struct object_description *ret)
{
	ret->file = clew_trace_file(trace, object->device, object->number, &ret->path);
	if (ret->path && ret->path[0])
		snprintf(ret->name, sizeof(ret->name), "%s", ret->path);
	else if (sleep && sleep->kind == CLEW_WAIT_THROTTLE)
		snprintf(ret->name, sizeof(ret->name), "%s %s", ret->kind,
			 CLEW_DISK(trace, object->device));
	else if (sleep && sleep->kind == CLEW_WAIT_MEMORY)
		snprintf(ret->name, sizeof(ret->name), "swap on %s",
			 CLEW_DISK(trace, object->device));
	else
		snprintf(ret->name, sizeof(ret->name), "%s %s", ret->kind,
			 DEVICE_TEXT(object->device));
}

const char *clew_lock_type_name(uint32_t type)
{
	if (type & CLEW_LOCK_MUTEX)
		return "mutex";
	if (type & CLEW_LOCK_RT)
		return "rtmutex";
	if (type & CLEW_LOCK_PERCPU)
		return "percpu-rwsem";
	if (type & CLEW_LOCK_SPIN)
		return type & (CLEW_LOCK_READ | CLEW_LOCK_WRITE) ? "rwlock" : "spinlock";
	return type & (CLEW_LOCK_READ | CLEW_LOCK_WRITE) ? "rwsem" : "other";
}

static void describe_lock(const struct clew_trace *trace, const struct clew_object *object,
			  uint64_t at, struct object_description *ret)
{
	const char *name;

	ret->function = clew_trace_text(trace, object->number);
	ret->lock = clew_trace_lock(trace, object->number, at, &name);
	if (ret->lock && ret->lock->inode)
		clew_trace_file_then(trace, ret->lock->device, ret->lock->inode,
				     ret->lock->header.time, &ret->path);
	if (ret->lock)
		snprintf(ret->name, sizeof(ret->name), "%s", name);
	else if (ret->function)
		snprintf(ret->name, sizeof(ret->name), "%s %s",
			 clew_lock_type_name(object->lock_type), ret->function);
	else
		snprintf(ret->name, sizeof(ret->name), "%s 0x%" PRIx64,
			 clew_lock_type_name(object->lock_type), object->number);
}

static void describe_request(const struct clew_trace *trace, const struct clew_object *object,
			     struct object_description *ret)
{
	const struct clew_block_request *block;
	const struct clew_trace_request *requests;
	size_t count;
	int used;

	requests = clew_trace_requests(trace, &count);
	if (object->number >= count) {
		snprintf(ret->name, sizeof(ret->name), "a request");
		return;
	}
	block = ret->request = &requests[object->number].block;
	if (block->swap && block->bytes)
		used = snprintf(
			ret->name, sizeof(ret->name),
			"swap-%s of %u bytes at sector %" PRIu64 " of %s",
			strcmp(clew_request_operation_name(block->operation, block->bytes), "read")
				? "out"
				: "in",
			block->bytes, block->sector, CLEW_DISK(trace, block->device));
	else if (block->sector == UINT64_MAX)
		used = snprintf(ret->name, sizeof(ret->name), "flush of %s",
				CLEW_DISK(trace, block->device));
	else if (block->bytes == 0)
		used = snprintf(ret->name, sizeof(ret->name), "empty %s of %s",
				clew_request_operation_name(block->operation, block->bytes),
				CLEW_DISK(trace, block->device));
	else
		used = snprintf(ret->name, sizeof(ret->name),
				"%s of %u bytes at sector %" PRIu64 " of %s",
				clew_request_operation_name(block->operation, block->bytes),
				block->bytes, block->sector, CLEW_DISK(trace, block->device));
	if (block->inode)
		ret->path = clew_file_path(trace, block->file_device, block->inode, block->queued);
	if (clew_is_disk_inode(block->file_device, block->inode) && !ret->path)
		snprintf(ret->name + used, sizeof(ret->name) - (size_t)used, " (metadata)");
	if (ret->path && ret->path[0])
		snprintf(ret->name + used, sizeof(ret->name) - (size_t)used, " (%s)", ret->path);
}

/* The steps of the sleep say when the timer was due. */
static void describe_timer(const struct clew_trace *trace, const struct clew_object *object,
			   const struct clew_sleep *sleep, struct object_description *ret)
{
	uint64_t start = clew_trace_start(trace);

	ret->function =
		object->kind == CLEW_OBJECT_TIMER ? clew_trace_text(trace, object->number) : NULL;
	for (uint32_t i = 0; sleep && i < sleep->link_count; i++) {
		if (sleep->links[i].kind != CLEW_LINK_TIMER)
			continue;
		ret->expires = sleep->links[i].begin;
		if (!ret->function)
			ret->function = clew_trace_text(trace, sleep->links[i].number);
	}
	snprintf(ret->name, sizeof(ret->name),
		 object->kind == CLEW_OBJECT_TIMERFD ? "timerfd" : "timer");
	if (ret->expires > start) {
		size_t used = strlen(ret->name);

		snprintf(ret->name + used, sizeof(ret->name) - used, " due at +%s",
			 CLEW_DURATION(ret->expires - start));
	}
}

/*
 * A wait without an object: its call, or the kind of its ring, is all that is
 * known.
 */
static bool describe_nothing(const struct clew_sleep *sleep, struct object_description *ret)
{
	const char *call = sleep ? clew_call_name(sleep->call) : NULL;

	if (sleep && sleep->kind == CLEW_WAIT_IO_URING &&
	    (sleep->call == CLEW_NR_io_getevents || sleep->call == CLEW_NR_io_pgetevents)) {
		ret->kind = "aio";
		snprintf(ret->name, sizeof(ret->name), "libaio context");
		return true;
	}
	if (!sleep || sleep->kind != CLEW_WAIT_OTHER || !call)
		return false;
	ret->kind = "call";
	snprintf(ret->name, sizeof(ret->name), "%s", call);
	return true;
}

bool clew_waits_for_epoll(const struct clew_sleep *sleep)
{
	return sleep->object.kind == CLEW_OBJECT_EPOLL && sleep->kind == CLEW_WAIT_POLL &&
	       clew_call_name(sleep->call);
}

/* The kinds whose number is all that there is to say, or stands for a text. */
static void describe_number(const struct clew_trace *trace, const struct clew_object *object,
			    struct object_description *ret)
{
	char *name = ret->name, place[CLEW_PATH_SIZE];
	size_t size = sizeof(ret->name);

	switch (object->kind) {
	case CLEW_OBJECT_PATH:
		ret->path = clew_trace_text(trace, object->number);
		snprintf(name, size, "%s", ret->path ?: "a path");
		break;
	case CLEW_OBJECT_PIPE:
		snprintf(name, size, "pipe:[%" PRIu64 "]", object->number);
		break;
	case CLEW_OBJECT_EVENTFD:
		snprintf(name, size, "eventfd:[%" PRIu64 "]", object->number);
		break;
	case CLEW_OBJECT_FUTEX:
		ret->operation = futex_operation_name(object->futex_operation);
		if (clew_address_name(trace, object, place, sizeof(place)))
			snprintf(name, size, "futex %s", place);
		else
			snprintf(name, size, "futex 0x%" PRIx64, object->number);
		break;
	case CLEW_OBJECT_FUNCTION:
		ret->function = clew_trace_text(trace, object->number);
		if (ret->function)
			snprintf(name, size, "%s", ret->function);
		else
			snprintf(name, size, "0x%" PRIx64, object->number);
		break;
	case CLEW_OBJECT_IPC:
		snprintf(name, size, "System V object %" PRIu64, object->number);
		break;
	case CLEW_OBJECT_WORK:
		ret->function = clew_trace_text(trace, object->number);
		snprintf(name, size, "work item %s", ret->function ?: "of an unknown function");
		break;
	case CLEW_OBJECT_CGROUP:
		ret->path = clew_trace_cgroup(trace, object->number);
		snprintf(name, size, "cgroup %s", ret->path ?: "unknown");
		break;
	case CLEW_OBJECT_MEMORY:
		snprintf(name, size, "memory %s",
			 object->number == CLEW_REASON_COMPACTION ? "compaction" : "reclaim");
		break;
	case CLEW_OBJECT_ANONYMOUS:
		snprintf(name, size, "anonymous descriptor");
		break;
	default:
		snprintf(name, size, "%s", ret->kind);
		break;
	}
}

bool object_describe(const struct clew_trace *trace, const struct clew_object *object,
		     const struct clew_sleep *sleep, struct object_description *ret)
{
	return object_describe_then(trace, object, sleep, sleep ? sleep->start : CLEW_TIME_OPEN,
				    ret);
}

bool object_describe_then(const struct clew_trace *trace, const struct clew_object *object,
			  const struct clew_sleep *sleep, uint64_t at,
			  struct object_description *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = object_kind_name(object->kind);
	if (object->kind == CLEW_OBJECT_NONE)
		return describe_nothing(sleep, ret);
	if (sleep && object == &sleep->object && !clew_waits_for_object(sleep))
		return false;
	switch (object->kind) {
	case CLEW_OBJECT_FILE:
		describe_file(trace, object, sleep, ret);
		break;
	case CLEW_OBJECT_SOCKET:
		describe_socket(trace, object, ret);
		break;
	case CLEW_OBJECT_CHILD:
		describe_child(trace, object, sleep, ret);
		break;
	case CLEW_OBJECT_TTY:
	case CLEW_OBJECT_DEVICE:
		describe_device(trace, object, sleep, ret);
		break;
	case CLEW_OBJECT_TIMERFD:
	case CLEW_OBJECT_TIMER:
		describe_timer(trace, object, sleep, ret);
		break;
	case CLEW_OBJECT_LOCK:
		describe_lock(trace, object, at, ret);
		break;
	case CLEW_OBJECT_REQUEST:
		describe_request(trace, object, ret);
		break;
	default:
		describe_number(trace, object, ret);
		break;
	}
	return true;
}
