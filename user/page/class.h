/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The classes of time that the page has colours for. Their numbers are in its data. */
#ifndef CLEW_PAGE_CLASS_H
#define CLEW_PAGE_CLASS_H

#include "explain/summary.h"

enum page_class {
	PAGE_UNKNOWN,
	PAGE_RUNNING,
	PAGE_READY,
	PAGE_LOCK,
	PAGE_DISK,
	PAGE_OTHERS, /* other tasks, other hosts */
	PAGE_MEMORY,
	PAGE_IDLE,
	PAGE_QUOTA, /* kept off the CPU by a quota */
	PAGE_CLASS_COUNT
};

/* "ready, no CPU" */
const char *page_class_name(enum page_class class);

/* The class of a kind of time, enum clew_wait_kind with CLEW_SEGMENT_*. */
enum page_class page_class_of_kind(unsigned kind);
/* The class of a piece of a task's timeline. */
enum page_class page_class_of_piece(const struct clew_trace *trace, const struct clew_piece *piece);

/* Adds up a program's time by class; `ret_ns` has PAGE_CLASS_COUNT elements. */
void page_class_sums(const struct clew_program *program, uint64_t *ret_ns);

#endif
