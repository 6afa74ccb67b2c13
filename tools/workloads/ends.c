/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits that never end, and who has the other end of each: one process or two, a
 * child that inherited it, the waiter alone or with another, or nobody.
 *
 * Prints a line for each, "NAME waiter TID, followed TID, holders TID..", where 0
 * is nobody, then "ready". With `late` the waits begin at the next line of input
 * only. All ends with its input.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The end that the waiter has, and the other one; the same of another pipe in a set. */
struct ends {
	int near, far, near2, far2;
};

enum who { ONE, TWO, INHERITED, FORKED, ALONE, WITH_SELF, THREAD, NOBODY };

struct variant {
	const char *kind;
	enum who who;
};

static const char *const whos[] = {"one",   "two",	 "inherited", "forked",
				   "alone", "with-self", "thread",    "nobody"};

static const struct variant variants[] = {
	{"pipe", ONE},
	{"pipe", TWO},
	{"pipe", INHERITED},
	{"pipe", FORKED},
	{"pipe", ALONE},
	{"pipe", WITH_SELF},
	{"pipe", THREAD},
	{"full", ONE},
	{"full", TWO},
	{"fifo", ONE},
	{"fifo", TWO},
	{"fifo", INHERITED},
	{"unix", ONE},
	{"unix", TWO},
	{"unix", WITH_SELF},
	{"datagram", ONE},
	{"datagram", NOBODY},
	{"tcp", ONE},
	{"tcp", TWO},
	{"tcp", INHERITED},
	{"dual", ONE},
	{"eventfd", ONE},
	{"eventfd", TWO},
	{"eventfd", THREAD},
	{"eventfd", NOBODY},
	{"poll", ONE},
	{"poll", TWO},
	{"polls", ONE},
	{"unix-backlog", ONE},
	{"tcp-backlog", ONE},
	{"tcp-backlog", TWO},
	{"select", ONE},
	{"select", TWO},
	{"select", INHERITED},
	{"epoll", ONE},
	{"epoll", TWO},
	{"epoll", FORKED},
	{"pollset", ONE},
	{"epoll-listener", ONE},
	{"select-listener", ONE},
};

static int go[2]; /* whoever is to wait first waits until this is closed */

static void need(bool good, const char *what)
{
	if (!good)
		err(1, "%s", what);
}

static void make_fifo(struct ends *ends)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/clew-ends-%d", getpid());
	need(!mkfifo(path, 0600), "mkfifo");
	ends->near = open(path, O_RDONLY | O_NONBLOCK);
	ends->far = open(path, O_WRONLY);
	unlink(path);
	need(ends->near >= 0 && ends->far >= 0 && !fcntl(ends->near, F_SETFL, O_RDONLY), "fifo");
}

/* `dual`: the server takes IPv6 and IPv4. `accepts`: or else the far end is the listener. */
static void make_tcp(struct ends *ends, bool dual, bool accepts)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(dual ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	socklen_t size = dual ? sizeof(six) : sizeof(four);
	struct sockaddr *address = dual ? (struct sockaddr *)&six : (struct sockaddr *)&four;

	need(!bind(listener, address, size) && !listen(listener, 4), "listen");
	need(!getsockname(listener, address, &size), "getsockname");
	if (dual)
		four.sin_port = six.sin6_port;
	ends->near = socket(AF_INET, SOCK_STREAM, 0);
	need(!connect(ends->near, (struct sockaddr *)&four, sizeof(four)), "connect");
	ends->far = listener;
	if (!accepts)
		return;
	ends->far = accept(listener, NULL, NULL);
	need(ends->far >= 0, "accept");
	close(listener);
}

static void make_backlog(struct ends *ends)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int size = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "clew-ends-%d", getpid());
	socklen_t length = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)size);

	ends->far = socket(AF_UNIX, SOCK_STREAM, 0);
	ends->near = socket(AF_UNIX, SOCK_STREAM, 0);
	need(!bind(ends->far, (struct sockaddr *)&name, length) && !listen(ends->far, 4), "listen");
	need(!connect(ends->near, (struct sockaddr *)&name, length), "connect");
}

static bool is_set(const char *kind)
{
	return !strncmp(kind, "select", 6) || !strncmp(kind, "epoll", 5) ||
	       !strcmp(kind, "pollset");
}

static void close_near(struct ends ends)
{
	close(ends.near);
	if (ends.near2 >= 0)
		close(ends.near2);
}

static void close_far(struct ends ends)
{
	close(ends.far);
	if (ends.far2 >= 0)
		close(ends.far2);
}

static struct ends make(const char *kind)
{
	struct ends ends = {-1, -1, -1, -1};
	int pair[2];

	if (!strcmp(kind, "fifo")) {
		make_fifo(&ends);
	} else if (!strncmp(kind, "unix", 4) && kind[4]) {
		make_backlog(&ends);
	} else if (!strcmp(kind, "unix") || !strcmp(kind, "datagram")) {
		need(!socketpair(AF_UNIX, *kind == 'd' ? SOCK_DGRAM : SOCK_STREAM, 0, pair),
		     "socketpair");
		ends.near = pair[0];
		ends.far = pair[1];
	} else if (!strcmp(kind, "tcp") || !strcmp(kind, "dual")) {
		make_tcp(&ends, *kind == 'd', true);
	} else if (!strcmp(kind, "tcp-backlog")) {
		make_tcp(&ends, false, false);
	} else if (!strcmp(kind, "eventfd")) {
		ends.near = eventfd(0, 0);
		ends.far = dup(ends.near);
	} else {
		need(!pipe(pair), "pipe");
		ends.near = pair[!strcmp(kind, "full")];
		ends.far = pair[!!strcmp(kind, "full")];
	}
	if (is_set(kind)) {
		need(!pipe(pair), "pipe");
		ends.near2 = pair[0];
		ends.far2 = pair[1];
	}
	if (strstr(kind, "-listener")) {
		close(ends.near2);
		close(ends.far2);
		ends.near2 = socket(AF_INET, SOCK_STREAM, 0);
		ends.far2 = -1;
		need(!listen(ends.near2, 4), "listen");
	}
	return ends;
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

/* A child that dies with its parent. 0: in it. */
static pid_t child(void)
{
	pid_t parent = getpid(), pid = fork();

	need(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

/* Waits for either of the near ends. */
static void await_set(const char *kind, struct ends ends)
{
	struct pollfd polls[] = {{.fd = ends.near, .events = POLLIN},
				 {.fd = ends.near2, .events = POLLIN}};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	fd_set set;

	need(!epoll_ctl(epoll, EPOLL_CTL_ADD, ends.near, &event) &&
		     !epoll_ctl(epoll, EPOLL_CTL_ADD, ends.near2, &event),
	     "epoll_ctl");
	for (;;) {
		FD_ZERO(&set);
		FD_SET(ends.near, &set);
		FD_SET(ends.near2, &set);
		if (*kind == 's')
			select(FD_SETSIZE, &set, NULL, NULL, NULL);
		else if (*kind == 'e')
			epoll_wait(epoll, &event, 1, -1);
		else
			poll(polls, 2, -1);
	}
}

/* Waits on the near end in the way of its kind. */
static void await(const char *kind, struct ends ends)
{
	static char block[1 << 16];
	struct pollfd polls[] = {{.fd = ends.near, .events = POLLIN},
				 {.fd = ends.near, .events = POLLPRI}};

	(void)!read(go[0], block, 1);
	if (is_set(kind))
		await_set(kind, ends);
	for (;;) {
		if (!strncmp(kind, "poll", 4))
			poll(polls, kind[4] ? 2 : 1, -1);
		else if (!strcmp(kind, "full"))
			(void)!write(ends.near, block, sizeof(block));
		else
			(void)!read(ends.near, block, 8);
	}
}

static void *sleep_on(void *tid)
{
	*(pid_t *)tid = gettid();
	wait_for_ever();
	return NULL;
}

/* In the waiter: its own other thread, if there is to be one, is told through `told`. */
static void be_waiter(const struct variant *variant, struct ends ends, int told)
{
	static volatile pid_t tid;
	pthread_t thread;

	if (variant->who != ALONE && variant->who != WITH_SELF && variant->who != THREAD)
		close_far(ends);
	if (variant->who == THREAD) {
		need(!pthread_create(&thread, NULL, sleep_on, (void *)&tid), "pthread_create");
		while (!tid)
			usleep(1000);
	}
	(void)!write(told, (void *)&tid, sizeof(tid));
	close(told);
	await(variant->kind, ends);
}

/* A holder; *ret_child: a child that has the end too, which it then waits for. */
static pid_t make_holder(const struct variant *variant, struct ends ends, pid_t *ret_child)
{
	int told[2];
	pid_t pid;

	*ret_child = 0;
	need(!pipe(told), "pipe");
	pid = child();
	if (pid) {
		close(told[1]);
		(void)!read(told[0], ret_child, sizeof(*ret_child));
		close(told[0]);
		return pid;
	}
	close_near(ends);
	if (variant->who == INHERITED || variant->who == FORKED) {
		pid_t inner;

		fflush(stdout);
		inner = child();
		if (!inner) {
			close(told[1]);
			wait_for_ever();
		}
		if (variant->who == INHERITED)
			close_far(ends);
		(void)!write(told[1], &inner, sizeof(inner));
		close(told[1]);
		waitpid(inner, NULL, 0);
	}
	close(told[1]);
	wait_for_ever();
	return 0;
}

static void run(const struct variant *variant)
{
	struct ends ends = make(variant->kind);
	bool held = variant->who <= FORKED || variant->who == WITH_SELF;
	pid_t waiter, own = 0, holders[2] = {0}, inner = 0;
	int told[2];

	need(!pipe(told), "pipe");
	fflush(stdout);
	waiter = child();
	if (!waiter) {
		close(told[0]);
		be_waiter(variant, ends, told[1]);
	}
	close(told[1]);
	(void)!read(told[0], &own, sizeof(own));
	close(told[0]);
	for (int i = 0; held && i < (variant->who == TWO ? 2 : 1); i++)
		holders[i] = make_holder(variant, ends, &inner);
	close_near(ends);
	close_far(ends);
	if (variant->who == INHERITED)
		holders[0] = inner;
	if (variant->who == FORKED)
		holders[1] = inner;
	if (variant->who == THREAD)
		holders[0] = own;
	if (variant->who == ALONE)
		holders[0] = waiter;
	printf("%s-%s waiter %d, followed %d, holders", variant->kind, whos[variant->who], waiter,
	       variant->who == TWO || variant->who == ALONE || strstr(variant->kind, "-listener")
		       ? 0
	       : variant->who == FORKED ? inner
					: holders[0]);
	for (int i = 0; i < 2 && holders[i]; i++)
		printf(" %d", holders[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	bool late = argc > 1 && !strcmp(argv[1], "late");
	char line[8];

	need(!pipe(go), "pipe");
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		run(&variants[i]);
	if (!late)
		close(go[1]);
	puts("ready");
	fflush(stdout);
	if (late && fgets(line, sizeof(line), stdin))
		close(go[1]);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
