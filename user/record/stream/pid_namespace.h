/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The PID namespace that clew runs in. */
#ifndef CLEW_RECORD_STREAM_PID_NAMESPACE_H
#define CLEW_RECORD_STREAM_PID_NAMESPACE_H

#include <clew/kernel/records.h>
#include <stdbool.h>
#include <stdint.h>

/* The inode number of this process's PID namespace; 0: it is the machine's, or unknown. */
uint32_t clew_pid_namespace(void);

/* True if /proc has the numbers of that namespace. */
bool clew_pid_namespace_shown(void);

/* This process's number in the machine's PID namespace, 0 unknown. Needs the right to load
 * programs, unless it is in that namespace. */
uint32_t clew_machine_pid(void);

/* A task's number in the PID namespace of a level, 0 being the machine's; 0: it is not in there. */
uint32_t clew_pid_here(const struct clew_task_record *task, uint32_t level);

#endif
