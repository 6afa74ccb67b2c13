/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stitching as it was written, and one of it: what its statements find in each trace as
 * it is (find), which of that belongs together (match), what that says of the clocks (clock),
 * all traces in one (copy), under their new names (names).
 */
#ifndef CLEW_ANALYSE_STITCH_INTERNAL_H
#define CLEW_ANALYSE_STITCH_INTERNAL_H

#include "base/vector.h"
#include "convert/shift.h"
#include "model/strings.h"
#include "query/regex.h"
#include <clew/stitch.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum stitch_kind { STITCH_ADD, STITCH_MATCH, STITCH_JOIN };

/* A position or marks, in one trace or in any. */
struct stitch_side {
	struct clew_query *query;
	struct regex *regex;
	unsigned group; /* of the regex, that holds the key; 0: the whole label is */
	size_t at;	/* of its text */
	uint32_t trace; /* CLEW_NONE: any */
	size_t trace_at;
};

struct stitch_statement {
	enum stitch_kind kind;
	size_t offset, size; /* of its text, without the semicolon */
	enum clew_mode mode;
	size_t types_at, types_size; /* of a join a list, size 0: all */
	char *type;		     /* of the others */
	char *key;		     /* of a join */
	struct vector sides;	     /* stitch_side: origins first */
	size_t origin_sides;
	bool one_expression; /* a match with the same one on both sides */
};

struct clew_stitching {
	char *text;
	size_t size;
	struct stitch_statement *statements;
	uint32_t count;
};

/* A moment of a span of a trace, by that trace's clock. */
struct stitch_end {
	uint32_t trace, span;
	clew_time at;
};

/* A dependency to be added: its ends are ends[first ..], origins first. */
struct stitch_added {
	uint32_t statement; /* CLEW_NONE: it is that of a connection */
	uint32_t first, origins, destinations;
	uint32_t key;	      /* a string of `keys`; CLEW_NONE: ends were named */
	const char *evidence; /* likewise NULL */
};

/* One that leads from one trace to another, for the clocks. */
struct stitch_edge {
	uint32_t from, to; /* traces */
	clew_time origin, destination;
};

#define STITCH_NOT_JOINED UINT64_MAX

struct stitch {
	const struct clew_model *const *traces;
	uint32_t count;
	const struct clew_stitching *program;
	const struct clew_stitch_options *options;
	struct clew_stitch_result *result;
	struct clew_query_error *error;
	struct vector ends, added, edges;
	struct strings keys;
	/* By trace and dependency: the one that it becomes a part of, as trace << 32 | dependency,
	 * which may be itself. NULL: no joins in that trace. */
	uint64_t *joined[CLEW_STITCH_MOST_TRACES];
	clew_time offsets[CLEW_STITCH_MOST_TRACES];
	/* The time that a clock gains on the first one as it goes on, from a moment of its own. */
	double rates[CLEW_STITCH_MOST_TRACES];
	clew_time zeros[CLEW_STITCH_MOST_TRACES];
	uint32_t first_span[CLEW_STITCH_MOST_TRACES];
	/* By trace: the name of its host, which each name of a root has before it then. All of them
	 * are NULL unless the traces are of different hosts. */
	const char *hosts[CLEW_STITCH_MOST_TRACES];
};

/* The most bytes of a prefix, and a NUL. */
#define STITCH_PREFIX (HOST_NAME_MAX + 2)

/* Says what is wrong at a byte of the program; returns -EINVAL. */
int stitch_fail(struct stitch *s, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- stitch_find.c: what statements mean ---- */

int stitch_find(struct stitch *s);

/* ---- stitch_match.c: what has the same key ---- */

/* One of several that are joined by a key. */
struct keyed {
	uint32_t key; /* a string of `keys` */
	uint32_t trace;
	clew_time at;
	uint32_t item; /* a span, or a dependency */
	bool is_destination;
	bool is_whole; /* it lacks nothing if nobody has its key */
};

/*
 * Puts together what has one key, across traces: one origin with all destinations, or as
 * many destinations as origins, in order. `pair` gets an origin and its destinations; `exact`: no
 * other could be meant.
 */
int stitch_match(struct stitch *s, uint32_t statement, struct keyed *items, size_t count,
		 int (*pair)(struct stitch *s, uint32_t statement, const struct keyed *origin,
			     const struct keyed *destinations, size_t destination_count,
			     bool exact));

/* ---- connect.c: what connections between hosts carried ---- */

int stitch_connect(struct stitch *s);

/* ---- stitch_clock.c ---- */

/* The bound that a dependency sets on clocks. */
int stitch_note(struct stitch *s, enum clew_mode mode, const struct stitch_end *origins,
		size_t origin_count, const struct stitch_end *destinations,
		size_t destination_count);
/* A moment of a trace with what its clock has gained by then. */
static inline clew_time stitch_warped(const struct stitch *s, uint32_t trace, clew_time at)
{
	return at + clew_shift_gained(s->rates[trace], s->zeros[trace], at);
}

/* The same by the first trace's clock, once its offset is chosen. */
static inline clew_time stitch_moved(const struct stitch *s, uint32_t trace, clew_time at)
{
	return stitch_warped(s, trace, at) + s->offsets[trace];
}

/* rate.c: chooses the rates of all clocks, 0 where a constant fits. */
void stitch_rates(struct stitch *s);
/* Chooses the offsets of all traces. */
int stitch_clocks(struct stitch *s);

/* ---- stitch_names.c ---- */

struct stitch_names {
	struct stitch *s;
	struct strings spans,
		categories; /* names of roots in any trace; categories with their hierarchy */
	struct vector span_traces,
		category_traces; /* uint32_t: the trace of each, CLEW_NONE several */
	struct vector text;	 /* char: the last answer */
};

/* Finds the hosts of the traces. */
void stitch_hosts(struct stitch *s);
/* Gives the prefix of names of a trace: "2:" or "db1:". */
void stitch_prefix(const struct stitch *s, uint32_t trace, char *text);

int stitch_names_begin(struct stitch_names *names, struct stitch *s);
void stitch_names_done(struct stitch_names *names);
/* The name that a root span, or a root category, gets; valid until the next question. NULL: no
 * memory. */
const char *stitch_span_name(struct stitch_names *names, uint32_t trace, uint32_t span);
const char *stitch_category_name(struct stitch_names *names, uint32_t trace, uint32_t category);
/* True if a name is that of a root span which gets another one. */
bool stitch_is_renamed(struct stitch_names *names, uint32_t trace, const char *name);

/* ---- clash.c: numbers that mean several things ---- */

struct stitch_clash {
	struct strings keys;
	struct vector things; /* uint64_t: a hash of what each names, 0: of several things */
};

/* Looks at all traces, if connections join them. stitch_clash_done() may follow in any case. */
int stitch_clash_begin(struct stitch_clash *clash, const struct stitch *s);
bool stitch_clashes(const struct stitch_clash *clash, const char *key);
void stitch_clash_done(struct stitch_clash *clash);

/* ---- stitch_copy.c ---- */

/* All traces in one, without what is added. */
int stitch_copy(struct stitch *s, struct clew_model **ret_model);

#endif
