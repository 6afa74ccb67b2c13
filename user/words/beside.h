/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What else a disk had in hand while a request was with it, or waited to be: requests
 * issued before it that were not over. That they slowed it is likely, and not proven.
 */
#ifndef CLEW_WORDS_BESIDE_H
#define CLEW_WORDS_BESIDE_H

#include "explain/why.h"
#include <stdio.h>

#include "words/json.h"

/* How many files are told, those with most bytes. */
#define CLEW_BESIDE_SHOWN 4

struct clew_beside_file {
	uint64_t inode; /* 0: none is known */
	uint64_t bytes;
	uint32_t file_device;
	uint32_t requests;
	uint32_t example;   /* place of one of its requests in the list of all */
	uint32_t operation; /* of that, the kernel's; the files' are apart from what discards and
			       zeroes */
};

struct clew_beside {
	uint64_t bytes;
	uint32_t requests;
	uint32_t at_once; /* the most of them that were in hand at one moment */
	uint32_t file_count;
	struct clew_beside_file files[CLEW_BESIDE_SHOWN];
};

/* Of `count` segments, each request once. Those that are no request's have none. 0 or -errno. */
int clew_beside_find(const struct clew_trace *trace, const struct clew_segment *const *segments,
		     size_t count, struct clew_beside *ret_beside);

/*
 * ", behind 12 other requests there: 11.5 MiB for PATH by A", or where they were not there all at
 * once ", behind up to 3 other requests there at a time, in all 11.5 MiB for ..": nothing where
 * there is none.
 */
void clew_print_beside(FILE *out, const struct clew_trace *trace, const struct clew_beside *beside);
/* The field "beside" of the object that is open. */
void clew_json_beside(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_beside *beside);

#endif
