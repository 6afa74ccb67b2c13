/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Starts clew's threads and makes its locks. */
#ifndef CLEW_BASE_THREAD_H
#define CLEW_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* A thread that gets no signals: they are for the program's own threads, and a closed pipe is an
 * error number. 0 or -errno. */
int store_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* Lets the calling thread run before others on a busy machine, if it may: what it does is short,
 * and is lost if it comes late. */
void store_thread_hurry(void);
/* The same for another thread, or process, by its number. */
void store_thread_hurry_other(pid_t thread);

/* Waits for a thread that was asked to end, and lets it run before others meanwhile. */
void store_thread_join(pthread_t thread);

/* True if this process may use more than one CPU, without which a thread makes nothing faster. */
bool store_thread_pays(void);

/* A lock that may not hold up threads that hurry: who has it gets their priority while they wait,
 * if that is a real-time one. */
void store_lock_init(pthread_mutex_t *lock);

#endif
