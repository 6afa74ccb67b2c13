/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One screen about a recording: a headline, where each program's time went, who had what others
 * waited for, the slowest operations, the files and locks waited for.
 */
#ifndef CLEW_ANSWERS_REPORT_REPORT_H
#define CLEW_ANSWERS_REPORT_REPORT_H

#include "base/interval.h"
#include "explain/classes.h"
#include "explain/summary.h"
#include "explain/wait_groups.h"
#include "explain/why.h"
#include "trace/deadlock.h"
#include "trace/frames.h"
#include <stdio.h>

#include "answers/report/report_help.h"
#include "answers/why/why_tree.h"
#include "format/json.h"
#include "words/wall.h"

#define REPORT_MOST_OPERATIONS 3

#define REPORT_MOST_CAUSES 2

struct report_operation {
	struct clew_operation operation;
	size_t class;				     /* index */
	struct clew_told causes[REPORT_MOST_CAUSES]; /* the largest ones */
	size_t cause_count;
	bool explained; /* its causes were looked for */
};

/* Waits added up by what they were for, longest in all first. */
struct report_waits {
	struct clew_sum *sums; /* longest: number of the group's longest wait */
	size_t count;
	struct clew_wait_groups groups;
};

/* The longest wait of a sum. */
static inline const struct clew_sleep *report_longest(const struct report_waits *waits, size_t i)
{
	return clew_wait_groups_wait(&waits->groups, waits->sums[i].longest);
}

/* A share of a disk: that which requests of one task had. */
struct report_disk_share {
	uint32_t device;
	uint32_t task;
	uint64_t busy_ns; /* as in struct report_disk */
	uint64_t bytes;
	size_t requests;
};

/* A disk on which somebody waited. */
struct report_disk {
	uint32_t device;
	uint32_t program; /* whose requests had it longest; UINT32_MAX unknown */
	uint64_t busy_ns; /* requests in the device, added up */
	uint64_t bytes;
	size_t requests;
};

/* A share of a program's time, or of the time, below which nothing is worth a headline. */
#define REPORT_LEAST_PERCENT 5

struct report {
	const struct clew_trace *trace;
	const struct clew_relations *relations; /* may be NULL */
	struct clew_time_base base;
	struct clew_chosen chosen;
	uint64_t from;
	uint64_t to;
	struct clew_summary summary;
	struct report_operation operations[REPORT_MOST_OPERATIONS]; /* the longest one by class */
	size_t operation_count;
	size_t operation_total;	   /* in the interval */
	struct report_waits files; /* and disks */
	struct report_waits locks;
	struct report_waits headline; /* for what the headline is about */
	struct report_disk *disks;
	size_t disk_count;
	struct clew_function_sums functions; /* running time, the largest first; count 0: none */
	/* The headline: what a program spent most time on, apart from running. */
	uint32_t program; /* UINT32_MAX: nothing was busy */
	enum clew_spent spent;
	uint32_t cause;		       /* program that had the CPU, UINT32_MAX none */
	uint64_t cause_ns;	       /* for which it had it */
	const struct clew_sleep *wait; /* the longest one that it is about; NULL: none */
	/* The operations by class. The headline is about the longest one of class number `headed`
	   if `by_class` is set, with `class_ns` of `class_total` spent so. */
	struct clew_operation_classes classes;
	bool by_class;
	size_t headed;
	uint64_t class_ns, class_total;
	struct report_helps helps;	      /* for operations of the first class */
	const struct clew_deadlock *deadlock; /* which the headline is about; NULL: another thing */
	char *machine; /* of a recorded command: the headline about all threads */
};

/*
 * Begins one with the headline and the programs: *times is taken over, also after an error. All
 * else is still missing (report_sum.h adds it). Free it with report_done(), also after an error. 0
 * or -errno.
 */
int report_begin(const struct clew_trace *trace, const struct clew_relations *relations,
		 const struct clew_chosen *chosen, uint64_t from, uint64_t to,
		 struct clew_task_times *times, struct report *ret_report);
void report_done(struct report *report);
/* Finds the causes of an operation, and sets `explained`. `relations` may be NULL. 0 or -errno;
 * causes that were found are to be freed in any case. */
int report_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   struct report_operation *operation);
/*
 * Finds what requests that ended in from..to had of disks: struct report_disk_share, for
 * vector_done() also after an error. Only those that ended in `window`. 0 or -ENOMEM.
 */
int report_find_disks(const struct clew_trace *trace, const struct clew_chosen *chosen,
		      uint64_t from, uint64_t to, const struct clew_trace_window *window,
		      struct vector *ret_shares);
/* Makes the disks of such shares; a task may have several of one disk. 0 or -ENOMEM. */
int report_add_disks(struct report *report, const struct vector *shares);
/* The running time of the chosen tasks by function, if functions were traced. 0 or -ENOMEM. */
int report_add_functions(struct report *report);

/* `width`: columns of a line. `bars`: draw a bar for each program. */
void report_print(FILE *out, const struct report *report, size_t width, bool bars);
void report_json(struct clew_json *json, const struct report *report);
/* report_class.c: finds the classes, and the operations that are shown. In a `whole` trace, turns
 * the headline of a program that was asked for, or of a recorded `command`, to the class that hurts
 * most. 0 or -ENOMEM. */
int report_add_classes(struct report *report, bool whole, bool command);
/* report_deadlock.c: the first deadlock that a chosen thread is in; NULL: none. */
const struct clew_deadlock *report_find_deadlock(const struct report *report);
void report_print_deadlock(FILE *out, const struct report *report);
/* Prints in which functions programs ran, if there are samples of that (samples.h). */
void report_print_samples(FILE *out, const struct report *report, size_t width);
/* The field "stacks" of the open object: the samples of a program; none without samples. */
void report_json_samples(struct clew_json *json, const struct report *report, uint32_t program);
/* The headline, safe to print. */
void report_print_headline(FILE *out, const struct report *report);
/* The same as a text, to be freed; NULL: no memory. */
char *report_headline(const struct report *report);
/* Prints the object of a wait, with its call, and who held it. */
void report_print_awaited(FILE *out, const struct report *report, const struct clew_sleep *sleep);
/* The words for what a program did in a class of time, as in "waited for locks". */
const char *report_spent_words(enum clew_spent spent);
/* The heading of a part. */
void report_print_heading(FILE *out, const char *title);
/* The table of programs. `width`, `bars`: as of report_print(). */
void report_print_programs(FILE *out, const struct report *report, size_t width, bool bars);

#endif
