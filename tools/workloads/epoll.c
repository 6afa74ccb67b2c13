/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Consumers wait in epoll, poll and select, or in a read of an eventfd, until the
 * producer writes to one consumer's eventfd or pipe, or to an eventfd of all.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>

#include "workload.h"

#define MOST 4

enum way { EPOLL, POLL, SELECT, READ, WAYS };
enum { GO = 1, END = -1 }; /* in wl_task.step */

struct consumer {
	int task;
	enum way way;
	int epoll;
	int own;     /* eventfd */
	int ends[2]; /* pipe */
};

static const char *const call_names[WAYS] = {"epoll_wait|epoll_pwait", "poll", "select|pselect6",
					     "read"};
static struct consumer consumers[MOST];
static int count, common;

static void eventfd_object(int fd, char object[48])
{
	char path[64], text[1024], *id;
	ssize_t size;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = WL_CHECK(open(path, O_RDONLY | O_CLOEXEC));
	size = read(info, text, sizeof(text) - 1);
	close(info);
	text[size > 0 ? size : 0] = '\0';
	id = strstr(text, "eventfd-id:");
	if (id)
		snprintf(object, 48, "eventfd:%ld", strtol(id + strlen("eventfd-id:"), NULL, 10));
	else
		snprintf(object, 48, "eventfd");
}

static void wait_for_event(const struct consumer *me)
{
	struct pollfd descriptors[3] = {{.fd = me->own, .events = POLLIN},
					{.fd = me->ends[0], .events = POLLIN},
					{.fd = common, .events = POLLIN}};
	struct epoll_event event;
	uint64_t value;
	fd_set set;

	wl->tasks[me->task].before = wl_now();
	if (me->way == EPOLL) {
		WL_CHECK(epoll_wait(me->epoll, &event, 1, -1));
	} else if (me->way == POLL) {
		WL_CHECK(poll(descriptors, 3, -1));
	} else if (me->way == SELECT) {
		FD_ZERO(&set);
		for (int i = 0; i < 3; i++)
			FD_SET(descriptors[i].fd, &set);
		WL_CHECK(select(FD_SETSIZE, &set, NULL, NULL, NULL));
	} else {
		WL_CHECK(read(me->own, &value, sizeof(value)));
		return;
	}
	/* The event of all stays until all have seen it. */
	for (int i = 0; i < 2; i++)
		if (read(descriptors[i].fd, &value, sizeof(value)) < 0 && errno != EAGAIN)
			wl_die("read: %s", strerror(errno));
}

static void consume(int self)
{
	struct consumer *me = consumers;

	while (me->task != self)
		me++;
	while (wl_await_order(&wl->tasks[self].step) == GO) {
		wait_for_event(me);
		atomic_store(&wl->tasks[self].step, 0);
	}
}

static bool blocked(const struct consumer *consumer)
{
	int tid = wl->tasks[consumer->task].tid;

	switch (consumer->way) {
	case EPOLL:
		return wl_is_blocked(tid, SYS_epoll_wait, consumer->epoll) ||
		       wl_is_blocked(tid, SYS_epoll_pwait, consumer->epoll);
	case POLL:
		return wl_is_blocked(tid, SYS_poll, WL_ANY_ARGUMENT);
	case SELECT:
		return wl_is_blocked(tid, SYS_pselect6, WL_ANY_ARGUMENT) ||
		       wl_is_blocked(tid, SYS_select, WL_ANY_ARGUMENT);
	default:
		return wl_is_blocked(tid, SYS_read, consumer->own);
	}
}

static void start_consumers(int chosen)
{
	for (int i = 0; i < count; i++)
		if (chosen & 1 << i)
			atomic_store(&wl->tasks[consumers[i].task].step, GO);
	for (int i = 0; i < count; i++)
		for (uint64_t deadline = 0; chosen & 1 << i && !blocked(&consumers[i]);)
			wl_nap(&deadline, "a consumer to block");
	wl_sleep(wl_random(1000, 200000));
}

static void produce(int self)
{
	const struct consumer *chosen = &consumers[wl_random(0, count - 1)];
	int receivers = 0, pollers = 0, what = wl_random(0, 2), fd;
	uint64_t before[MOST], at_min, at_max, one = 1;
	struct wl_edge *edge = NULL;
	const char *type = "eventfd";
	char object[48];
	struct stat status;

	for (int i = 0; i < count; i++)
		pollers |= (consumers[i].way != READ) << i;
	if (chosen->way == READ)
		what = 0;
	receivers = what == 2 ? pollers : 1 << (chosen - consumers);
	fd = what == 0 ? chosen->own : what == 1 ? chosen->ends[1] : common;
	if (what == 1) {
		type = "pipe";
		WL_CHECK(fstat(fd, &status));
		snprintf(object, sizeof(object), "pipe:%llu", (unsigned long long)status.st_ino);
	} else {
		eventfd_object(fd, object);
	}
	start_consumers(receivers);
	for (int i = 0; i < count; i++)
		before[i] = wl->tasks[consumers[i].task].before;
	at_min = wl_now();
	WL_CHECK(write(fd, &one, sizeof(one)));
	at_max = wl_now();
	for (int i = 0; i < count; i++) {
		struct wl_wait *wait;

		if (!(receivers & 1 << i))
			continue;
		if (!edge) {
			edge = wl_edge(type, self, self, at_min, object);
			edge->at_max = at_max;
			edge->to_count = 0;
		}
		edge->to[edge->to_count++] = consumers[i].task;
		wait = wl_wait(consumers[i].task, consumers[i].way == READ ? "eventfd" : "poll",
			       call_names[consumers[i].way],
			       consumers[i].way == READ ? object : "");
		wl_wait_times(wait, before[i], at_min, at_max);
		wait->ended_by = self;
	}
	for (int i = 0; i < count; i++)
		wl_await(&wl->tasks[consumers[i].task].step, 0);
	if (what == 2)
		WL_CHECK(read(common, &one, sizeof(one)));
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "epoll");
	int rounds;

	count = wl_random(2, MOST);
	rounds = wl_random(8, 20);
	common = WL_CHECK(eventfd(0, EFD_NONBLOCK));
	for (int i = 0; i < count; i++) {
		struct consumer *consumer = &consumers[i];

		consumer->task = self + 1 + i;
		consumer->way = i == 0 ? EPOLL : wl_random(0, WAYS - 1);
		consumer->own = WL_CHECK(eventfd(0, consumer->way == READ ? 0 : EFD_NONBLOCK));
		WL_CHECK(pipe2(consumer->ends, O_NONBLOCK));
		consumer->epoll = WL_CHECK(epoll_create1(0));
		if (consumer->way == EPOLL) {
			int descriptors[3] = {consumer->own, consumer->ends[0], common};

			for (int j = 0; j < 3; j++) {
				struct epoll_event event = {.events = EPOLLIN};

				WL_CHECK(epoll_ctl(consumer->epoll, EPOLL_CTL_ADD, descriptors[j],
						   &event));
			}
		}
	}
	for (int i = 0; i < count; i++)
		wl_thread(self, consume);
	for (int round = 0; round < rounds; round++)
		produce(self);
	for (int i = 0; i < count; i++) {
		atomic_store(&wl->tasks[consumers[i].task].step, END);
		wl_join(self, consumers[i].task);
	}
	wl_print();
	return 0;
}
