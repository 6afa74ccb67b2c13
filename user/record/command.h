/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A command that is recorded from its first instruction on. */
#ifndef CLEW_RECORD_COMMAND_H
#define CLEW_RECORD_COMMAND_H

#include <signal.h>
#include <sys/types.h>

struct clew_child {
	pid_t pid;
	int go;	    /* written to: let it run */
	int failed; /* read from: errno of an exec that failed, or the end */
};

/* Forks; the child waits until clew_child_run. `mask` is the signal mask it gets. 0 or -errno. */
int clew_child_make(char **argv, const sigset_t *mask, struct clew_child *ret_child);

/* Lets it run. 0, or -errno of its exec. */
int clew_child_run(struct clew_child *child);

/* Ends a child that was never let run. */
void clew_child_drop(struct clew_child *child);

/* The exit status that a wait status stands for: 128 + n for signal n. */
int clew_child_exit_status(int wait_status);

#endif
