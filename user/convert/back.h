/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a causal trace back to a trace: shared by the back files of user/convert alone.
 */
#ifndef CLEW_CONVERT_BACK_H
#define CLEW_CONVERT_BACK_H

#include "convert/internal.h"
#include "convert/rows.h"
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
	bool from_capture;	/* an attribute says so: what is not said is not known */
	size_t first_gap;	/* of the capture whose attributes are being read, in its info */
	bool has_runs;		/* CPUs tell who ran when */

	struct clew_run *runs; /* by task, in order of time within it; else NULL */
	uint32_t *run_begin;   /* by serial, and an end */
	struct values values;  /* of the last list asked for */
	uint32_t sleep_number;
	struct vector holders, links; /* of the sleep that is being made */
	struct vector writers;	      /* uint32_t, of the extent that is being made */
	struct row row;		      /* of the value that is being read */
};

/* Says what is wrong, and returns -EINVAL. */
int back_fail(struct back *back, const char *format, ...) __attribute__((format(printf, 2, 3)));
const struct values *back_values(struct back *back, uint32_t attributes);
/* Of a name in a value; CLEW_NO_TASK: there is no thread of that name. */
uint32_t back_serial(const struct back *back, const char *name);
/* A number that is all of a value; `number` stays as it is where there is none of that key. */
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

/* The first row of a value, to back->row. 1: there is one; 0: nothing has that key; -EINVAL. */
int back_row(struct back *back, enum attribute_key key, const struct values *values);
typedef int (*back_take)(struct back *back, const struct row *row);
/* All rows of a value, if there is one; `context` is in each of them. */
int back_rows(struct back *back, enum attribute_key key, const struct values *values,
	      back_take take, void *context);
/* The same of a value whose key, all of it, is `name`. */
int back_rows_of(struct back *back, enum attribute_key key, const char *name, const char *value,
		 back_take take, void *context);
/* Says that a row is not as the table of attributes has it, and returns -EINVAL. */
int back_fail_row(struct back *back);

/* capture_back_machine.c. Truth: only of the capture as a whole. */
int back_machine(struct back *back);
int back_truth(struct back *back);
/* capture_back_requests.c */
int back_requests(struct back *back);
/* capture_pages.c */
int back_pages(struct back *back, uint32_t request, const struct values *values);
int back_touches(struct back *back, uint32_t serial, const struct values *values);
/* capture_announce.c */
int back_announcements(struct back *back, uint32_t serial, const struct values *values);
int back_environment(struct back *back, uint32_t serial, const struct values *values);
/* All have been taken. */
void back_order_announcements(struct back *back);
/* capture_back_tasks.c */
int back_tasks(struct back *back);
/* capture_back_time.c: runs, sleeps and ready stretches of all threads */
int back_times(struct back *back);
/* capture_back_sleep.c */
int back_object(struct back *back, const struct values *values, struct clew_object *ret_object);
/*
 * A sleep over a gap, or of no length where start == end. `dependency`: of the ES
 * behind it, CLEW_NONE none.
 */
int back_sleep(struct back *back, uint32_t serial, unsigned kind, const struct values *values,
	       uint64_t start, uint64_t end, uint32_t dependency, uint32_t *call_id);
/* capture_back_edges.c */
int back_edges(struct back *back);

#endif
