/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a capture of what another tracer of Linux recorded: of the text that `perf script`,
 * trace-cmd report and ftrace write, and of Chrome's JSON that has such a text inside.
 *
 * It reads sched_switch, sched_waking or sched_wakeup, forks, execs and exits, block requests,
 * system calls, interrupts, and what programs mark as begun and ended. Other events are counted and
 * left out.
 */
#ifndef CLEW_IMPORT_IMPORT_H
#define CLEW_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/message.h"

/* The kinds of events that make a difference, as bits. */
enum clew_import_has {
	CLEW_IMPORT_SWITCHES = 0x01,
	CLEW_IMPORT_WAKES = 0x02,
	CLEW_IMPORT_CALLS = 0x04,
	CLEW_IMPORT_CONTEXTS = 0x08,  /* it is known which wakes were made in an interrupt */
	CLEW_IMPORT_PROCESSES = 0x10, /* it is known which process a thread belongs to */
	CLEW_IMPORT_REQUESTS = 0x20,
	CLEW_IMPORT_LIVES = 0x40,   /* forks or exits */
	CLEW_IMPORT_WAKING = 0x80,  /* sched_waking, which names the waker surely */
	CLEW_IMPORT_SLICES = 0x100, /* what programs mark as begun and ended */
};

struct clew_imported {
	uint64_t events; /* that were understood */
	uint64_t others; /* of kinds that are not used */
	uint64_t lines;	 /* that are no event */
	uint64_t lost;	 /* events that the other tracer says it lost */
	uint32_t has;	 /* CLEW_IMPORT_* */
	unsigned tasks;
	unsigned cpus;
};

/*
 * Reads `in` twice and writes the capture. `in` must be seekable. -EINVAL: it is none of these, and
 * `message` says what it is instead; else what writing met.
 */
int clew_import(FILE *in, const char *path, struct clew_imported *ret_imported,
		struct clew_message *message);

#endif
