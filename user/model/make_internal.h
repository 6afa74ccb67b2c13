/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A maker: the unfinished model, and what is needed only while it is made.
 * Strings, spans, categories, waits and attributes are columns of the model
 * from the start. ESs and marks are in a sequence of each span, endpoints in a
 * list, until the finish lays them out. In a maker's ESs `in` and `out` are
 * endpoints, not dependencies, so that a fission moves an endpoint without a
 * search.
 */
#ifndef CLEW_MODEL_MAKE_INTERNAL_H
#define CLEW_MODEL_MAKE_INTERNAL_H

#include "base/map.h"
#include "base/sort.h"
#include "model/internal.h"
#include "model/make_sequence.h"
#include <clew/model_make.h>
#include <clew/tokens.h>

struct make_es {
	clew_time end; /* the key */
	clew_time start;
	uint32_t in, out; /* endpoints */
	uint32_t wait;
	uint32_t unused;
};

/*
 * A mark at a moment that several ESs touch belongs to the one of number
 * `ordinal` among them, in order; at any other moment `ordinal` is 0.
 */
struct make_mark {
	clew_time at; /* the key */
	uint32_t label;
	uint32_t ordinal;
};

struct make_span {
	uint32_t last_child;
	clew_time last_mark; /* INT64_MIN: none */
	struct sequence es, marks;
};

struct make_dependency {
	uint32_t type, attributes;
	enum clew_mode mode;
	uint32_t first_origin, last_origin, origin_count; /* first: the triggering one */
	uint32_t first_destination, last_destination, destination_count;
	clew_time trigger_at;
};

struct make_endpoint {
	uint32_t next; /* of its dependency, on the same side */
	uint32_t dependency;
};

struct clew_maker {
	struct clew_model *model;
	struct vector spans;	     /* make_span, beside the model's */
	struct vector dependencies;  /* make_dependency */
	struct vector endpoints;     /* make_endpoint */
	struct vector last_children; /* of categories, uint32_t */
	struct vector last_roots;    /* last root category of hierarchies, uint32_t */
	struct map
		span_index; /* (parent, name) -> span; with MAKE_AMBIGUOUS if there are several */
	struct map category_index;  /* (parent, name), hierarchy -> category */
	struct map name_index;	    /* name, MAKE_TYPE or MAKE_HIERARCHY -> number */
	struct map placement_index; /* span, hierarchy -> category */
	struct map attribute_index; /* hash -> attribute list */
	uint32_t kind_waits[CLEW_SEGMENT_KIND_COUNT]; /* the wait of a kind without attributes */
	uint32_t last_root;
	uint32_t mark_count;
	uint32_t limit; /* of the number of items of each kind */
	int dead;	/* -errno: the maker can only be freed */
	bool bulk;	/* all ESs are laid out already */
	char error[240];
};

#define MAKE_AMBIGUOUS (UINT64_C(1) << 32)
enum { MAKE_TYPE, MAKE_HIERARCHY };

static inline struct make_span *make_span(const struct clew_maker *maker, uint32_t span)
{
	return (struct make_span *)maker->spans.data + span;
}

static inline struct clew_span *make_model_span(const struct clew_maker *maker, uint32_t span)
{
	return (struct clew_span *)model_column(maker->model, COLUMN_SPAN)->data + span;
}

static inline struct make_endpoint *make_endpoint(const struct clew_maker *maker, uint32_t endpoint)
{
	return (struct make_endpoint *)maker->endpoints.data + endpoint;
}

/* Says what is wrong and returns `r`. */
int make_fail(struct clew_maker *maker, int r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Begins an operation: 0, or -errno if the maker takes none. `structural`: it
 * makes ESs. */
int make_begin(struct clew_maker *maker, bool structural);
/* Memory ran short in the middle of a change. Returns -ENOMEM. */
int make_dead(struct clew_maker *maker);
/* -E2BIG if `count` + `more` exceed the limit, else 0. */
int make_room(struct clew_maker *maker, size_t count, size_t more, const char *what);
/* A moment in the written unit. */
const char *make_moment(const struct clew_maker *maker, clew_time at, char text[static 32]);

/* A span with its names and relatives, without ESs. */
int make_new_span(struct clew_maker *maker, uint32_t parent, const char *name, clew_time start,
		  clew_time end, uint32_t *ret_span);
/* CLEW_NONE: untyped. */
int make_wait(struct clew_maker *maker, uint32_t kind, uint32_t attributes, uint32_t *ret_wait);

/* The key of attribute_index. */
uint64_t make_hash_attributes(const struct clew_attribute *attributes, size_t count);

/* ---- make_span.c: the ESs of one span. After a check only -ENOMEM is possible. ---- */

int make_check_endpoint(struct clew_maker *maker, uint32_t span, clew_time at, unsigned place);
int make_check_suspend(struct clew_maker *maker, uint32_t span, clew_time start, clew_time end,
		       unsigned place);
/* True if the ES that CLEW_PLACE_NUMBER names, if it does, can take a
 * destination or an origin. */
int make_check_free(struct clew_maker *maker, uint32_t span, clew_time at, unsigned place,
		    bool destination);
int make_split(struct clew_maker *maker, uint32_t span, clew_time at);
int make_out(struct clew_maker *maker, uint32_t span, clew_time at, unsigned place,
	     uint32_t endpoint);
int make_in(struct clew_maker *maker, uint32_t span, clew_time at, unsigned place,
	    uint32_t endpoint);
int make_suspend(struct clew_maker *maker, uint32_t span, clew_time start, clew_time end,
		 uint32_t wait);
/* True if there is an ES of the number that CLEW_PLACE_NUMBER names, if it
 * names one. */
bool make_find_number(struct make_span *span, clew_time at, unsigned place);
/* Into the first ES there, or number `ordinal`, before others of that moment. 0
 * or -ENOMEM. */
int make_mark(struct make_span *span, const struct make_mark *mark);

/* ---- make_walk.c: all ESs of one span from its sorted events ---- */

enum make_event { EVENT_OUT, EVENT_IN, EVENT_SUSPEND, EVENT_RESUME, EVENT_MARK };

/* The tag of an event is kind | place << EVENT_BITS; its index is the value for
 * an ES's `in` or `out`, a suspend or a mark. */
#define EVENT_BITS	 3
#define EVENT_KIND(tag)	 ((tag) & ((1u << EVENT_BITS) - 1))
#define EVENT_PLACE(tag) ((tag) >> EVENT_BITS)

static inline uint64_t event_key(clew_time at)
{
	return (uint64_t)at ^ UINT64_C(1) << 63;
}

static inline clew_time event_time(uint64_t key)
{
	return (clew_time)(key ^ UINT64_C(1) << 63);
}

struct make_suspend_row {
	clew_time end;
	uint32_t wait;
};

/* The ESs that touch one instant, in order; the first one may begin before it,
 * the last one end after it. */
struct make_instant {
	struct make_touching {
		uint32_t in, out;
	} * items; /* room for twice the events of an instant, and more */
	size_t room, front, count;
	bool opens_left;  /* the first began before */
	bool opens_right; /* the last ends later */
};

struct make_walk {
	struct clew_maker *maker;
	const struct make_suspend_row *suspends;
	const uint32_t *labels;	   /* of marks */
	struct vector *es, *marks; /* columns, with room for all */
	struct make_instant instant;
	uint32_t span;
	clew_time start, end;
	bool running;	  /* the last ES of the column is still open */
	uint32_t suspend; /* not running: the suspend that goes on */
};

/* Adds a span's ESs. `walk` has all but the instant's items, running and
 * suspend. */
int make_walk_span(struct make_walk *walk, const struct sort_key *events, size_t count);
void make_walk_done(struct make_walk *walk);

/* ---- make_flat.c ---- */

/*
 * Simplifies the ESs of a span, laid out, `in` and `out` of any meaning but
 * CLEW_NONE for none; marks stay where they are, `mark` is adjusted. Returns
 * how many are left.
 */
uint32_t make_simplify_span(struct clew_es *es, uint32_t count);
/*
 * The opposite of laying out: a span's ESs, whose `in` and `out` are endpoints,
 * and their marks, whose last one is before number `mark_end`, become its
 * sequences. 0 or -ENOMEM.
 */
int make_take_back(struct make_span *made, const struct clew_es *es, uint32_t count,
		   const struct clew_mark *marks, uint32_t mark_end);

/* ---- make_again.c ---- */

/* True if a model is one that a maker could have made, as to times and
 * links. */
bool make_is_right(const struct clew_model *model);

#endif
