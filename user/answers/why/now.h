/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The waits that are under way when a capture ends, and why they are. */
#ifndef CLEW_ANSWERS_WHY_NOW_H
#define CLEW_ANSWERS_WHY_NOW_H

#include "answers/why/why_tree.h"
#include "explain/chosen.h"
#include "format/json.h"
#include "relate/relate.h"

/* True for a wait of which somebody would ask why it takes so long: for a lock, a file, a disk,
 * memory, a limit or an answer, and not for work. */
bool clew_wait_matters(const struct clew_trace *trace, const struct clew_sleep *sleep);

/* A wait that is not over. */
struct clew_now {
	const struct clew_sleep *sleep;
	uint64_t ns;			 /* how long, as far as is known */
	bool longer;			 /* it began before that */
	const struct clew_activity *run; /* of a logical span, that the thread is in; NULL none */
	struct clew_told told;
};

/* The time that a wait has lasted, where more is known of it than the capture shows. *ret_longer:
 * it began before that. */
struct clew_now_age {
	uint64_t (*of)(void *context, const struct clew_sleep *sleep, bool *ret_longer);
	void *context;
};

/*
 * Finds the longest ones of the chosen tasks, at most `most`, for locks, files, disks, memory,
 * limits and answers; waits for work are left out. `age`: NULL: as the capture shows. *ret_waits
 * and its texts are freed by clew_now_free(). 0 or -ENOMEM.
 */
int clew_now_find(const struct clew_trace *trace, const struct clew_relations *relations,
		  const struct clew_chosen *chosen, const struct clew_now_age *age, size_t most,
		  struct clew_now **ret_waits, size_t *ret_count);
void clew_now_free(struct clew_now *waits, size_t count);

/* Prints a line each: how long, who, and why. `width`: columns of a line. */
void clew_now_print(FILE *out, const struct clew_trace *trace, const struct clew_now *waits,
		    size_t count, size_t width);
/* The field "now" of the open object. */
void clew_now_json(struct clew_json *json, const struct clew_trace *trace,
		   const struct clew_now *waits, size_t count);

#endif
