/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of files and disks, the same in every answer. */
#ifndef CLEW_WORDS_FILE_H
#define CLEW_WORDS_FILE_H

#include "trace/name.h"
#include "trace/trace.h"
#include <stdio.h>

/* The path in a record of a file, NULL if it is "" (unknown) or the file has none. */
const char *clew_true_path(uint32_t device, uint64_t inode, const char *path);

/* The last known path of a file at a moment; NULL: unknown, or it has none. */
const char *clew_file_path(const struct clew_trace *trace, uint32_t device, uint64_t inode,
			   uint64_t at);

/* Prints what a file was called at a moment, safe for a terminal: its path, "metadata of DISK", or
 * its number. */
void clew_print_file(FILE *out, const struct clew_trace *trace, uint32_t device, uint64_t inode,
		     uint64_t at);

#endif
