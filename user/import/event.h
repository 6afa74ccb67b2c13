/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An event of another tracer, read from its arguments in whichever form they are. */
#ifndef CLEW_IMPORT_EVENT_H
#define CLEW_IMPORT_EVENT_H

#include "import/line.h"

#define IMPORT_SLICE_NAME 1024 /* bytes; a longer one is cut */

enum event_kind {
	EVENT_OTHER,	/* none that is used */
	EVENT_BAD,	/* one of those below, whose arguments cannot be read */
	EVENT_SWITCH,	/* prev, next, state */
	EVENT_WAKING,	/* next */
	EVENT_WAKEUP,	/* next */
	EVENT_WAKE_NEW, /* next */
	EVENT_FORK,	/* prev: the parent; next: the child */
	EVENT_EXEC,	/* next */
	EVENT_EXIT,	/* next */
	EVENT_RENAME,	/* next: with its new name */
	EVENT_QUEUE,	/* of a request, as the three behind it */
	EVENT_ISSUE,
	EVENT_COMPLETE,
	EVENT_ENTER,	 /* a system call: call, arguments */
	EVENT_LEAVE,	 /* one: call */
	EVENT_IRQ_BEGIN, /* a hardware interrupt */
	EVENT_IRQ_END,
	EVENT_TIMER_BEGIN, /* the CPU's own timer, which no handler of an interrupt has */
	EVENT_TIMER_END,
	EVENT_SOFTIRQ_BEGIN,
	EVENT_SOFTIRQ_END,
	EVENT_SLICE_BEGIN, /* of what a program marks: pid, name */
	EVENT_SLICE_END,   /* pid */
};

struct event_task {
	uint32_t tid;
	char comm[CLEW_COMM_SIZE]; /* "" unknown */
};

struct event {
	enum event_kind kind;
	struct event_task prev;
	struct event_task next;
	char state; /* of prev: the kernel's letter, R if it goes on */
	bool preempted;
	uint16_t call; /* CLEW_NO_CALL: unknown */
	unsigned argument_count;
	uint64_t arguments[6];
	uint32_t device; /* as in the kernel */
	uint32_t operation;
	uint32_t bytes;
	uint64_t sector;
	uint32_t pid;	  /* of a slice, 0 unknown */
	const char *name; /* in the text, without a NUL */
	size_t name_length;
};

/* Reads the event of a line. */
void event_read(const struct line *line, struct event *ret_event);

/* The kernel's number for a task's state, by its letter; 0: it is runnable or gone. */
uint16_t event_state(char letter);

#endif
