/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two tasks play ping-pong over a pair of Unix sockets. Variants: stream, datagram, sequence. */
#include <sys/socket.h>

#include "workload.h"

static int members[2], ends[2], laps;
static char object[2][48];
static const char *call;

/*
 * Whoever takes a message from a stream also wakes its sender, if that sleeps on
 * the same socket for an answer. So nobody waits before the message is taken.
 */
static void receive(int me)
{
	char text[64];
	struct iovec vector = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	wl->tasks[members[me]].before = wl_now();
	if (strcmp(call, "read") == 0)
		WL_CHECK(read(ends[me], text, sizeof(text)));
	else if (strcmp(call, "recvfrom") == 0)
		WL_CHECK(recv(ends[me], text, sizeof(text), 0));
	else
		WL_CHECK(recvmsg(ends[me], &message, 0));
	atomic_store(&wl->tasks[members[me]].step, 1);
}

static void send_to(int me)
{
	long number = strcmp(call, "read") == 0	      ? SYS_read
		      : strcmp(call, "recvfrom") == 0 ? SYS_recvfrom
						      : SYS_recvmsg;
	struct wl_act act;

	wl_await_blocked(members[!me], number, ends[!me]);
	wl_sleep(wl_random(1000, 200000));
	act = wl_act(members[me], members[!me]);
	if (wl_random(0, 1))
		WL_CHECK(send(ends[me], "ball", 4, 0));
	else
		WL_CHECK(write(ends[me], "ball", 4));
	wl_acted(&act, "socket", "socket", call, object[!me]);
	wl_await(&wl->tasks[members[!me]].step, 1);
	atomic_store(&wl->tasks[members[!me]].step, 0);
}

static void play(int self)
{
	int me = self - members[0];

	for (int lap = 0; lap < laps; lap++) {
		if (me == 0) {
			send_to(me);
			receive(me);
		} else {
			receive(me);
			send_to(me);
		}
	}
}

int main(int argc, char **argv)
{
	static const char *const calls[] = {"read", "recvfrom", "recvmsg"};
	int self = wl_begin(argc, argv, "socket");
	bool processes = wl_random(0, 1);
	int type = SOCK_STREAM;

	if (strcmp(wl->variant, "datagram") == 0)
		type = SOCK_DGRAM;
	else if (strcmp(wl->variant, "sequence") == 0)
		type = SOCK_SEQPACKET;
	laps = wl_random(5, 15);
	call = calls[wl_random(0, 2)];
	WL_CHECK(socketpair(AF_UNIX, type, 0, ends));
	for (int i = 0; i < 2; i++) {
		struct stat status;

		WL_CHECK(fstat(ends[i], &status));
		snprintf(object[i], sizeof(object[i]), "socket:%llu",
			 (unsigned long long)status.st_ino);
		members[i] = self + 1 + i;
	}
	for (int i = 0; i < 2; i++) {
		if (processes)
			wl_fork(self, play);
		else
			wl_thread(self, play);
	}
	for (int i = 0; i < 2; i++) {
		if (processes)
			wl_reap(self, members[i]);
		else
			wl_join(self, members[i]);
	}
	wl_print();
	return 0;
}
