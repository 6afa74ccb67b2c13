/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose handles a journal's commit had in it.
 */
#ifndef CLEW_WORDS_COMMIT_H
#define CLEW_WORDS_COMMIT_H

#include "trace/trace.h"
#include <stdio.h>

#define CLEW_COMMIT_SHOWN 8

/* Serials, in order; `count` and `late_count` may say that there are more than are kept. */
struct clew_commit {
	uint32_t members[CLEW_COMMIT_SHOWN];
	uint32_t late[CLEW_COMMIT_SHOWN]; /* their handles were open when the commit began: it
					     waited for them */
	uint32_t count, late_count;
};

/* Of the last commit by `committer` that began before `at`; without `except`, who awaits it. Nobody
 * if none was seen. */
void clew_commit_find(const struct clew_trace *trace, uint32_t committer, uint64_t at,
		      uint32_t except, struct clew_commit *ret_commit);
/* ", with changes of A, B in it, held up by the open handle of C": nothing where nobody is known.
 * Names are those at `at`. */
void clew_print_commit(FILE *out, const struct clew_trace *trace, const struct clew_commit *commit,
		       uint64_t at);

#endif
