/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a causal trace back to a capture's trace: what the files of user/convert
 * share.
 */
#ifndef CLEW_CONVERT_TO_TRACE_H
#define CLEW_CONVERT_TO_TRACE_H

#include "convert/rows.h"
#include "convert/to_model.h"
#include "model/internal.h"

/* The values of an attribute list by key, NULL where it has none. */
struct values {
	uint32_t list;
	const char *of[ATTRIBUTE_COUNT];
};

struct back {
	const struct clew_model *model;
	struct clew_trace *trace;
	uint32_t drop_types;
	char *message;
	size_t message_size;

	uint8_t *keys;		/* by string: enum attribute_key + 1, 0 no key of ours */
	uint32_t *serials;	/* by span: of its root's task, CLEW_NO_TASK none */
	uint32_t *serial_of;	/* by string: of the first thread of that name */
	uint8_t *is_device;	/* by span: it is a device or a request */
	uint8_t *edge_types;	/* by dependency type: enum clew_edge_type, or UINT8_MAX call and
				   return */
	uint32_t first_request; /* span, CLEW_NONE none; requests follow each other */
	uint32_t *request_of;	/* by span from that on: its number, CLEW_NONE it is none */
	bool from_capture;	/* it has attribute "capture"; what it lacks is unknown */
	size_t first_gap;	/* of the capture whose attributes are being read, in its info */
	bool has_runs;		/* there are spans of CPUs, which have the runs */

	struct clew_run *runs; /* by task, in order of time within it; else NULL */
	uint32_t *run_begin;   /* by serial, and an end */
	struct values values;  /* of the last back_values() */
	uint32_t sleep_number;
	struct vector holders, links; /* of the sleep that is being made */
	struct vector writers;	      /* uint32_t, of the extent that is being made */
	struct row row;		      /* of the value that is being read */
};

/* values.c */
/* Says what is wrong, and returns -EINVAL. */
int back_fail(struct back *back, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Valid until the next call. */
const struct values *back_values(struct back *back, uint32_t attributes);
/* The task of a thread's name in a value; CLEW_NO_TASK: no thread has it. */
uint32_t back_serial(const struct back *back, const char *name);
/* The number that has this name, from 0; -1: none of `count`. */
int back_word(const char *word, const char *(*name)(unsigned), unsigned count);
/* A number that is all of a value; `number` stays as it is if the list lacks
 * the key. */
int back_number(struct back *back, const struct values *values, enum attribute_key key,
		uint64_t *number);

/* Numbers of several keys. */
struct back_number {
	enum attribute_key key;
	uint64_t *number;
};
int back_numbers(struct back *back, const struct values *values, const struct back_number *numbers,
		 size_t count);
#define BACK_NUMBERS(back, values, ...)                                                            \
	back_numbers(back, values, (const struct back_number[]){__VA_ARGS__},                      \
		     sizeof((const struct back_number[]){__VA_ARGS__}) /                           \
			     sizeof(struct back_number))

/* The first row of a value, to back->row. 1: there is one; 0: the list lacks
 * the key; -EINVAL. */
int back_row(struct back *back, enum attribute_key key, const struct values *values);
typedef int (*back_take)(struct back *back, const struct row *row);
/* Calls `take` with each row of a value, if the list has the key; row->context
 * is `context`. */
int back_rows(struct back *back, enum attribute_key key, const struct values *values,
	      back_take take, void *context);
/* The same of one value; `name`: all of its key. */
int back_rows_of(struct back *back, enum attribute_key key, const char *name, const char *value,
		 back_take take, void *context);
/* Says that back->row is not as the table of attributes has it, and returns
 * -EINVAL. */
int back_fail_row(struct back *back);

/* cpus.c: runs, and what the CPUs' spans say. back_truth: only of the capture
 * itself. */
int back_machine(struct back *back);
int back_truth(struct back *back);
/* capture.c, identities.c: an attribute of a CPU's span; other keys are
 * ignored. `name`: all of the key. */
int back_capture(struct back *back, enum attribute_key key, const char *name, const char *value);
int back_identity(struct back *back, enum attribute_key key, const char *name, const char *value);
/* requests.c */
int back_requests(struct back *back);
/* pages.c */
int back_pages(struct back *back, uint32_t request, const struct values *values);
int back_touches(struct back *back, uint32_t serial, const struct values *values);
/* announce.c */
int back_announcements(struct back *back, uint32_t serial, const struct values *values);
int back_environment(struct back *back, uint32_t serial, const struct values *values);
/* frames.c */
int back_frames(struct back *back, uint32_t serial, const struct values *values);
int back_functions(struct back *back, const char *name, const char *value);
int back_dropped(struct back *back, const char *name, const char *value);
/* ends.c */
int back_ends(struct back *back, uint32_t serial, const struct values *values);
/* Once all announcements have been read. */
void back_order_announcements(struct back *back);
/* moments.c */
int back_moments(struct back *back, uint32_t serial, const struct values *values);
void back_order_moments(struct back *back);
/* tasks_back.c */
int back_tasks(struct back *back);
/* times_back.c: runs, sleeps and waits in run queues of all threads */
int back_times(struct back *back);
/* objects.c */
int back_object(struct back *back, const struct values *values, struct clew_object *ret_object);
/* links.c: start, end, edge type and origin of the sleep must be set. */
int back_holders(struct back *back, const struct values *values, struct clew_sleep *sleep);
int back_links(struct back *back, const struct values *values, uint32_t dependency,
	       struct clew_sleep *sleep);
/* sleeps_back.c */
/*
 * A sleep over a gap, or of no length where start == end. `dependency`: of the
 * ES behind it, CLEW_NONE none.
 */
int back_sleep(struct back *back, uint32_t serial, unsigned kind, const struct values *values,
	       uint64_t start, uint64_t end, uint32_t dependency, uint32_t *call_id);
/* edges.c */
int back_edges(struct back *back);

#endif
