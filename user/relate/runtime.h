/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptions of runtimes: at which points of a program a piece of work is submitted, runs, is
 * suspended and ends, and by which key the points of one piece are joined. docs/layers.md describes
 * the text; layer.h reads it.
 */
#ifndef CLEW_RELATE_RUNTIME_H
#define CLEW_RELATE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps.h>

#define CLEW_RUNTIME_KEYS   4  /* numbers of a key */
#define CLEW_RUNTIME_GIVEN  12 /* values of an event */
#define CLEW_RUNTIME_STATES 16 /* numbers of a map of states */
#define CLEW_RUNTIME_CALLS  4  /* indirect calls of one point */
#define CLEW_RUNTIME_NONE   UINT16_MAX

/* The begin of an expression. */
enum clew_value_base {
	CLEW_BASE_ARGUMENT, /* by number; of a probe that a program carries, too */
	CLEW_BASE_REGISTER, /* by the machine's number */
	CLEW_BASE_RESULT,
	CLEW_BASE_STACK,
	CLEW_BASE_THREAD,
	CLEW_BASE_NUMBER,
	CLEW_BASE_TASK,	 /* the thread that is at the point */
	CLEW_BASE_CHILD, /* the thread that is made there */
	CLEW_BASE_KEPT,	 /* what the entry of the call kept */
	CLEW_BASE_FIELD, /* of a record, by number: enum clew_ring_field */
};

/* Where an expression is evaluated. */
enum clew_value_at {
	CLEW_AT_POINT,
	CLEW_AT_ENTRY, /* of the call that is left here */
	CLEW_AT_OUTER, /* of the call that this is within, or behind the entry of */
};

struct clew_runtime_step {
	int32_t add;
	uint8_t size; /* bytes that are then read there; 0: none */
	bool is_signed;
	const char *offset; /* a layout's or field's number that is added, too; NULL none */
};

/* A number or a text: a base, and reads from there on. */
struct clew_expression {
	uint8_t base;	/* enum clew_value_base */
	uint8_t at;	/* enum clew_value_at */
	uint8_t number; /* of the argument or register */
	uint8_t step_count;
	uint16_t text_max; /* 0: it is a number */
	bool is_code;	   /* the address of a function, which is shown by name */
	char test;	   /* '&', '=', '!', '<': it is a test against `operand`; 0: it is none */
	uint64_t constant, operand;
	struct clew_runtime_step steps[CLEW_MOMENT_STEPS];
};

/* A value that an event gives, by name; its point reads it into a slot. */
struct clew_runtime_value {
	const char *name;
	struct clew_expression expression;
	uint16_t slot; /* of the event's point or its outer one; CLEW_RUNTIME_NONE: nothing is read
			*/
};

enum clew_place_kind {
	CLEW_PLACE_ENTER,
	CLEW_PLACE_LEAVE,
	CLEW_PLACE_BEFORE, /* a call in the function */
	CLEW_PLACE_AFTER,
	CLEW_PLACE_BEFORE_CALLS, /* each call of the function */
	CLEW_PLACE_AFTER_CALLS,
	CLEW_PLACE_USDT,
	CLEW_PLACE_FORK, /* known from other records: nothing is probed */
	CLEW_PLACE_EXIT,
	CLEW_PLACE_RING_SUBMIT, /* a request to an io_uring */
	CLEW_PLACE_RING_COMPLETE,
};

/* The values of records that are places, beside tasks: by their numbers. */
enum clew_ring_field {
	CLEW_RING_FIELD_REQUEST,
	CLEW_RING_FIELD_USER_DATA,
	CLEW_RING_FIELD_OPERATION,
	CLEW_RING_FIELD_RING,
	CLEW_RING_FIELDS,
};

/* A place that is probed, and what is read there. Places of one text are one point. */
struct clew_runtime_point {
	uint8_t kind; /* enum clew_place_kind */
	bool hidden;  /* `symbol` is one of the runtime's hidden names */
	bool direct;  /* `calls` are direct ones, else indirect ones */
	uint8_t call_count;
	uint8_t calls[CLEW_RUNTIME_CALLS]; /* numbers of calls */
	const char *object;		   /* alias; USDT: the provider */
	const char *symbol;
	struct clew_expression values[CLEW_MOMENT_VALUES];
	uint8_t value_count;
	uint8_t kept;	 /* the value that is kept until the call is left, and 1; 0: none is */
	uint16_t number; /* among all points of the descriptions */
};

enum clew_event_verb {
	CLEW_VERB_SUBMIT,
	CLEW_VERB_START,
	CLEW_VERB_END,
	CLEW_VERB_SUSPEND,
	CLEW_VERB_RESUME,
	CLEW_VERB_READY, /* it gives up its thread, and can go on */
	CLEW_VERB_CANCEL,
	CLEW_VERB_WAIT,
	CLEW_VERB_WAITED, /* the thread's wait is over */
	CLEW_VERB_WAKE,
	CLEW_VERB_NAME,
	CLEW_VERB_AFTER, /* a callback that runs behind the end */
	CLEW_VERB_STATE,
	CLEW_VERB_WANT, /* it asks for an object, and waits if another one has it */
	CLEW_VERBS,
};

/* The relation to the point that has the values of the call around. */
enum clew_outer_kind {
	CLEW_OUTER_NONE,
	CLEW_OUTER_ENTRY,  /* the entry of the call that is left */
	CLEW_OUTER_WITHIN, /* a call that is open */
	CLEW_OUTER_BEHIND, /* an entry, of which only the first event behind it counts */
};

struct clew_runtime_event {
	uint8_t verb;	    /* enum clew_event_verb */
	uint8_t outer_kind; /* enum clew_outer_kind */
	bool cheap;	   /* an alternative to the span's other events, for where these are dear */
	uint16_t point;	   /* number among the runtime's */
	uint16_t outer;	   /* the entry, likewise, or CLEW_RUNTIME_NONE */
	uint16_t span;	   /* number among the runtime's spans */
	uint8_t key_count; /* 0: it is of what runs on this thread */
	uint8_t value_count;
	uint8_t state_count;
	bool has_condition;
	struct clew_runtime_value keys[CLEW_RUNTIME_KEYS];
	struct clew_runtime_value values[CLEW_RUNTIME_GIVEN];
	struct clew_runtime_value condition;
	struct {
		uint32_t number;
		uint8_t verb; /* SUBMIT never; READY, START, SUSPEND, END */
	} states[CLEW_RUNTIME_STATES];
	const char *where; /* FILE:LINE, for messages */
};

struct clew_runtime_span {
	const char *name;
	bool repeat, coalesce;
	bool several;	     /* several may be pending with one key: the oldest starts first */
	bool lock;	     /* it is an object that one has at a time, and no span */
	bool wants;	     /* an event says for which one is about to wait */
	uint16_t of;	     /* they are a part of spans of that kind; lock: these wait for it;
				CLEW_RUNTIME_NONE none, threads do */
	bool submits;	     /* it has an event for its submit */
	bool resumes;	     /* it has one for who lets it go on */
	bool waited;	     /* threads say themselves that they no longer wait */
	bool groups;	     /* spans belong to groups, and threads wait for these */
	bool ends_by_thread; /* its end has no key: it is the end of what the thread runs */
};

enum clew_hidden_kind {
	CLEW_HIDDEN_CODE,   /* the N-th address of a function that it takes */
	CLEW_HIDDEN_CALLEE, /* its only hidden direct callee that takes any */
	CLEW_HIDDEN_JUMP,   /* the target of its N-th tail jump */
	CLEW_HIDDEN_CALL,   /* the N-th function that it calls */
};

#define CLEW_HIDDEN_STEPS 4

/* A function without a name, by the way to it from one that has a name, or from a table. */
struct clew_runtime_hidden {
	const char *name, *object;
	const char *symbol; /* or the text in the table */
	bool table;
	bool thunk; /* `symbol` is a register: the function does nothing but jump to what that has
		     */
	uint8_t words; /* from the text's address in the table to that of the function */
	struct {
		uint8_t kind; /* enum clew_hidden_kind */
		uint8_t number;
	} steps[CLEW_HIDDEN_STEPS];
	uint8_t step_count;
};

/* A number that depends on the file: of a version that fits a glob, or by debugging information. */
struct clew_runtime_offset {
	const char *name, *object;
	const char *version; /* glob; NULL: TYPE.MEMBER of `type` has it */
	const char *type, *member;
	uint64_t value;
};

struct clew_runtime_object {
	const char *alias;
	const char **globs;
	size_t glob_count;
	const char *section; /* that the file has to have, NULL: any may be it */
};

struct clew_runtime {
	const char *name, *title;
	struct clew_runtime_object *objects;
	struct clew_runtime_hidden *hidden;
	struct clew_runtime_offset *offsets;
	struct clew_runtime_span *spans;
	struct clew_runtime_event *events;
	struct clew_runtime_point *points;
	size_t object_count, hidden_count, offset_count, span_count, event_count, point_count;
};

struct clew_layers;
struct clew_moment;

/*
 * A value of a moment, by its slot: a number, or *ret_text is not NULL. False: it is not known. The
 * moment has a NUL behind its values.
 */
bool clew_moment_value(const struct clew_moment *moment, const struct clew_runtime_point *point,
		       unsigned slot, uint64_t *ret_number, const char **ret_text);
/* The point of that number among all runtimes, and its runtime; NULL: there is none. */
const struct clew_runtime_point *clew_runtime_point(const struct clew_layers *layers, size_t number,
						    const struct clew_runtime **ret_runtime);
/* True if a place is known from other records: nothing is probed. */
static inline bool clew_place_is_record(unsigned kind)
{
	return kind >= CLEW_PLACE_FORK;
}

/* "read", ..: an operation of io_uring; NULL: it is not known. */
const char *clew_ring_operation(uint64_t operation);
/* "submit", ..: the verb's word. */
const char *clew_event_verb_word(unsigned verb);
/* The value of that name that an event gives; NULL: none. */
const struct clew_runtime_value *clew_event_value(const struct clew_runtime_event *event,
						  const char *name);

#endif
