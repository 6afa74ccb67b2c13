/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The directory in which the daemon of this machine is found: /run/clew, or what
 * $CLEW_RUN_DIRECTORY says. It has the file lock, which the daemon has locked and whose content is
 * its pid, the socket control, the messages of one in the background in log, the path of the ring
 * in ring-path, that of the history in history-path, and unless the configuration says otherwise
 * the ring.
 */
#ifndef CLEW_DAEMON_PLACE_H
#define CLEW_DAEMON_PLACE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/message.h"

/* The path of a file in that directory. */
void clew_place_path(const char *name, char *ret_path, size_t size);

/* Makes a directory and those above it. 0 or -errno. */
int clew_place_make(const char *directory);

/*
 * Makes this the machine's daemon until *ret_lock is closed. -EBUSY: there is another one; or
 * another -errno; with a message.
 */
int clew_place_lock(int *ret_lock, struct clew_message *message);

/* Writes the pid, after a fork. */
void clew_place_tell(int lock, pid_t pid);

/* Lets standard output and standard error, of a process in the background, go to the file log. */
void clew_place_log(void);

/* Writes where the ring is, for when nobody can be asked any more. */
void clew_place_tell_ring(const char *ring);

/* The ring of the last daemon, to be freed; NULL: not known. */
char *clew_place_ring(void);

/* Writes where the history is, NULL: none is kept; and finds it, to be freed, NULL: not known. */
void clew_place_tell_history(const char *history);
char *clew_place_history(void);

/* The daemon's pid, or -errno; -ESRCH: there is none. */
int clew_place_daemon(void);

#endif
