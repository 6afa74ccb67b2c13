/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks and CPUs so far, while events are turned into records, and the records. A task
 * gets its serial when it is first met. A number that the kernel gives again after an exit is
 * another task.
 */
#ifndef CLEW_IMPORT_STATE_H
#define CLEW_IMPORT_STATE_H

#include "base/map.h"
#include "base/vector.h"
#include "import/event.h"
#include "import/import.h"
#include "store/capture.h"

struct import_task {
	uint32_t serial;
	uint32_t tid;
	uint16_t call; /* the system call that it is in, CLEW_NO_CALL none or unknown */
	bool calls;    /* it is a thread of user space: it made one */
	bool slept;    /* when it left its CPU last, or nothing is known of that */
	bool is_new;   /* it never ran */
	bool exiting;
	bool kernel;	   /* a thread of the kernel */
	bool same_call;	   /* it slept before in the call that it is in */
	uint64_t futex;	   /* the address that the call is about, 0 none */
	uint8_t operation; /* of futex(2) */
	uint64_t woken;	   /* 0: not since it left its CPU */
	uint32_t waker;	   /* serial */
	uint16_t waker_call;
	uint8_t context; /* enum clew_wake_context */
	uint8_t wake_flags;
	uint64_t request; /* that ended just before the wake, 0 none */
	char comm[CLEW_COMM_SIZE];
	struct vector slices; /* uint32_t: functions that stand for the open ones */
};

struct import_cpu {
	uint32_t tid; /* of the task that has it */
	bool known;
	uint64_t last; /* time of its last record */
	unsigned irqs, softirqs;
	uint64_t request; /* that ended in the interrupt that is running, 0 none */
};

/* A request on its way. */
struct import_request {
	uint64_t number; /* stands for its address */
	uint64_t sector;
	uint32_t device;
	uint32_t bytes;
	uint32_t operation;
	bool issued;
};

struct import {
	struct clew_writer *writer;
	struct clew_imported *sums;
	struct map tids;      /* tid -> index of `tasks` */
	struct map processes; /* tid -> pid, from the first pass */
	struct map functions; /* name of a slice -> number of the function that stands for it */
	struct map requests;  /* (sector, device) -> index of `requests` */
	struct vector tasks;  /* struct import_task, by serial - 1 */
	struct vector flying; /* struct import_request */
	struct import_cpu *cpus;
	uint64_t now;	  /* of the event */
	uint64_t user;	  /* time of the last record of user space */
	uint64_t request; /* the last number */
};

/* The task with a number, with a record of it if it is new; NULL: no memory, or writing failed. */
struct import_task *import_task(struct import *import, uint32_t tid, const char *comm,
				int *ret_error);
/* The same for one that begins: another one may have had its number. */
struct import_task *import_begin(struct import *import, uint32_t tid, const char *comm,
				 const struct import_task *parent, int *ret_error);
/* Its number may be another's from now on. */
void import_gone(struct import *import, const struct import_task *task);

/* Writes a record of a CPU, or of user space, whose times do not go back. */
int import_put(struct import *import, unsigned stream, struct clew_header *record, unsigned kind,
	       size_t size);

/* Takes one event of a line. 0 or -errno. */
int import_take(struct import *import, const struct line *line, const struct event *event);

/* ---- slice.c ---- */

int import_slice_begin(struct import *import, const struct line *line, const struct event *event);
int import_slice_end(struct import *import, const struct line *line);
/* Events were lost: which slices are open is not known any more. */
void import_slices_lost(struct import *import);
void import_slices_done(struct import *import);

/* ---- block.c ---- */

int import_queue(struct import *import, const struct line *line, const struct event *event);
int import_issue(struct import *import, const struct line *line, const struct event *event);
int import_complete(struct import *import, const struct line *line, const struct event *event);

#endif
