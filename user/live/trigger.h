/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Triggers: rules that say what is too slow, and how often one may fire.
 *
 *	wait KIND > DURATION		a wait of that kind (docs/answers.md)
 *	lock wait > DURATION		of kind lock, or futex or file with a known holder
 *	call NAME > DURATION		a wait in that system call
 *	runqueue > DURATION		a task was ready to run and had no CPU
 *	operation > DURATION		a request, or work from a wait for work to the next one
 *	operation > N x p50		N times the median of its class in the last five minutes
 *	announced GLOB > DURATION	a call INTERFACE.OPERATION that a program announced
 *	request [OP] DEV > DURATION	a disk's request, from being queued to being completed
 *	pN(any of these) > DURATION	N of 100 are not longer than some length, which is too long
 *	sum(KIND) > N% of GLOB		all waits of a cgroup, or time without a CPU (runqueue)
 *
 * The last two look at the last 10 seconds, or those of `over DURATION`. Each may go on with `where
 * comm GLOB`, `where cgroup GLOB`, and `limit N`, times a day.
 *
 * Invariant: a trigger fires at most CLEW_TRIGGER_BURST times in CLEW_TRIGGER_SPAN, and as often as
 * its limit in 24 hours.
 */
#ifndef CLEW_LIVE_TRIGGER_H
#define CLEW_LIVE_TRIGGER_H

#include "base/message.h"
#include "builder/findings.h"

#define CLEW_TRIGGER_BURST     3
#define CLEW_TRIGGER_SPAN      180000000000ull /* ns */
#define CLEW_TRIGGER_DAY       24
#define CLEW_TRIGGER_DAY_MOST  240
#define CLEW_TRIGGER_OVER      10 /* s */
#define CLEW_TRIGGER_OVER_MOST 60

enum clew_trigger_what {
	CLEW_TRIGGER_WAIT,
	CLEW_TRIGGER_LOCK,
	CLEW_TRIGGER_CALL,
	CLEW_TRIGGER_RUNQUEUE,
	CLEW_TRIGGER_ANNOUNCED,
	CLEW_TRIGGER_OPERATION,
	CLEW_TRIGGER_REQUEST,
};

enum clew_trigger_how {
	CLEW_TRIGGER_EACH,
	CLEW_TRIGGER_PERCENTILE,
	CLEW_TRIGGER_SUM,
};

struct clew_trigger {
	enum clew_trigger_how how;
	enum clew_trigger_what what;
	uint64_t kinds;	     /* of WAIT and LOCK: a bit for each enum clew_wait_kind */
	unsigned call;	     /* of CALL */
	unsigned operations; /* of REQUEST: a bit for each enum clew_request_operation, 0 all */
	char name[96];	     /* a glob: of ANNOUNCED; of REQUEST, the disk's name or number */
	unsigned share;	     /* of PERCENTILE: of 100 */
	unsigned over;	     /* s, of PERCENTILE and SUM */
	uint64_t threshold;  /* ns, in all of `over` for a SUM */
	unsigned factor;     /* of OPERATION: times what is usual; 0: `threshold` counts */
	char comm[64];	     /* globs, "" all */
	char cgroup[128];
	unsigned limit;			       /* times a day */
	uint64_t fired[CLEW_TRIGGER_DAY_MOST]; /* the last times, ns; a ring, 0 none */
	unsigned next;
};

/* struct clew_slow, kind */
#define CLEW_SLOW_ANNOUNCED CLEW_SEGMENT_KIND_COUNT
#define CLEW_SLOW_OPERATION (CLEW_SEGMENT_KIND_COUNT + 1)
#define CLEW_SLOW_REQUEST   (CLEW_SEGMENT_KIND_COUNT + 2)

/* As in struct clew_block_request. */
struct clew_slow_request {
	uint64_t number, sector;
	uint32_t bytes, device, operation;
};

/* Time that a task lost, or that its request took. */
struct clew_slow {
	uint64_t start, end; /* ns; it ended, or was seen to go on, then */
	uint64_t at;	/* when a rule was met; before: when its length was known, 0 at `end` */
	uint64_t value; /* ns: what the rule compares; 0: the length. A rule with a factor: what is
			   usual */
	uint64_t usual; /* of an operation, ns; 0: nothing is */
	uint32_t task;
	uint8_t kind; /* enum clew_wait_kind, CLEW_SEGMENT_RUNQUEUE, or CLEW_SLOW_* */
	bool open;    /* it goes on */
	struct clew_slow_request request; /* of CLEW_SLOW_REQUEST */
};

/* The word for what kind of time was lost. */
const char *clew_slow_name(unsigned kind);

/* -EINVAL with a message, and *ret_at: the byte of the text that it is about. */
int clew_trigger_parse(const char *text, struct clew_trigger *ret_trigger, size_t *ret_at,
		       struct clew_message *message);

/* True if the rule is about such a wait, or what followed it. An `end` of CLEW_TIME_OPEN is one. */
bool clew_trigger_means(const struct clew_trigger *trigger, const struct clew_sleep *sleep,
			struct clew_slow *ret_slow);
/* The same for time off the CPU that no wait precedes. */
bool clew_trigger_means_ready(const struct clew_trigger *trigger, const struct clew_ready *ready,
			      struct clew_slow *ret_slow);
/* True if the rule is about calls of that name, as INTERFACE.OPERATION. */
bool clew_trigger_means_call(const struct clew_trigger *trigger, const char *name);
/* True if the rule is about such requests. `disk`: the name of their disk, NULL unknown: then its
 * number, as 254:0, may be meant. A name that a mapping was given is in brackets behind it. */
bool clew_trigger_means_request(const struct clew_trigger *trigger,
				const struct clew_block_request *request, const char *disk);

/* True if a task of that name in that cgroup is meant. NULL: unknown, which is no name. */
bool clew_trigger_wants(const struct clew_trigger *trigger, const char *comm, const char *cgroup);

/* A match at that time, which is not before the last one's: true if it fires, false if it is
 * suppressed because others fired before. */
bool clew_trigger_fire(struct clew_trigger *trigger, uint64_t time);

#endif
