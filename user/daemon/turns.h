/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps the tasks that had each CPU lately, by group, to charge them with the time that others
 * waited for it.
 *
 * Invariant: each CPU keeps its last TURNS_MOST runs, so a wait for a CPU over more of them is
 * charged in part.
 */
#ifndef CLEW_DAEMON_TURNS_H
#define CLEW_DAEMON_TURNS_H

#include <stdint.h>

#define TURNS_MOST 256

struct turn {
	uint64_t start, end; /* ns */
	uint32_t group;
};

struct turns_cpu {
	struct turn turns[TURNS_MOST]; /* a ring */
	uint64_t count;		       /* that there ever were */
};

struct turns {
	struct turns_cpu **cpus; /* NULL: nothing ran there yet */
	unsigned cpu_count;
};

/* Adds a run that ended after all of its CPU that were added. 0 or -ENOMEM. */
int turns_add(struct turns *turns, unsigned cpu, struct turn turn);

/* Calls `charge` for each run on the CPU that overlaps the time, with the overlap. */
void turns_between(const struct turns *turns, unsigned cpu, uint64_t from, uint64_t to,
		   void (*charge)(void *context, uint32_t group, uint64_t ns), void *context);

void turns_done(struct turns *turns);

#endif
