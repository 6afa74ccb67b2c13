/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The passes over all tasks, one before the programs are enabled and one after: who is there, what
 * they sleep on, and who has the other ends of that.
 */
#ifndef CLEW_RECORD_PASSES_H
#define CLEW_RECORD_PASSES_H

#include <clew/kernel/maps.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clew_message;
struct clew_recorder;

/* One pass over all tasks. 0 or -errno. */
int clew_iterate_tasks(struct clew_recorder *recorder, enum clew_pass which,
		       struct clew_message *message);
/*
 * Puts what tasks sleep on now, and who has the other ends of it open.
 * 0 or -errno.
 */
int clew_ends_find(struct clew_recorder *recorder, bool stop, struct clew_message *message);
/* The same while it records, of tasks that have slept for long, if it is time. An error of the file
 * is its writer's; others leave the pass out. */
void clew_ends_look(struct clew_recorder *recorder, uint64_t now);

/*
 * Identifies tasks that /proc shows and the iterator does not.
 * `known`: the tids that the iterator found, in order. 0 or the file's error.
 */
int clew_identify_hidden(struct clew_recorder *recorder, const uint32_t *known, size_t count);
/* Identifies those that were found then and still live, for a further file. */
int clew_identify_hidden_again(struct clew_recorder *recorder);

#endif
