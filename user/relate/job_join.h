/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joining the moments of runtimes to spans: what the files job_*.c share.
 *
 * While it goes, `live` has the span of each key that is not over, `known` the last one of each
 * key, and `top` the span that runs on each thread: those that it interrupts are below it.
 */
#ifndef CLEW_RELATE_JOB_JOIN_H
#define CLEW_RELATE_JOB_JOIN_H

#include "base/map.h"
#include "relate/job.h"

/* An entry of a function whose values its exit, or an event within it, asks for. */
struct entry {
	const struct clew_moment *moment;
	uint32_t below; /* the one around it, CLEW_NO_NUMBER none */
};

/* Something that happened: a moment, or the begin or end of a thread. */
struct happened {
	const struct clew_moment *moment; /* NULL: neither entry nor exit */
	uint64_t time;
	uint32_t task;
	uint32_t child; /* that began, CLEW_NO_TASK none */
	uint8_t kind;	/* CLEW_PLACE_FORK, CLEW_PLACE_EXIT, or any other */
};

struct join {
	struct clew_jobs *jobs;
	struct map live;     /* key -> span + 1 */
	struct map known;    /* key -> span + 1 */
	struct map top;	     /* task -> span + 1 */
	struct map entries;  /* task, point -> entry + 1 */
	struct map waiting;  /* key of an object -> wait + 1, the last */
	struct map threads;  /* a thread, as its runtime knows it -> task + 1, the last */
	struct map first;    /* likewise, the first */
	struct map groups;   /* key of a group -> struct job_group, as a number */
	struct vector stack; /* struct entry */
	const struct clew_gap *gap;
	size_t gaps;
};

/* An event that is being taken. */
struct taking {
	const struct clew_runtime *runtime;
	const struct clew_runtime_event *event;
	const struct happened *happened;
	const struct clew_moment *outer; /* NULL: not known */
};

/* job_value.c: a value of the event's place. False: it is not known. A text: *ret_text is set. */
bool job_value(const struct taking *taking, const struct clew_runtime_value *value,
	       uint64_t *ret_number, const char **ret_text);
/* A value of the event by its name. False: it has none, or it is not known. */
bool job_named_value(const struct taking *taking, const char *name, uint64_t *ret_number,
		     const char **ret_text);
/* The process of a thread. */
uint32_t job_process(const struct join *join, uint32_t serial);
/* The key of an object of a kind, a number of the event's runtime, in the event's process. */
uint64_t job_object_key(const struct join *join, const struct taking *taking, uint16_t kind,
			uint64_t object);
/* The event's key, as numbers and mixed with its kind. False: a part of it is not known. */
bool job_key(const struct join *join, const struct taking *taking, uint64_t *ret_numbers,
	     uint64_t *ret_key);

/* A map's value less one; CLEW_NO_NUMBER: it has none. */
static inline uint32_t job_look_up(const struct map *map, uint64_t key, uint32_t part)
{
	const uint64_t *found = map_get(map, key, part);

	return found && *found ? (uint32_t)(*found - 1) : CLEW_NO_NUMBER;
}

/* job_piece.c: spans and their pieces. */
struct clew_job_piece *job_last_piece(const struct join *join, const struct clew_job *span);
/* True if a span's last piece is of that kind and goes on. */
bool job_is_in(const struct join *join, uint32_t number, enum clew_job_piece_kind kind);
/* Ends the last piece of a span and begins another. 0 or -ENOMEM, as all below. */
int job_begin_piece(struct join *join, uint32_t number, enum clew_job_piece_kind kind, uint64_t at,
		    uint32_t task);
int job_close(struct join *join, uint32_t number, uint64_t at, enum clew_job_closed closed);
/* A span that nothing is known of but its key. -EFBIG: there are too many. */
int job_new(struct join *join, const struct taking *taking, uint64_t key, const uint64_t *numbers,
	    uint32_t *ret_number);
/* Takes what the event says of a span besides its state. */
int job_describe(struct join *join, const struct taking *taking, uint32_t number);

/* job_verb.c: what the verbs do. `number` CLEW_NO_NUMBER: no span of that key is under way. */
int job_submit(struct join *join, const struct taking *taking, uint64_t key,
	       const uint64_t *numbers, uint32_t number);
/* An event of a span that is known, or of what runs on the thread. */
int job_take(struct join *join, const struct taking *taking, unsigned verb, uint64_t key,
	     uint32_t number);
/* The state that a number stands for; CLEW_VERBS: none. */
unsigned job_state(const struct taking *taking);
/* The span of the event's kind that runs on the thread, with its key. */
uint32_t job_running(const struct join *join, const struct taking *taking, uint64_t *ret_key);
/* The thread waits for an object, and goes on; all that wait for an object are woken. */
int job_wait(struct join *join, const struct taking *taking, uint64_t key, uint64_t object);
int job_waited(struct join *join, const struct taking *taking, uint64_t key);
int job_wake(struct join *join, const struct taking *taking, uint64_t key);

/* The span of a kind that runs on a thread; CLEW_NO_NUMBER: none does. */
uint32_t job_running_of(const struct join *join, uint32_t task,
			const struct clew_runtime_span *kind);

/* False: the event names the span that it is a part of, and that is not under way. */
bool job_has_whole(const struct join *join, const struct taking *taking);

/* job_lock.c: an event of a lock. `object`: the first number of its key. */
int job_take_lock(struct join *join, const struct taking *taking, uint64_t key, uint64_t object);
/* Completes the waits and holders when all events are taken. */
void job_lock_finish(struct join *join);
/* job_group.c: spans that are over, and waits. The submit puts a span into a group. */
int job_enter_group(struct join *join, const struct taking *taking, uint32_t number);
/* The span has ended: its key may be used anew. */
int job_finish(struct join *join, uint64_t key, uint32_t number, uint64_t at,
	       enum clew_job_closed closed);
/* True if an object is a group of which no span is under way: nobody has to wait for it. */
bool job_group_is_over(const struct join *join, const struct taking *taking, uint64_t key);
/* All that wait for an object are woken by a thread, and the span that ran there. */
void job_wake_all(struct join *join, const struct clew_runtime_span *kind, uint64_t key,
		  const struct clew_job_wait *by);

/* job_entry.c: entries of functions, by thread and point. */
int job_push_entry(struct join *join, const struct clew_moment *moment);
int job_pop_entry(struct join *join, uint32_t task, uint16_t number);
/* Forgets calls that did not return: the stack is above them. */
int job_unwind(struct join *join, uint32_t task, uint16_t number, uint64_t stack);
/* Finds the call that an event is within, or whose exit it is. False: there is none. */
bool job_find_outer(struct join *join, struct taking *taking);

#endif
