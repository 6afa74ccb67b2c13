/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The probes of one file: planned, attached, and attached again without those of functions that
 * were dropped.
 */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_LINKS_H
#define CLEW_RECORD_FUNCTIONS_TRACED_LINKS_H

#include <stdbool.h>

#include "base/vector.h"

struct bpf_program;
struct traced;
struct traced_file;

/* Probes at entries and exits, or at returns by the trampoline. */
struct traced_probes {
	struct vector planned;	/* struct clew_probe_place */
	struct vector attached; /* the same */
	struct vector links;	/* struct clew_probe_links that keep those attached */
};

/*
 * Attaches what is planned in a file. `descriptor`: of the file; it is kept open with `again`, for
 * traced_links_renew(). 0 or -errno.
 */
int traced_links_attach(struct traced_file *file, const struct bpf_program *program, int descriptor,
			bool again);
/*
 * Attaches to a file once more, but for the functions that were dropped. `old` gets the links that
 * are not needed any more (struct clew_probe_links), to be detached: each probe is met by one link
 * at least all the time. 0 or -errno, then the file is as it was or has both links.
 */
int traced_links_renew(const struct traced *traced, struct traced_file *file,
		       const struct bpf_program *program, struct vector *old);
/* Moves all links of a file to the end of `old`. 0 or -ENOMEM. */
int traced_links_take(struct traced_file *file, struct vector *old);
void traced_links_done(struct traced_file *file);

#endif
