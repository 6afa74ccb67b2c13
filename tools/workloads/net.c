/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two tasks talk over TCP or UDP, on loopback or between two network namespaces:
 * an accept that a connect ends, ping-pong, and a writer whose buffers are full until
 * the other reads. Variants: tcp, udp, full; with -veth between namespaces that are
 * neighbours, with -bridge or -routed there is a third between them that hands on.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>

#include "receive.h"

enum { SERVER, CLIENT };
enum { FULL, DRAINED };

static const char *const calls[RECEIVE_WAYS] = {"read", "recvfrom", "recvmsg", "poll",
						"epoll_wait"};
static const long numbers[RECEIVE_WAYS] = {SYS_read, SYS_recvfrom, SYS_recvmsg, SYS_poll,
					   SYS_epoll_wait};

/* The place where a task waits, for the other to look at. */
struct player {
	_Atomic int fd;
	uint64_t inode;
};

static struct player *players;
static int members[2], listener = -1, udp[2], laps;
static struct sockaddr_in address;
static enum way way[2];
static int own_namespace = -1;

static bool apart(void)
{
	return strchr(wl->variant, '-');
}

/* From now on this thread's sockets are made in that namespace of the place; NULL: in its own
 * again. */
static void enter(const char *name)
{
	int fd = own_namespace;

	if (!apart())
		return;
	if (own_namespace < 0)
		own_namespace = WL_CHECK(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
	if (name)
		fd = WL_CHECK(open(wl_place(name), O_RDONLY | O_CLOEXEC));
	WL_CHECK(setns(fd, CLONE_NEWNET));
	if (name)
		close(fd);
}

static uint64_t inode_of(int fd)
{
	struct stat status;

	WL_CHECK(fstat(fd, &status));
	return status.st_ino;
}

static void be_at(int me, int fd)
{
	players[me].inode = inode_of(fd);
	atomic_store(&players[me].fd, fd);
}

static const char *object_of(int me)
{
	static _Thread_local char object[48];

	snprintf(object, sizeof(object), "socket:%llu", (unsigned long long)players[me].inode);
	return object;
}

/* Ends the other's wait by `call` at `act`, done at `done`; a packet carries that over, and may be
 * taken in only later. */
static void log_packet(const struct wl_act *act, uint64_t done, const char *kind, const char *call,
		       const char *object)
{
	struct wl_wait *wait = wl_wait(act->to, kind, call, object);

	wl_edge("socket", act->from, act->to, act->at_min, object)->at_max = done;
	wl_wait_times(wait, act->before, act->at_min, wl_now());
	wait->ended_by = act->from;
	wl_copy(wait->context, sizeof(wait->context), "softirq");
}

static void receive(int me, int fd)
{
	int epoll = way[me] == EPOLL_WAIT ? wl_watch(fd) : -1;

	wl->tasks[members[me]].before = wl_now();
	atomic_store(&players[me].fd, epoll >= 0 ? epoll : fd);
	wl_receive(way[me], epoll >= 0 ? epoll : fd);
	if (wl_polls(way[me]))
		wl_receive(READ, fd);
	if (epoll >= 0)
		close(epoll);
	atomic_store(&players[me].fd, -1);
	atomic_store(&wl->tasks[members[me]].step, 1);
}

static void send_to(int me, int fd)
{
	int other = !me;
	struct wl_act act;
	uint64_t deadline = 0, done;
	bool poller = wl_polls(way[other]);
	char object[64];

	while (atomic_load(&players[other].fd) < 0)
		wl_nap(&deadline, "a player to be at a socket");
	/* poll's first argument is an address. */
	wl_await_blocked(members[other], numbers[way[other]],
			 way[other] == POLL ? WL_ANY_ARGUMENT
					    : (unsigned long)atomic_load(&players[other].fd));
	wl_sleep(wl_random(1000, 200000));
	/* An interrupt does not know which of a poller's sockets it wakes it for. */
	snprintf(object, sizeof(object), "%s%s", poller ? "?" : "", object_of(other));
	act = wl_act(members[me], members[other]);
	if (wl_random(0, 1))
		WL_CHECK(send(fd, "ball", 4, 0));
	else
		WL_CHECK(write(fd, "ball", 4));
	done = wl_now();
	wl_await(&wl->tasks[members[other]].step, 1);
	log_packet(&act, done, poller ? "poll" : "socket", calls[way[other]], object);
	atomic_store(&wl->tasks[members[other]].step, 0);
}

static int accept_one(int self)
{
	int fd;

	be_at(SERVER, listener);
	wl->tasks[self].before = wl_now();
	fd = WL_CHECK(accept(listener, NULL, NULL));
	atomic_store(&players[SERVER].fd, -1);
	atomic_store(&wl->tasks[self].step, 1);
	return fd;
}

static int connect_to_it(int self)
{
	int fd, one = 1, small = 4096;
	struct wl_act act;
	uint64_t done;
	char object[48];

	enter("net-b");
	fd = WL_CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	enter(NULL);
	WL_CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	wl_await_blocked(members[SERVER], SYS_accept, listener);
	wl_copy(object, sizeof(object), object_of(SERVER));
	act = wl_act(self, members[SERVER]);
	WL_CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)));
	done = wl_now();
	/* If its own handshake found it asleep. */
	wl_edge("socket", self, self, act.at_min, "")->optional = true;
	WL_CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	wl_await(&wl->tasks[members[SERVER]].step, 1);
	log_packet(&act, done, "socket", "accept", object);
	atomic_store(&wl->tasks[members[SERVER]].step, 0);
	return fd;
}

static void fill(int fd)
{
	char data[4096];

	memset(data, 'x', sizeof(data));
	/* Packets on their way arrive, and acknowledgements that were put off leave. */
	for (int quiet = 0; quiet < 2; wl_sleep(45000000)) {
		quiet++;
		while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
			quiet = 0;
	}
}

static void write_into_full(int self, int fd)
{
	fill(fd);
	be_at(CLIENT, fd);
	wl->tasks[self].before = wl_now();
	atomic_store(&wl->numbers[FULL], 1);
	WL_CHECK(write(fd, "x", 1));
	atomic_store(&wl->numbers[DRAINED], 1);
}

static void drain(int self, int fd)
{
	static char data[1 << 20];
	struct wl_act act;

	wl_await(&wl->numbers[FULL], 1);
	wl_await_blocked(members[CLIENT], SYS_write, atomic_load(&players[CLIENT].fd));
	act = wl_act(self, members[CLIENT]);
	while (!atomic_load(&wl->numbers[DRAINED]) &&
	       recv(fd, data, sizeof(data), MSG_DONTWAIT) != 0)
		wl_sleep(20000);
	log_packet(&act, wl_now(), "socket", "write", object_of(CLIENT));
}

static void play(int self)
{
	int me = self - members[0], fd;
	bool full = strncmp(wl->variant, "full", 4) == 0;

	if (strncmp(wl->variant, "udp", 3) == 0)
		fd = udp[me];
	else
		fd = me == SERVER ? accept_one(self) : connect_to_it(self);
	if (full && me == SERVER) {
		drain(self, fd);
		return;
	}
	if (full) {
		write_into_full(self, fd);
		return;
	}
	players[me].inode = inode_of(fd);
	for (int lap = 0; lap < laps; lap++) {
		if (me == SERVER) {
			receive(me, fd);
			send_to(me, fd);
		} else {
			send_to(me, fd);
			receive(me, fd);
		}
	}
}

/* By the way that the packets are to take. */
static const char *own_address(const char *name)
{
	static const struct {
		const char *way, *a, *b;
	} ways[] = {
		{"-veth", "10.231.77.1", "10.231.77.2"},
		{"-bridge", "10.231.78.1", "10.231.78.2"},
		{"-routed", "10.231.79.1", "10.231.79.5"},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strstr(wl->variant, ways[i].way))
			return strcmp(name, "net-a") == 0 ? ways[i].a : ways[i].b;
	return "127.0.0.1";
}

static int bound(const char *name, int type)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	int small = 4096, fd;

	enter(name);
	fd = WL_CHECK(socket(AF_INET, type | SOCK_CLOEXEC, 0));
	enter(NULL);
	own.sin_addr.s_addr = inet_addr(own_address(name));
	if (type == SOCK_STREAM)
		WL_CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	WL_CHECK(bind(fd, (struct sockaddr *)&own, sizeof(own)));
	return fd;
}

static void name_of(int fd)
{
	socklen_t size = sizeof(address);

	WL_CHECK(getsockname(fd, (struct sockaddr *)&address, &size));
}

/* Two sockets connected to each other, that know their neighbour's address already. */
static void make_udp(void)
{
	char text[8];

	udp[SERVER] = bound("net-a", SOCK_DGRAM);
	udp[CLIENT] = bound("net-b", SOCK_DGRAM);
	for (int me = 0; me < 2; me++) {
		name_of(udp[!me]);
		WL_CHECK(connect(udp[me], (struct sockaddr *)&address, sizeof(address)));
	}
	for (int me = 0; me < 2; me++) {
		WL_CHECK(send(udp[me], "hello", 5, 0));
		WL_CHECK(recv(udp[!me], text, sizeof(text), 0));
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "net");
	bool processes = wl_random(0, 1);

	laps = wl_random(5, 12);
	players = wl_shared(2 * sizeof(*players));
	for (int i = 0; i < 2; i++) {
		members[i] = self + 1 + i;
		players[i].fd = -1;
		way[i] = wl_random(0, RECEIVE_WAYS - 1);
	}
	if (apart()) {
		wl_place("net-a");
		wl_place("net-b");
	}
	if (strncmp(wl->variant, "udp", 3) == 0) {
		make_udp();
	} else {
		listener = bound("net-a", SOCK_STREAM);
		WL_CHECK(listen(listener, 1));
		name_of(listener);
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
