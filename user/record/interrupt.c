/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel takes a second or more to verify all programs, far more on a busy machine, and libbpf
 * has them loaded in one call. The verifier gives up (EAGAIN) when a signal is to be delivered to
 * the thread that it works for; SIGINT and SIGTERM are not, as they are blocked. libbpf tries five
 * times. So from the wish to end on, the watching thread sends a signal that does nothing, again
 * and again.
 */
#include "record/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

#define NUDGE	 SIGURG	 /* ignored unless somebody takes it */
#define EVERY_NS 500000L /* a program that takes longer to verify is given up */

#define HELPERS_MOST 16

struct clew_interrupt {
	pthread_t thread, watched;
	pid_t watched_number;
	int before; /* the watched thread's nice value */
	struct sigaction action_before;
	int wish; /* ready while a signal waits that wishes for the end */
	int stop; /* ready when nothing is to be watched any more */
	atomic_bool kernel_works;
	pthread_mutex_t lock;
	pthread_t helpers[HELPERS_MOST];
	size_t helper_count;
};

static void do_nothing(int number)
{
	(void)number;
}

static void nudge(struct clew_interrupt *interrupt)
{
	pthread_kill(interrupt->watched, NUDGE);
	pthread_mutex_lock(&interrupt->lock);
	for (size_t i = 0; i < interrupt->helper_count; i++)
		pthread_kill(interrupt->helpers[i], NUDGE);
	pthread_mutex_unlock(&interrupt->lock);
}

static void *watch(void *argument)
{
	struct clew_interrupt *interrupt = argument;
	struct pollfd ready[] = {{.fd = interrupt->stop, .events = POLLIN},
				 {.fd = interrupt->wish, .events = POLLIN}};
	const struct timespec pause = {.tv_nsec = EVERY_NS};

	pthread_setname_np(pthread_self(), "clew-interrupt");
	store_thread_hurry();
	while (poll(ready, 2, -1) < 0 && errno == EINTR)
		;
	if (!ready[1].revents)
		return NULL;
	store_thread_hurry_other(interrupt->watched_number);
	while (poll(ready, 1, 0) == 0) {
		if (atomic_load(&interrupt->kernel_works))
			nudge(interrupt);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int open_descriptors(struct clew_interrupt *interrupt)
{
	sigset_t wishes;

	sigemptyset(&wishes);
	sigaddset(&wishes, SIGINT);
	sigaddset(&wishes, SIGTERM);
	interrupt->wish = signalfd(-1, &wishes, SFD_CLOEXEC);
	interrupt->stop = eventfd(0, EFD_CLOEXEC);
	return interrupt->wish < 0 || interrupt->stop < 0 ? -1 : 0;
}

static void close_descriptors(const struct clew_interrupt *interrupt)
{
	if (interrupt->wish >= 0)
		close(interrupt->wish);
	if (interrupt->stop >= 0)
		close(interrupt->stop);
}

struct clew_interrupt *clew_interrupt_new(void)
{
	struct clew_interrupt *interrupt = calloc(1, sizeof(*interrupt));
	/* Without SA_RESTART; only what is broken off returns early. */
	const struct sigaction action = {.sa_handler = do_nothing};

	if (!interrupt)
		return NULL;
	pthread_mutex_init(&interrupt->lock, NULL);
	interrupt->watched = pthread_self();
	interrupt->watched_number = gettid();
	interrupt->before = getpriority(PRIO_PROCESS, 0);
	if (open_descriptors(interrupt) < 0 ||
	    sigaction(NUDGE, &action, &interrupt->action_before) < 0) {
		close_descriptors(interrupt);
		free(interrupt);
		return NULL;
	}
	if (store_thread_start(&interrupt->thread, watch, interrupt) < 0) {
		sigaction(NUDGE, &interrupt->action_before, NULL);
		close_descriptors(interrupt);
		free(interrupt);
		return NULL;
	}
	return interrupt;
}

void clew_interrupt_free(struct clew_interrupt *interrupt)
{
	if (!interrupt)
		return;
	eventfd_write(interrupt->stop, 1);
	pthread_join(interrupt->thread, NULL);
	setpriority(PRIO_PROCESS, 0, interrupt->before);
	sigaction(NUDGE, &interrupt->action_before, NULL);
	close_descriptors(interrupt);
	free(interrupt);
}

void clew_interrupt_begin(struct clew_interrupt *interrupt)
{
	if (interrupt)
		atomic_store(&interrupt->kernel_works, true);
}

void clew_interrupt_end(struct clew_interrupt *interrupt)
{
	if (interrupt)
		atomic_store(&interrupt->kernel_works, false);
}

void clew_interrupt_join(struct clew_interrupt *interrupt)
{
	sigset_t nudge;

	if (!interrupt)
		return;
	sigemptyset(&nudge);
	sigaddset(&nudge, NUDGE);
	pthread_sigmask(SIG_UNBLOCK, &nudge, NULL);
	pthread_mutex_lock(&interrupt->lock);
	if (interrupt->helper_count < HELPERS_MOST)
		interrupt->helpers[interrupt->helper_count++] = pthread_self();
	pthread_mutex_unlock(&interrupt->lock);
}

void clew_interrupt_leave(struct clew_interrupt *interrupt)
{
	if (!interrupt)
		return;
	pthread_mutex_lock(&interrupt->lock);
	for (size_t i = 0; i < interrupt->helper_count; i++)
		if (pthread_equal(interrupt->helpers[i], pthread_self())) {
			interrupt->helpers[i] = interrupt->helpers[--interrupt->helper_count];
			break;
		}
	pthread_mutex_unlock(&interrupt->lock);
}
