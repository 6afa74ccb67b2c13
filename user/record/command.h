/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A command that is recorded from its first instruction on. */
#ifndef CLEW_RECORD_COMMAND_H
#define CLEW_RECORD_COMMAND_H

#include <signal.h>
#include <sys/types.h>

struct clew_child {
	pid_t pid;
	int go;	    /* a byte written to it lets the child run */
	int failed; /* gives the errno of an exec that failed, else the end of the file */
};

/* 0, or -errno of an exec of the program that cannot succeed: there is no such file, or none that
 * may be executed. */
int clew_child_check(const char *program);

/*
 * Forks. The child waits until clew_child_run(), and then gets the signal mask
 * `mask`. 0 or -errno.
 */
int clew_child_make(char **argv, const sigset_t *mask, struct clew_child *ret_child);

/* Lets the child run. 0, or -errno of its exec. */
int clew_child_run(struct clew_child *child);

/* Ends a child that clew_child_run() was never called for. */
void clew_child_drop(struct clew_child *child);

/* The exit status that a wait status stands for: 128 + n for signal n. */
int clew_child_exit_status(int wait_status);

#endif
