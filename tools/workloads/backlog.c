/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel keeps packets for a TCP socket that somebody has locked until it is unlocked; the
 * owner then takes them in: he wakes who waited for it, and has
 * nothing to do with it.
 *
 * The receiver waits for a byte from its peer; meanwhile a bystander, no task of the
 * graph, sends by the same socket as much as it can to somebody who reads all of it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "workload.h"

enum { MAIN, RECEIVER, PEER };

/* So many sleeps of the receiver in a lap may end by its peer. More would leave no room in the
 * graph: 149 sleeps were seen in one. */
enum { SLEEPS = 130 };

/* The state of a lap, shared by all processes. */
struct lap {
	_Atomic int begun;    /* the receiver is about to wait in this one */
	_Atomic int streamed; /* the bystander may send in this one */
	_Atomic int sending;  /* and does */
	_Atomic int ended;    /* what the receiver got at last */
	_Atomic int quiet;    /* the bystander has stopped */
	uint64_t got;
};

static struct lap *lap;
static int own, other, laps;
static pid_t bystander, reader;
static char object[48];

static void connect_both(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = WL_CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	socklen_t size = sizeof(address);
	struct stat status;

	WL_CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)));
	WL_CHECK(listen(listener, 1));
	WL_CHECK(getsockname(listener, (struct sockaddr *)&address, &size));
	own = WL_CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	WL_CHECK(connect(own, (struct sockaddr *)&address, sizeof(address)));
	other = WL_CHECK(accept(listener, NULL, NULL));
	WL_CHECK(fstat(own, &status));
	snprintf(object, sizeof(object), "socket:%llu", (unsigned long long)status.st_ino);
}

static void stream(void)
{
	static char data[1 << 18];

	for (int at = 1; at <= laps; at++) {
		wl_await(&lap->streamed, at);
		while (atomic_load(&lap->ended) < at) {
			WL_CHECK(write(own, data, sizeof(data)));
			atomic_store(&lap->sending, at);
		}
		atomic_store(&lap->quiet, at);
	}
}

static void swallow(void)
{
	static char data[1 << 18];

	while (read(other, data, sizeof(data)) > 0)
		;
}

/* A process that the graph knows nothing of. */
static pid_t beside(void (*function)(void))
{
	pid_t pid = WL_CHECK(fork());

	if (pid == 0) {
		function();
		_exit(0);
	}
	return pid;
}

static void receive(int self)
{
	char byte;

	for (int at = 1; at <= laps; at++) {
		wl->tasks[self].before = wl_now();
		atomic_store(&lap->begun, at);
		WL_CHECK(recv(own, &byte, 1, 0));
		lap->got = wl_now();
		atomic_store(&lap->ended, at);
		wl_await(&lap->quiet, at);
	}
}

static void talk(int self)
{
	uint64_t first = wl_now();

	for (int at = 1; at <= laps; at++) {
		uint64_t asleep, sent;

		wl_await(&lap->begun, at);
		wl_await_blocked(RECEIVER, SYS_recvfrom, own);
		asleep = wl_now();
		atomic_store(&lap->streamed, at);
		wl_await(&lap->sending, at);
		wl_spin(wl_random(10000, 500000));
		WL_CHECK(send(other, "x", 1, 0));
		sent = wl_now();
		wl_await(&lap->ended, at);
		/*
		 * Where the bystander takes it in, the sender need not be known. And that there is
		 * room again ends any sleep there: the reader makes it.
		 */
		for (int sleeps = 0; sleeps < SLEEPS; sleeps++) {
			struct wl_edge *edge = wl_edge("socket", self, RECEIVER, asleep, object);

			/* Before it returns, the call takes in what came for its own end, and
			 * confirms that: there is room for the bystander then. */
			edge->at_max = sent > lap->got ? sent : lap->got;
			edge->optional = true;
			/* The reader has its end locked, too, and may send what waits there. */
			wl_copy(edge->evidence, sizeof(edge->evidence), "exact|observed");
		}
		wl_rule("\"rule\":\"taken_in\",\"tid\":%d,\"call\":\"recvfrom\",\"object\":\"%s\","
			"\"from\":%llu,\"to\":%llu,\"senders\":[%"
			"d,%d],\"bystander\":%d",
			wl->tasks[RECEIVER].tid, object, (unsigned long long)asleep,
			(unsigned long long)lap->got, wl->tasks[self].tid, reader, bystander);
		wl_await(&lap->quiet, at);
	}
	/* Nearly all of them met the lock, and of those the sender is nearly always known. */
	wl_rule("\"rule\":\"sent\",\"tid\":%d,\"call\":\"recvfrom\",\"from\":%llu,\"to\":%llu,"
		"\"sender\":%d,\"count\":%d",
		wl->tasks[RECEIVER].tid, (unsigned long long)first, (unsigned long long)wl_now(),
		wl->tasks[self].tid, laps / 2);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "backlog");

	laps = wl_random(30, 60);
	lap = wl_shared(sizeof(*lap));
	connect_both();
	bystander = beside(stream);
	reader = beside(swallow);
	wl_thread(self, receive);
	wl_thread(self, talk);
	wl_join(self, RECEIVER);
	wl_join(self, PEER);
	WL_CHECK(waitpid(bystander, NULL, 0));
	kill(reader, SIGKILL);
	WL_CHECK(waitpid(reader, NULL, 0));
	wl_print();
	return 0;
}
