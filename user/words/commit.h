/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks whose handles are in a journal's commit.
 */
#ifndef CLEW_WORDS_COMMIT_H
#define CLEW_WORDS_COMMIT_H

#include "trace/trace.h"
#include <stdio.h>

#define CLEW_COMMIT_SHOWN 8

/* Serials, in order. `count` and `late_count` may exceed how many are kept. */
struct clew_commit {
	uint32_t members[CLEW_COMMIT_SHOWN];
	uint32_t late[CLEW_COMMIT_SHOWN]; /* the commit had to wait for their open handles */
	uint32_t count, late_count;
};

/*
 * Finds the last commit by `committer` that began before `at`. `except` is left
 * out: the task that awaits the commit. Nothing is found if the records show
 * none.
 */
void clew_commit_find(const struct clew_trace *trace, uint32_t committer, uint64_t at,
		      uint32_t except, struct clew_commit *ret_commit);
/*
 * Prints ", with changes of A, B in it, held up by the open handle of C";
 * nothing if no task is known. `at`: the moment of the names, ns.
 */
void clew_print_commit(FILE *out, const struct clew_trace *trace, const struct clew_commit *commit,
		       uint64_t at);

#endif
