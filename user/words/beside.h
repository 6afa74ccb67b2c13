/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests beside a request: those that were issued to the disk before it and
 * had not completed while it was there or waited to be. It is likely, not
 * proven, that they slowed it down.
 */
#ifndef CLEW_WORDS_BESIDE_H
#define CLEW_WORDS_BESIDE_H

#include "explain/why.h"
#include <stdio.h>

#include "format/json.h"

/* The number of files that are named: those with the most bytes. */
#define CLEW_BESIDE_SHOWN 4

struct clew_beside_file {
	uint64_t inode; /* 0: none is known */
	uint64_t bytes;
	uint32_t file_device;
	uint32_t requests;
	uint32_t example;   /* index of one of its requests in the list of all */
	uint32_t operation; /* the kernel's operation of that request; files are listed apart from
			       discards and zeroes */
};

struct clew_beside {
	uint64_t bytes;
	uint32_t requests;
	uint32_t at_once; /* the most of them that were in flight at one moment */
	uint32_t file_count;
	struct clew_beside_file files[CLEW_BESIDE_SHOWN];
};

/*
 * Finds the requests beside `count` segments, each once. Segments that are not
 * a request's have none. 0 or -errno.
 */
int clew_beside_find(const struct clew_trace *trace, const struct clew_segment *const *segments,
		     size_t count, struct clew_beside *ret_beside);

/*
 * Prints ", behind 12 other requests there: 11.5 MiB for PATH by A"; or, where
 * they were not all there at once, ", behind up to 3 other requests there at a
 * time, in all 11.5 MiB for ..". Prints nothing if there were none.
 */
void clew_print_beside(FILE *out, const struct clew_trace *trace, const struct clew_beside *beside);
/* The field "beside" of the open object. */
void clew_json_beside(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_beside *beside);

#endif
