/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes that were found and not attached to, as one would harm the program; for the capture, where
 * "left_alone" has them. */
#ifndef CLEW_RECORD_FUNCTIONS_LEFT_ALONE_H
#define CLEW_RECORD_FUNCTIONS_LEFT_ALONE_H

#include "base/vector.h"

struct clew_probe;

struct left_alone {
	struct vector rows;
	size_t file; /* number of the first row of the file at hand */
};

void left_alone_init(struct left_alone *left);
/* Entries that are added from here on belong to another file. */
void left_alone_next_file(struct left_alone *left);
/* One more site. `reason`: a word. 0 or -ENOMEM. */
int left_alone_add(struct left_alone *left, const char *reason, const struct clew_probe *probe,
		   const char *path);
/* Lines COUNT, REASON, PROVIDER:NAME, PATH with tabs between, the caller's; NULL: there are none,
 * or there is no memory. */
char *left_alone_text(const struct left_alone *left);
void left_alone_done(struct left_alone *left);

#endif
