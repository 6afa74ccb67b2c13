/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scheduling in the terms of the kernel's own tracepoints, for formats of tools that read those:
 * states of tasks that leave a CPU, priorities, and where a wake was. Times are ns,
 * CLOCK_MONOTONIC.
 */
#ifndef CLEW_EXPORT_SCHED_H
#define CLEW_EXPORT_SCHED_H

#include "trace/trace.h"

#define SCHED_NO_CPU UINT16_MAX
/* A thread that has no number on any Linux: on a CPU of which records are missing. */
#define SCHED_UNKNOWN_TID(cpu) ((1u << 22) + 1 + (cpu))
#define SCHED_UNKNOWN_NAME     "unknown"

/* The kernel's states of a task that leaves its CPU. */
#define SCHED_RUNNABLE	      0u
#define SCHED_INTERRUPTIBLE   1u
#define SCHED_UNINTERRUPTIBLE 2u
#define SCHED_DEAD	      0x10u
#define SCHED_PREEMPTED	      0x100u

#define SCHED_NORMAL_PRIORITY 120

/** The sleep that a run ended with, or NULL. */
const struct clew_sleep *sched_sleep_behind(const struct clew_trace *trace,
					    const struct clew_run *run);

/** The kernel's state of the task at the end of a run. */
unsigned sched_state_behind(const struct clew_trace *trace, const struct clew_run *run);

/** The kernel's number: 120 and the nice value, or 99 and less for real time. */
int sched_priority_at(const struct clew_trace *trace, uint32_t serial, uint64_t at);

/**
 * When a sleep's wake is to be shown. A wake at the switch itself would be taken for one that woke
 * nobody: it is 1 ns later.
 */
uint64_t sched_wake_time(const struct clew_sleep *sleep);

/** Where a task ran at a moment; SCHED_NO_CPU: it did not. */
uint16_t sched_cpu_at(const struct clew_trace *trace, uint32_t serial, uint64_t at);
/** The same of the time right before a moment. */
uint16_t sched_cpu_before(const struct clew_trace *trace, uint32_t serial, uint64_t at);

/** Where a task came to run after a sleep; the first CPU if that is not in the capture. */
uint16_t sched_cpu_behind(const struct clew_trace *trace, const struct clew_sleep *sleep);

/** True if a task did what ended a sleep, in its own context or in an interrupt that it caused. */
bool sched_woken_by_task(const struct clew_sleep *sleep);

#endif
