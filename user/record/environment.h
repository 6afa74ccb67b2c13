/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two things that identify a process beside its program: environment variables
 * that the user listed, and the name of its user.
 */
#ifndef CLEW_RECORD_ENVIRONMENT_H
#define CLEW_RECORD_ENVIRONMENT_H

#include "record/stream/recording.h"

struct clew_bpf;

/*
 * Before the load: sets the names, which are separated by commas, in the kernel
 * side. 0 or -EINVAL.
 */
int clew_environment_prepare(struct clew_bpf *bpf, const char *names, struct clew_message *message);
/*
 * Puts the variables of a process that runs already, as records of that time. 0
 * or the file's error.
 */
int clew_environment_read(struct clew_recorder *recorder, uint32_t pid, uint32_t serial,
			  uint64_t time);
/* Puts the names of the machine's users. 0 or the file's error. */
int clew_environment_users(struct clew_recorder *recorder, uint64_t time);

#endif
