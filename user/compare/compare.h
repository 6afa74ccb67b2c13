/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations of two sides, "before" and "after", each of one capture or several, and because of
 * what those of a class take longer now.
 *
 * Each nanosecond of an operation has one cause, so that the changes of the causes' means add up to
 * the change of the mean. Classes and causes are the same where their names are, which have no
 * volatile numbers (normal.h).
 */
#ifndef CLEW_COMPARE_COMPARE_H
#define CLEW_COMPARE_COMPARE_H

#include <clew/spent.h>

#include "base/map.h"
#include "base/vector.h"
#include "compare/noise.h"
#include "explain/chosen.h"
#include "explain/classes.h"

#define COMPARE_MOST_CAUSES 63 /* of a class; the others, which change least, are one */

/* The keys of causes. */
enum compare_by {
	COMPARE_BY_CAUSE,    /* what was waited for, and who had it or ended it */
	COMPARE_BY_PATH,     /* the same, and from where in the code */
	COMPARE_BY_FUNCTION, /* in which function it was */
	COMPARE_BY_OBJECT,   /* what was waited for */
	COMPARE_BY_CGROUP,   /* as COMPARE_BY_CAUSE, who by the control group */
};

enum compare_side_name { COMPARE_BEFORE, COMPARE_AFTER, COMPARE_SIDES };

/* The name of a cause, or that of a class. */
struct compare_name {
	const char *text;  /* not safe for a terminal */
	const char *party; /* of a cause: the program that had or did what was waited for; "" none;
			      of a class: the program */
	uint8_t spent;	   /* of a cause: enum clew_spent */
	uint8_t kind;	   /* of a class: enum clew_operation_kind */
	uint8_t wait_kind; /* of a cause: enum clew_wait_kind of the first such wait */
	/* The cause that a lock would have without its name; UINT32_MAX: it has none anyway. */
	uint32_t unnamed;
	int8_t edge_type; /* .. and the type of what ended it; -1 nothing */
};

/* Names by number, each once. */
struct compare_names {
	struct vector list; /* struct compare_name */
	struct map numbers;
	struct arena memory;
};

/* The time of an operation that has one cause. */
struct compare_share {
	uint64_t ns;
	uint64_t times; /* pieces of its timeline */
	uint32_t cause;
	uint32_t operations; /* that have it: 1, or of a sum as many */
};

/* An operation; or the sum of those of a period, as a history keeps them. */
struct compare_operation {
	uint64_t from, ns;
	uint64_t count; /* of operations */
	size_t first_share;
	uint32_t share_count;
	uint32_t class;
	uint32_t tid;
	uint32_t capture; /* of its side */
	uint32_t block;	  /* of time; CLEW_NO_NUMBER: not given */
	uint8_t side;	  /* enum compare_side_name */
	bool within;	  /* it lies within other operations of its thread, as requests do */
};

/* The load of the machine in a capture, or in all captures of a side. */
struct compare_load {
	uint64_t ns; /* of recording */
	uint64_t operations, threads;
	uint64_t cpus;	  /* most of a capture */
	uint64_t cpu_ns;  /* time of all of them */
	uint64_t busy_ns; /* .. in which they ran something */
	uint64_t ready_ns;
	uint64_t limited_ns; /* of threads that limits of groups kept waiting, of CPU or memory */
	uint64_t requests, request_bytes;
	uint64_t packets; /* that ended waits */
	uint64_t lost;	  /* records */
	uint64_t own_ns;  /* clew's CPU time */
};

/* The machine, as a capture describes it. */
enum compare_about {
	COMPARE_HOST,
	COMPARE_KERNEL,
	COMPARE_MACHINE,
	COMPARE_CPU,
	COMPARE_TOPOLOGY,
	COMPARE_ABOUT_COUNT
};

/* A file that stacks lead through. */
struct compare_image {
	const char *path;
	uint64_t build_id; /* a hash of it */
	uint8_t side;
};

/* The operations of a class that are not compared. */
struct compare_left_out {
	uint64_t count;
	uint32_t class;
	uint8_t side;
	bool blind; /* records were lost meanwhile; else the recording began or ended */
};

/* A name before, and the name of the same thing after. */
struct compare_rename {
	const char *from, *to;
};

struct compare_options {
	enum compare_by by;
	const char *class;	 /* a glob, or words: only classes named like this; NULL: all */
	const char *const *only; /* only classes that are called so; NULL: all */
	size_t only_count;
	const struct compare_rename *renames;
	size_t rename_count;
};

#define COMPARE_LENGTHS 40 /* buckets: the first is below 1 us, the last from 575 s on */

/* The lengths of a class's operations where only sums are known. */
struct compare_lengths {
	uint64_t counts[COMPARE_LENGTHS];
};

struct compare {
	const struct compare_options *options;
	struct compare_names causes, classes;
	struct vector operations; /* struct compare_operation */
	struct vector shares;	  /* struct compare_share */
	struct vector left_out;	  /* struct compare_left_out */
	struct vector images;	  /* struct compare_image */
	struct vector lengths;	  /* struct compare_lengths */
	struct map lengths_of;	  /* (class, side) -> index of them */
	struct compare_load loads[COMPARE_SIDES];
	/*
	 * Only operations that end behind `from`, ns, and at `to` at the latest are added, and only
	 * the load between these: the rest of a capture is there so that they are whole. One that
	 * goes on is not left out then, as it ends in another part, unless `to` is UINT64_MAX. 0
	 * and UINT64_MAX: all are.
	 */
	uint64_t from, to;
	uint64_t known;	 /* ns: operations that began before it are not whole, and are left out */
	bool in_windows; /* a capture was looked at in windows: so are those across several */
	/* As the first capture of a side has them; NULL: it does not. */
	const char *about[COMPARE_SIDES][COMPARE_ABOUT_COUNT];
	uint32_t captures[COMPARE_SIDES];
	struct arena memory;
};

/* True if only a part of each capture is added. */
static inline bool compare_is_part(const struct compare *compare)
{
	return compare->from || compare->to != UINT64_MAX;
}

/* `options` stay the caller's. */
void compare_begin(struct compare *compare, const struct compare_options *options);
/* Adds the operations of the chosen tasks in a capture that was read in one piece. 0 or -ENOMEM. */
int compare_add(struct compare *compare, enum compare_side_name side,
		const struct clew_trace *trace, const struct clew_chosen *chosen);
/* The operations of the side "before" are divided among both sides, block of time by block. */
void compare_halve(struct compare *compare);
void compare_done(struct compare *compare);

/* The number of a class or a cause of a side, UINT32_MAX without memory. Texts are copied. */
uint32_t compare_name_add(const struct compare *compare, struct compare_names *names,
			  enum compare_side_name side, const struct compare_name *name);
void compare_names_done(struct compare_names *names);
static inline const struct compare_name *compare_name_at(const struct compare_names *names,
							 uint32_t number)
{
	return (const struct compare_name *)names->list.data + number;
}

/* The name of a class of a capture, to be freed; NULL: no memory. */
char *compare_class_name(const struct clew_trace *trace, const struct clew_operation_classes *found,
			 size_t class);
/* True if a name of a class fits a glob, or has these words in this order. */
bool compare_fits(const char *asked, const char *class);
/* True if the classes of this name are wanted. */
bool compare_is_wanted(const struct compare *compare, const char *class);

/* ---- lengths of sums ---- */

unsigned compare_length_bucket(uint64_t ns);
/* 0 or -ENOMEM. */
int compare_length_add(struct compare *compare, enum compare_side_name side, uint32_t class,
		       unsigned bucket, uint64_t count);
/* The length, ns, that a share of a class's operations do not exceed, too large by up to seven
 * tenths; 0: it is not known. */
uint64_t compare_length_of(const struct compare *compare, enum compare_side_name side,
			   uint32_t class, double share);

/* ---- the result ---- */

/* A cause, or all of them, on one side. */
struct compare_part {
	uint64_t ns;	     /* of all operations */
	uint64_t times;	     /* pieces */
	uint64_t operations; /* that have it */
	uint64_t slowest_ns; /* .. of the slowest 1 % of the operations, at least one */
	uint64_t mean_ns;    /* .. an operation, rounded so that causes add up to their class's */
	uint64_t slowest_mean_ns;
};

struct compare_row {
	uint32_t cause;	 /* UINT32_MAX: those that change least */
	uint32_t merged; /* so many of these */
	struct compare_part sides[COMPARE_SIDES];
	struct noise_difference difference;
	bool changed;	/* beyond noise, and large enough to matter */
	double on_path; /* set by on_path_try() */
};

/* ns of a change that operations have more or less because of it, as far as that was tried: the
 * rest is beside something that is waited for anyway. */
static inline double compare_change_on_path(const struct compare_row *row)
{
	return row->on_path * ((double)row->sides[COMPARE_AFTER].mean_ns -
			       (double)row->sides[COMPARE_BEFORE].mean_ns);
}

/* ns by which the mean of operations changed because of it. */
static inline int64_t compare_change(const struct compare_row *row)
{
	return (int64_t)(row->sides[COMPARE_AFTER].mean_ns - row->sides[COMPARE_BEFORE].mean_ns);
}

enum compare_verdict {
	COMPARE_SAME,	 /* no change beyond noise */
	COMPARE_CHANGED, /* it, or a cause of it */
	COMPARE_SHORT,	 /* too few blocks of time */
	COMPARE_BLIND,	 /* too many of its operations have losses */
};

struct compare_class {
	uint32_t class;
	enum compare_verdict verdict;
	bool replicated;	       /* there are captures enough to say that something changed */
	uint64_t count[COMPARE_SIDES]; /* operations that are compared */
	uint64_t slowest[COMPARE_SIDES]; /* 0 where the operations are sums */
	uint64_t blind[COMPARE_SIDES], cut[COMPARE_SIDES];
	uint64_t p50[COMPARE_SIDES], p99[COMPARE_SIDES];
	size_t blocks[COMPARE_SIDES];
	const struct compare_operation *longest; /* after; NULL: operations are sums */
	struct compare_row total;
	struct compare_row *rows; /* what changed most first; the rest is the last one */
	size_t row_count;
};

/* A class of all operations of a kind whose shares of them changed. */
struct compare_mix {
	uint8_t kind;
	uint64_t count[COMPARE_SIDES], ns[COMPARE_SIDES];
	double change; /* ns an operation that the shares make */
};

/* Time in which operations of a program waited for what another one had. */
struct compare_blame {
	const char *victim, *party;
	uint8_t spent;
	uint64_t ns[COMPARE_SIDES];
	uint64_t operations[COMPARE_SIDES]; /* of the victim, without those within others */
};

/* A class of one side. */
struct compare_alone {
	uint32_t class;
	uint64_t count, ns;
};

struct compare_result {
	struct compare_class *classes; /* of both sides; what changed most first */
	size_t class_count;
	struct compare_alone *alone[COMPARE_SIDES]; /* classes of one side, most time first */
	size_t alone_count[COMPARE_SIDES];
	struct compare_mix mixes[CLEW_OPERATION_KINDS];
	size_t mix_count;
	const char **rebuilt; /* files that have another build id after */
	size_t rebuilt_count;
	struct compare_blame *blames; /* what changed most first */
	size_t blame_count;
};

/* Compares what was added; the result refers to it. compare_result_done() in any case. 0 or
 * -ENOMEM. */
int compare_find(const struct compare *compare, struct compare_result *ret_result);
void compare_result_done(struct compare_result *result);

#endif
