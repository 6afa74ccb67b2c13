/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The time and the memory that the daemon takes. */
#ifndef CLEW_CLI_DAEMON_DAEMON_COST_H
#define CLEW_CLI_DAEMON_DAEMON_COST_H

#include <stdint.h>
#include <sys/types.h>

/* CPU time of this process and of its children that have ended, ns. */
uint64_t clew_daemon_cpu_time(void);
/* Bytes of this process in memory. */
uint64_t clew_daemon_memory(void);

/* The same of another process that runs; 0 if there is none. */
uint64_t clew_daemon_cpu_time_of(pid_t pid);
uint64_t clew_daemon_memory_of(pid_t pid);

#endif
