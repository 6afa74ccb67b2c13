/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks in one file for the points of a runtime. Either all that the description has for the file
 * are found, or none is used: half of them would join what does not belong together.
 */
#ifndef CLEW_RECORD_FUNCTIONS_RUNTIME_FILE_H
#define CLEW_RECORD_FUNCTIONS_RUNTIME_FILE_H

#include "base/vector.h"
#include "relate/runtime.h"
#include "symbol/code/function.h"

#define CLEW_RUNTIME_WHY 256

/* An instruction to be probed, with what is read there. */
struct runtime_site {
	uint64_t offset, semaphore;
	uint8_t class;	/* enum clew_probe_class */
	bool cheap;	/* only of use with the alternative events */
	bool single;	/* only of use with the others */
	uint16_t point; /* number among the runtime's */
	struct clew_moment_site site;
};

struct runtime_found {
	struct vector sites;	    /* struct runtime_site */
	size_t points;		    /* that were found */
	char why[CLEW_RUNTIME_WHY]; /* why none is used, "" they are */
};

/* True if the runtime is looked for in a file of that path: some object's pattern fits it. */
bool runtime_wants(const struct clew_runtime *runtime, const char *path);
/* `descriptor`: a copy of the whole file. 0 or -ENOMEM; runtime_found_done() frees it. */
int runtime_find(const struct clew_runtime *runtime, int descriptor, const char *path,
		 bool long_nops_stepped, struct runtime_found *ret);
void runtime_found_done(struct runtime_found *found);

#endif
