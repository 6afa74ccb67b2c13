/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs that the kernel refused, and the features that are lost with them.
 *
 * A feature is lost if the kernel refused one of its programs, or if a feature is
 * lost that it needs. None of its programs is loaded then.
 */
#ifndef CLEW_RECORD_STREAM_REFUSALS_H
#define CLEW_RECORD_STREAM_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

#include "record/stream/program_table.h"

struct bpf_object;

#define CLEW_REFUSALS_MOST 128

/* The reason where the field of that name is missing. */
#define CLEW_FIELD_MISSING "%s is not where clew looks"

struct clew_refusal {
	const struct clew_program_row *row;
	/* A clause: the field that is missing, or the program with the verifier's last line. */
	char reason[192];
};

struct clew_refusals {
	struct clew_refusal of[CLEW_REFUSALS_MOST];
	size_t count;
};

/* The page cache's programs as a whole, where a core one of them is refused. */
#define CLEW_PAGE_CACHE "page cache"

/* Adds a program's; false: it is among them already, or there are too many. */
bool clew_refusals_add(struct clew_refusals *refusals, const struct clew_program_row *row,
		       const char *reason);

/* Why the feature of a row is lost; NULL: it is not. */
const struct clew_refusal *clew_refusals_lost(const struct clew_refusals *refusals,
					      const struct clew_program_row *row);
/* The same for a feature by its name. */
const struct clew_refusal *clew_refusals_lost_feature(const struct clew_refusals *refusals,
						      const char *feature);

/* Why all of the page cache is lost; NULL: it is not. */
const struct clew_refusal *clew_refusals_page_cache(const struct clew_refusals *refusals);

/*
 * The loss, as "FEATURE: REASON" for each feature with `separator` between them. The caller
 * frees it. NULL: there is no memory.
 */
char *clew_refusals_text(const struct clew_refusals *refusals, const char *separator);

/*
 * From here to the next end, notes which program the kernel refuses as an object is loaded, and
 * why. Nothing else may load BPF programs meanwhile.
 */
void clew_verdict_begin(void);
/* False: no program was named. */
bool clew_verdict_end(struct clew_refusal *ret_refusal);

/*
 * For tests: makes the kernel refuse the programs of an object that CLEW_TEST_REFUSE names, with
 * commas between them, by an invalid first instruction. Call it before the load.
 */
void clew_refuse_load_for_test(struct bpf_object *object);
/*
 * The same at attach for those that CLEW_TEST_REFUSE_ATTACH names: their descriptors become such
 * as are no programs'. Call it between load and attach.
 */
void clew_refuse_attach_for_test(struct bpf_object *object);

#endif
