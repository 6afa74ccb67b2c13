/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The helper process: takes one request after the other until the socket is closed. It has been
 * executed anew, so it holds no memory, lock or descriptor of the recorder. Its signals are
 * blocked: it ends with the recorder, or is killed by it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "opener/internal.h"

#define PROCESS_MOST (64u << 20) /* bytes of a file in /proc */

static int read_process(const struct opener_request *request)
{
	static const char *const names[] = {
		[CLEW_OPEN_MAPS] = "maps",
		[CLEW_OPEN_ENVIRON] = "environ",
		[CLEW_OPEN_COMMAND_LINE] = "cmdline",
	};
	char path[64];
	int file, copy;

	if (request->parts >= sizeof(names) / sizeof(names[0]))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/%s", request->pid, names[request->parts]);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	copy = opener_copy_stream(file, PROCESS_MOST);
	close(file);
	return copy;
}

void opener_serve(const struct opener_request *request, int descriptor, void (*progress)(void),
		  struct opener_reply *ret_reply, int *ret_descriptor)
{
	int r;

	*ret_reply = (struct opener_reply){.opened.path = -1};
	*ret_descriptor = -1;
	switch (request->kind) {
	case OPENER_MAPPED:
	case OPENER_NAMED:
	case OPENER_BELOW:
		ret_reply->result = opener_find(request, descriptor, ret_reply);
		*ret_descriptor = ret_reply->opened.path;
		return;
	case OPENER_READ:
		r = opener_copy(descriptor, request->size, request->parts, progress);
		break;
	case OPENER_PROCESS:
		r = read_process(request);
		break;
	case OPENER_GLOB:
		r = opener_glob(request->text);
		break;
	default:
		r = -EINVAL;
	}
	ret_reply->result = r < 0 ? r : 0;
	*ret_descriptor = r < 0 ? -1 : r;
}

static int send_reply(struct opener_reply *reply, int descriptor)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec part = {.iov_base = reply,
			     .iov_len =
				     offsetof(struct opener_reply, path) + strlen(reply->path) + 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	reply->cpu_time = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	if (descriptor >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						  .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
	}
	return sendmsg(OPENER_SOCKET, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void report_progress(void)
{
	static struct opener_reply reply = {.result = -EINPROGRESS, .opened.path = -1};

	send_reply(&reply, -1);
}

/* The size of the request; 0: the other side is gone. *ret_descriptor: -1 none. */
static ssize_t take_request(struct opener_request *request, int *ret_descriptor)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = request, .iov_len = sizeof(*request) - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t size;

	*ret_descriptor = -1;
	memset(request, 0, sizeof(*request));
	do
		size = recvmsg(OPENER_SOCKET, &message, MSG_CMSG_CLOEXEC);
	while (size < 0 && errno == EINTR);
	if (size > 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(ret_descriptor, CMSG_DATA(&control.header), sizeof(*ret_descriptor));
	return size;
}

int clew_opener_main(void)
{
	static struct opener_request request;
	static struct opener_reply reply;
	int given, found, type = 0;
	socklen_t length = sizeof(type);

	if (getsockopt(OPENER_SOCKET, SOL_SOCKET, SO_TYPE, &type, &length) < 0 ||
	    type != SOCK_SEQPACKET)
		return 2;
	prctl(PR_SET_NAME, "clew-opener");
	store_thread_hurry();
	while (take_request(&request, &given) > 0) {
		opener_serve(&request, given, report_progress, &reply, &found);
		if (given >= 0)
			close(given);
		if (send_reply(&reply, found) < 0)
			break;
		if (found >= 0)
			close(found);
	}
	return 0;
}
