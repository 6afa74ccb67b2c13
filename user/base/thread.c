/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads and locks as all of clew's are made. */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#define HURRY_NICE (-10) /* about nine times the share of what is not nice */

int store_thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

void store_thread_hurry(void)
{
	store_thread_hurry_other(0);
}

void store_thread_hurry_other(pid_t thread)
{
	/* In Linux the number of a thread counts here, and 0 is the calling one. */
	setpriority(PRIO_PROCESS, (id_t)thread, HURRY_NICE);
}

/* The number of a thread; 0: it has ended. The kernel's number of its clock has it inverted, above
 * three bits that say of what kind the clock is. */
static pid_t number_of(pthread_t thread)
{
	clockid_t clock;

	return pthread_getcpuclockid(thread, &clock) ? 0 : ~(clock >> 3);
}

void store_thread_join(pthread_t thread)
{
	pid_t number = number_of(thread);

	if (number > 0)
		store_thread_hurry_other(number);
	pthread_join(thread, NULL);
}

bool store_thread_pays(void)
{
	cpu_set_t set;

	/* It fails where there are more CPUs than a set has. */
	return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) > 1;
}

void store_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	/* It fails on kernels that lend no priority. */
	if (pthread_mutex_init(lock, &attributes))
		pthread_mutex_init(lock, NULL);
	pthread_mutexattr_destroy(&attributes);
}
