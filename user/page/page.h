/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One HTML file about a recording that anyone can read: no network, no other file. Its first part
 * needs no scripts: the headline, where the time went, who had what others waited for, and why
 * the slowest operations took so long. Scripts add the timeline.
 */
#ifndef CLEW_PAGE_PAGE_H
#define CLEW_PAGE_PAGE_H

#include "answers/report/report.h"

struct clew_page_options {
	const struct report *report; /* what the first part says */
	const char *name;	     /* the capture's, for the commands that the page gives */
	size_t slowest;		     /* so many operations are explained */
	uint64_t limit; /* bytes that the timeline may take, about; UINT64_MAX: any number */
	/* Called from time to time with the share that is written, 0..1. May be NULL. */
	void (*progress)(void *context, double done);
	void *progress_context;
};

#define CLEW_PAGE_SLOWEST                                                                          \
	10 /* operations that are explained unless another number is asked for                     \
	    */
/* About a capture of 5 million pieces. */
#define CLEW_PAGE_LIMIT (UINT64_C(16) << 20)

/* Writes the page. Errors of the stream stay on it. 0 or -ENOMEM. */
int clew_page_write(FILE *out, const struct clew_page_options *options);

#endif
