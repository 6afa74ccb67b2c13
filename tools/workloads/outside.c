/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A task talks with somebody outside the machine: it receives, accepts a connection
 * from there, and connects. No task ends these waits, only the interrupt of the
 * interface; the task that asks for the answers keeps its CPU meanwhile, often the one
 * that is interrupted, and is a bystander. Variants: tcp, udp; with -bridge they are in
 * a network namespace of their own, behind a bridge that has the interface.
 *
 * The place has in its file `outside`, or `bridged`, who that is (address and port) and the
 * interrupt. Each message to it is "WHAT US KEY": `join` makes this KEY's conversation; `answer`,
 * from wherever it comes, is for that after so many us, and `call` goes to CALLED_PORT.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>

#include "receive.h"

enum { MAIN, RECEIVER, ASKER };

#define CALLED_PORT 7777
#define ADDRESS	    32

static const char *const calls[WAYS] = {"read", "recvfrom",   "recvmsg",
					"poll", "epoll_wait", "accept"};
static const long numbers[WAYS] = {SYS_read, SYS_recvfrom,   SYS_recvmsg,
				   SYS_poll, SYS_epoll_wait, SYS_accept};

/* One wait, that both know. */
struct lap {
	enum way way;
	_Atomic int fd; /* what the call gets; 0 not yet */
	_Atomic int done;
	uint64_t begun;
	uint64_t ended;
};

/* A socket, and what clew should call it. */
struct end {
	int fd;
	uint64_t inode;
	char local[ADDRESS];
	char peer[ADDRESS]; /* "" for none */
};

static struct lap *laps;
static int lap_count, orders;
static struct end conversation, listener;
static bool tcp, bridged;
static struct sockaddr_in outside;
static char interrupt[96];

static void read_place(void)
{
	char line[128], host[ADDRESS];
	unsigned port, number;
	FILE *file = fopen(wl_place(bridged ? "bridged" : "outside"), "re");

	if (!file || !fgets(line, sizeof(line), file) ||
	    sscanf(line, "%31s %u %u %63[^\n]", host, &port, &number, interrupt) != 4)
		wl_die("the place does not say who is outside");
	fclose(file);
	snprintf(interrupt, sizeof(interrupt), "interrupt %u of %.63s", number, strdupa(interrupt));
	outside = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(host), .sin_port = htons(port)};
}

static void write_address(char text[ADDRESS], const struct sockaddr_in *address)
{
	snprintf(text, ADDRESS, "%s:%u", inet_ntoa(address->sin_addr), ntohs(address->sin_port));
}

/* Asked while nobody waits there: this takes the socket's lock. */
static void describe(struct end *end, bool has_peer)
{
	struct sockaddr_in own;
	socklen_t size = sizeof(own);
	struct stat status;

	WL_CHECK(fstat(end->fd, &status));
	WL_CHECK(getsockname(end->fd, (struct sockaddr *)&own, &size));
	end->inode = status.st_ino;
	write_address(end->local, &own);
	if (has_peer)
		write_address(end->peer, &outside);
}

/* That the interface's interrupt ended the receiver's wait in that call, in which it slept at
 * `asleep`; 0: at some time. */
static void log_wait(const struct end *end, const char *name, bool poller, uint64_t begun,
		     uint64_t asleep, uint64_t ended)
{
	char object[48];
	struct wl_wait *wait;
	struct wl_fact *fact;

	/* A poller need not know for which of its sockets an interrupt wakes it. */
	snprintf(object, sizeof(object), "%ssocket:%llu", poller ? "?" : "",
		 (unsigned long long)end->inode);
	wait = wl_wait(RECEIVER, poller ? "poll" : "socket", name, object);
	wl_wait_times(wait, begun, asleep ?: begun, ended);
	wait->start_max = asleep ?: ended;
	wait->ended_by = WL_NOBODY;
	wl_copy(wait->context, sizeof(wait->context), "softirq");
	wl_rule("\"rule\":\"outside\",\"tid\":%d,\"from\":%llu,\"to\":%llu,\"call\":\"%s\","
		"\"local\":\"%s\",\"peer\":\"%s\",\"poller\":%s,"
		"\"interrupt\":\"%s\"",
		wl->tasks[RECEIVER].tid, (unsigned long long)begun, (unsigned long long)ended, name,
		end->local, end->peer, poller ? "true" : "false", interrupt);
	if (wl->fact_count >= WL_FACTS / 4)
		return;
	fact = wl_fact(RECEIVER, begun, ended);
	wl_charge(fact, RECEIVER, poller ? "poll" : "socket", 1, ended - begun);
	wl_charge(fact, RECEIVER, "unknown", 0, 0);
	wl_charge(fact, ASKER, "running|runqueue|unknown|sleep", 0, 0);
	snprintf(fact->says, sizeof(fact->says), "%s|%s", name, interrupt);
	/* clew need not know the socket of a poll. */
	if (!poller)
		snprintf(fact->says, sizeof(fact->says), "%s|%s|%s", name, interrupt,
			 end->peer[0] ? end->peer : end->local);
}

static void await_call(struct lap *lap)
{
	int fd = lap->way == ACCEPT ? listener.fd : conversation.fd, made = -1;

	if (lap->way == EPOLL_WAIT)
		fd = made = wl_watch(conversation.fd);
	lap->begun = wl_now();
	atomic_store(&lap->fd, fd);
	if (lap->way == ACCEPT)
		made = WL_CHECK(accept(fd, NULL, NULL));
	else
		wl_receive(lap->way, fd);
	lap->ended = wl_now();
	atomic_store(&lap->done, 1);
	if (wl_polls(lap->way))
		wl_receive(READ, conversation.fd);
	if (made >= 0)
		close(made);
}

/* Only one that finds itself asleep waits for what comes back; the switches are its own count of
 * that. */
static void connect_out(void)
{
	struct end end = {.fd = WL_CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
	long slept = wl_voluntary_switches();
	uint64_t begun = wl_now(), ended;

	WL_CHECK(connect(end.fd, (struct sockaddr *)&outside, sizeof(outside)));
	ended = wl_now();
	if (wl_voluntary_switches() == slept + 1) {
		describe(&end, true);
		log_wait(&end, "connect", false, begun, 0, ended);
	}
	close(end.fd);
}

static void receive(int self)
{
	if (self != RECEIVER)
		wl_die("the receiver is task %d", self);
	for (struct lap *lap = laps; lap < laps + lap_count; lap++) {
		await_call(lap);
		if (tcp)
			connect_out();
	}
}

static void tell(int fd, const char *what, unsigned microseconds)
{
	char text[64];
	int size =
		snprintf(text, sizeof(text), "%s %u %d\n", what, microseconds, wl->tasks[MAIN].tid);

	WL_CHECK(send(fd, text, size, 0));
}

static void ask(int self)
{
	if (self != ASKER)
		wl_die("the asker is task %d", self);
	for (struct lap *lap = laps; lap < laps + lap_count; lap++) {
		uint64_t asked;
		int fd = wl_await_order(&lap->fd);

		/* poll's first argument is an address. */
		wl_await_blocked(RECEIVER, numbers[lap->way],
				 lap->way == POLL ? WL_ANY_ARGUMENT : (unsigned long)fd);
		wl_sleep(wl_random(1000, 200000));
		asked = wl_now();
		/* Not by the conversation's own socket: what comes in while it is locked, the
		 * sender itself takes in. */
		tell(orders, lap->way == ACCEPT ? "call" : "answer", wl_random(500, 6000));
		while (!atomic_load(&lap->done) && wl_now() < asked + 10000000000ull)
			;
		if (!atomic_load(&lap->done))
			wl_die("nothing came from outside in 10 s");
		log_wait(lap->way == ACCEPT ? &listener : &conversation, calls[lap->way],
			 wl_polls(lap->way), lap->begun, asked, lap->ended);
	}
}

/* A conversation that has begun: names and routes are known from here on. */
static void begin_conversation(void)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(CALLED_PORT)};
	int one = 1;
	char text[64];

	orders = WL_CHECK(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	WL_CHECK(connect(orders, (struct sockaddr *)&outside, sizeof(outside)));
	conversation.fd =
		WL_CHECK(socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0));
	WL_CHECK(connect(conversation.fd, (struct sockaddr *)&outside, sizeof(outside)));
	tell(conversation.fd, "join", 0);
	WL_CHECK(recv(conversation.fd, text, sizeof(text), 0));
	describe(&conversation, true);
	if (!tcp)
		return;
	listener.fd = WL_CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	WL_CHECK(setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	WL_CHECK(bind(listener.fd, (struct sockaddr *)&own, sizeof(own)));
	WL_CHECK(listen(listener.fd, 1));
	describe(&listener, false);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "outside");

	tcp = strncmp(wl->variant, "tcp", 3) == 0;
	bridged = strstr(wl->variant, "-bridge");
	read_place();
	if (bridged) {
		int inside = WL_CHECK(open(wl_place("net-bridged"), O_RDONLY | O_CLOEXEC));

		WL_CHECK(setns(inside, CLONE_NEWNET));
	}
	begin_conversation();
	lap_count = wl_random(2, 4) + WAYS;
	laps = wl_shared(lap_count * sizeof(*laps));
	for (int i = 0; i < lap_count; i++) {
		/* Each way at least once. */
		laps[i].way = i < WAYS ? (enum way)i : (enum way)wl_random(READ, EPOLL_WAIT);
		if (laps[i].way == ACCEPT && !tcp)
			laps[i].way = RECVFROM;
	}
	wl_thread(self, receive);
	wl_thread(self, ask);
	wl_join(self, RECEIVER);
	wl_join(self, ASKER);
	wl_print();
	return 0;
}
