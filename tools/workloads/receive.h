/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ways to wait for what comes for a socket, by the calls that do it. */
#ifndef WORKLOAD_RECEIVE_H
#define WORKLOAD_RECEIVE_H

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "workload.h"

/* The last one is for a listener. */
enum way { READ, RECVFROM, RECVMSG, POLL, EPOLL_WAIT, RECEIVE_WAYS, ACCEPT = RECEIVE_WAYS, WAYS };

/* True if it only reports that there is something. */
WL_FINE bool wl_polls(enum way way)
{
	return way == POLL || way == EPOLL_WAIT;
}

/* An epoll instance that watches a socket. */
WL_FINE int wl_watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = WL_CHECK(epoll_create1(EPOLL_CLOEXEC));

	WL_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	return epoll;
}

/* The one call. `fd`: the socket, or what watches it. */
WL_FINE void wl_receive(enum way way, int fd)
{
	char text[64];
	struct iovec vector = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	struct epoll_event event;

	switch (way) {
	case READ:
		WL_CHECK(read(fd, text, sizeof(text)));
		break;
	case RECVFROM:
		WL_CHECK(recv(fd, text, sizeof(text), 0));
		break;
	case RECVMSG:
		WL_CHECK(recvmsg(fd, &message, 0));
		break;
	case POLL:
		WL_CHECK(poll(&polled, 1, -1));
		break;
	default:
		WL_CHECK(epoll_wait(fd, &event, 1, -1));
	}
}

#endif
