/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals end waits for them, and sleeps; sent to a thread or to a process. */
#include "workload.h"

enum way { PAUSE, SIGWAIT, SIGSUSPEND, SLEEP, WAYS };
enum { END = -1 };

static const char *const calls[WAYS] = {"pause", "rt_sigtimedwait", "rt_sigsuspend",
					"clock_nanosleep"};

static void ignore(int number)
{
	(void)number;
}

static void receive(int self)
{
	struct timespec hour = {.tv_sec = 3600};
	sigset_t one, none;
	int order, number;

	sigemptyset(&none);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	while ((order = wl_await_order(&wl->tasks[self].step)) != END) {
		wl->tasks[self].before = wl_now();
		switch (order - 1) {
		case PAUSE:
			pause();
			break;
		case SIGWAIT:
			sigwait(&one, &number);
			break;
		case SIGSUSPEND:
			sigsuspend(&none);
			break;
		default:
			clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
		}
		atomic_store(&wl->tasks[self].step, 0);
	}
}

static void send_to(int self, int receiver, enum way way, bool process)
{
	long numbers[WAYS] = {SYS_pause, SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
			      SYS_clock_nanosleep};
	int number = way == SIGWAIT ? SIGUSR2 : SIGUSR1;
	struct wl_act act;

	atomic_store(&wl->tasks[receiver].step, way + 1);
	for (uint64_t deadline = 0;; wl_nap(&deadline, "a receiver")) {
		/* It naps in the same call as it sleeps in: look at when. */
		uint64_t before = wl->tasks[receiver].before;

		if (way == SLEEP && wl_now() - before < 20000000)
			continue;
		if (before && wl_is_blocked(wl->tasks[receiver].tid, numbers[way], WL_ANY_ARGUMENT))
			break;
	}
	wl_sleep(wl_random(1000, 1000000));
	act = wl_act(self, receiver);
	if (process)
		WL_CHECK(kill(wl->tasks[receiver].pid, number));
	else
		WL_CHECK(syscall(SYS_tgkill, wl->tasks[receiver].pid, wl->tasks[receiver].tid,
				 number));
	wl_acted(&act, "signal",
		 way == SLEEP	? "sleep"
		 : way == PAUSE ? PAUSE_KIND
				: "signal",
		 calls[way], "");
	wl_await(&wl->tasks[receiver].step, 0);
	wl->tasks[receiver].before = 0;
}

static void play(int self, int receiver, bool process)
{
	int rounds = wl_random(4, 8);

	for (int round = 0; round < rounds; round++)
		send_to(self, receiver, round % WAYS, process);
	atomic_store(&wl->tasks[receiver].step, END);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "signal");
	struct sigaction action = {.sa_handler = ignore};
	sigset_t blocked;
	int receiver;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGUSR1, &action, NULL);
	receiver = wl_fork(self, receive);
	play(self, receiver, true);
	wl_reap(self, receiver);
	receiver = wl_thread(self, receive);
	play(self, receiver, false);
	wl_join(self, receiver);
	wl_print();
	return 0;
}
