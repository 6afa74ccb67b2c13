/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers that fire while packets are taken in, on one CPU: hard interrupts within
 * softirqs. Two tasks play ping-pong over UDP on loopback, a third sleeps again and
 * again for a moment; who ends a wait is always known, whatever it interrupted.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include "workload.h"

#define SLACK 30000 /* ns: clocks differ by a little */

enum { PLAYING };

static int sockets[2], players[2], rallies, chosen_cpu;

static void go_to_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(chosen_cpu, &set);
	WL_CHECK(sched_setaffinity(0, sizeof(set), &set));
}

/* All that a task slept for meanwhile, by the kernel's count: in this call, for that, ended in such
 * a context, by `other` or (-1) no task.
 */
static void log_waits(int self, uint64_t from, long slept, const char *call, const char *kind,
		      const char *object, const char *context, int other)
{
	char tid[16] = "";

	if (other >= 0)
		snprintf(tid, sizeof(tid), "%d", wl->tasks[other].tid);
	wl_rule("\"rule\":\"waits\",\"tid\":%d,\"from\":%llu,\"to\":%llu,\"count\":[%ld,%ld],"
		"\"calls\":\"%s\",\"kinds\":\"%s\",\"edge\":\"%"
		"s\","
		"\"origins\":[%s],\"object\":\"%s\",\"contexts\":\"%s\",\"ended_by\":[%s]",
		wl->tasks[self].tid, (unsigned long long)from, (unsigned long long)wl_now(), slept,
		slept, call, kind, other < 0 ? "" : "socket", tid, object, context, tid);
}

static void play(int self)
{
	int me = self == players[1];
	uint64_t from;
	long slept;
	char ball = 0;

	go_to_cpu();
	wl_await(&wl->numbers[PLAYING], 1);
	wl_spin(SLACK);
	slept = wl_voluntary_switches();
	from = wl_now();
	for (int rally = 0; rally < rallies; rally++) {
		if (!me)
			WL_CHECK(send(sockets[0], &ball, 1, 0));
		WL_CHECK(recv(sockets[me], &ball, 1, 0));
		if (me)
			WL_CHECK(send(sockets[1], &ball, 1, 0));
	}
	slept = wl_voluntary_switches() - slept;
	log_waits(self, from, slept, "recvfrom", "socket", "socket", "softirq", players[!me]);
	wl_spin(SLACK);
	if (!me)
		atomic_store(&wl->numbers[PLAYING], 2);
}

static void nap(int self)
{
	long slept;
	uint64_t from;

	go_to_cpu();
	WL_CHECK(prctl(PR_SET_TIMERSLACK, 1));
	wl_await(&wl->numbers[PLAYING], 1);
	wl_spin(SLACK);
	slept = wl_voluntary_switches();
	from = wl_now();
	while (atomic_load(&wl->numbers[PLAYING]) == 1) {
		struct timespec time = {.tv_nsec = wl_random(5000, 60000)};

		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	}
	slept = wl_voluntary_switches() - slept;
	log_waits(self, from, slept, "clock_nanosleep", "sleep", "timer", "timer", -1);
	wl_spin(SLACK);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address[2] = {
		{.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
		{.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
	int self = wl_begin(argc, argv, "nested");
	cpu_set_t set;

	wl_copy(wl->claims, sizeof(wl->claims),
		"fork exec exit vfork unlock pipe eventfd ipc signal timer wake");
	rallies = wl_random(500, 900);
	WL_CHECK(sched_getaffinity(0, sizeof(set), &set));
	while (!CPU_ISSET(chosen_cpu, &set))
		chosen_cpu++;
	for (int i = 0; i < 2; i++) {
		socklen_t size = sizeof(address[i]);

		sockets[i] = WL_CHECK(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
		WL_CHECK(bind(sockets[i], (struct sockaddr *)&address[i], size));
		WL_CHECK(getsockname(sockets[i], (struct sockaddr *)&address[i], &size));
		players[i] = self + 1 + i;
	}
	for (int i = 0; i < 2; i++)
		WL_CHECK(connect(sockets[i], (struct sockaddr *)&address[!i], sizeof(address[i])));
	for (int i = 0; i < 2; i++)
		wl_thread(self, play);
	wl_thread(self, nap);
	atomic_store(&wl->numbers[PLAYING], 1);
	for (int task = self + 1; task < wl->task_count; task++)
		wl_join(self, task);
	wl_print();
	return 0;
}
