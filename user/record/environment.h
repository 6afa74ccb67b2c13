/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What people call a process besides its program: environment variables on a list, and its user's
 * name. */
#ifndef CLEW_RECORD_ENVIRONMENT_H
#define CLEW_RECORD_ENVIRONMENT_H

#include "record/recorder.h"

struct clew_bpf;

/* Before the load: tells the kernel side the names, which have commas between them. */
int clew_environment_prepare(struct clew_bpf *bpf, const char *names, struct clew_message *message);
/* Of a process that runs already, told with that time. 0 or the file's error. */
int clew_environment_read(struct clew_recorder *recorder, uint32_t pid, uint32_t serial,
			  uint64_t time);
/* Names of the machine's users. 0 or the file's error. */
int clew_environment_users(struct clew_recorder *recorder, uint64_t time);

#endif
