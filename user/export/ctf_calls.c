/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls for CTF. A capture has those that slept: a call is shown from the begin of its
 * first sleep until the thread runs again after its last one, so that it is never longer than it
 * was. Its results were not recorded, nor most of its arguments: they are -1, and the result is 0
 * where -1 would be an error.
 */
#include "export/ctf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vector.h"
#include "export/sched.h"

#define NOT_RECORDED (-1)

/* Readers take their result for a new descriptor. */
static const char *const opening[] = {"open", "openat", "socket", "dup",
				      "dup2", "dup3",	"fcntl",  NULL};

/* The sleep after which a task's run at a moment began, or NULL. */
static const struct clew_sleep *sleep_before(const struct ctf *it, uint32_t serial, uint64_t at)
{
	struct clew_piece piece;

	if (!clew_trace_piece(it->trace, serial, at, true, &piece))
		return NULL;
	if (piece.kind == CLEW_PIECE_RUNQUEUE &&
	    !clew_trace_piece(it->trace, serial, piece.start, true, &piece))
		return NULL;
	return piece.sleep && piece.sleep->switch_in == at ? piece.sleep : NULL;
}

/* True if the export has the run that a sleep ended. */
static bool has_entry(const struct ctf *it, const struct clew_sleep *sleep)
{
	struct clew_piece piece;

	return sleep->start >= it->export->from &&
	       sched_cpu_before(it->trace, sleep->task, sleep->start) != SCHED_NO_CPU &&
	       clew_trace_piece(it->trace, sleep->task, sleep->start, false, &piece) &&
	       piece.sleep == sleep;
}

/* True if it has the run that followed it. */
static bool has_exit(const struct ctf *it, const struct clew_sleep *sleep)
{
	struct clew_piece piece;

	return sleep->switch_in <= it->export->to &&
	       clew_trace_piece(it->trace, sleep->task, sleep->switch_in, false, &piece) &&
	       piece.kind == CLEW_PIECE_RUNNING && piece.start == sleep->switch_in &&
	       sleep_before(it, sleep->task, sleep->switch_in) == sleep;
}

/* The call that a task is in. Numbers are of sleeps, from 1 on; 0: none. */
struct current {
	size_t first; /* the call begins with it */
	size_t last;  /* it ends after it */
	uint32_t call_id;
	bool open; /* the call did not end */
};

/* A call that neither ends nor lasts until the end is not shown. */
static void end_call(struct ctf *it, const struct current *current)
{
	if (!current->first || (!current->last && !current->open))
		return;
	it->calls[current->first - 1] |= CTF_CALL_BEGINS;
	if (!current->open)
		it->calls[current->last - 1] |= CTF_CALL_ENDS;
}

/* A task goes to sleep: in the call that it is in, or in another. */
static void add_sleep(struct ctf *it, struct current *current, const struct clew_sleep *sleep,
		      size_t number)
{
	if (current->call_id != sleep->call_id) {
		current->open = false;
		end_call(it, current);
		*current = (struct current){.call_id = sleep->call_id};
	}
	if (!current->first && has_entry(it, sleep))
		current->first = number;
	if (current->first && has_exit(it, sleep))
		current->last = number;
	current->open = sleep->switch_in > it->export->to;
}

/* The call of a task, by its serial. NULL: no memory. */
static struct current *current_of(struct map *numbers, struct vector *all, uint32_t serial)
{
	const uint64_t *known = map_get(numbers, serial, 0);

	if (known)
		return (struct current *)all->data + *known;
	if (vector_reserve(all, all->count + 1) < 0 || map_set(numbers, serial, 0, all->count) < 0)
		return NULL;
	return (struct current *)all->data + all->count++;
}

int ctf_calls_find(struct ctf *it)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(it->trace, &count);
	struct vector all = {.item = sizeof(struct current)};
	struct map numbers = {};
	int r = 0;

	it->calls = calloc(count + 1, sizeof(*it->calls));
	if (!it->calls)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		struct current *current;

		if (sleeps[i].call >= CTF_CALLS || sleeps[i].start > it->export->to ||
		    !clew_export_wants(it->export, sleeps[i].task))
			continue;
		current = current_of(&numbers, &all, sleeps[i].task);
		if (current)
			add_sleep(it, current, &sleeps[i], i + 1);
		else
			r = -ENOMEM;
	}
	for (size_t i = 0; i < all.count; i++)
		end_call(it, (struct current *)all.data + i);
	map_done(&numbers);
	vector_done(&all);
	return r;
}

static uint8_t known_of(const struct ctf *it, const struct clew_sleep *sleep)
{
	size_t count;

	return it->calls[sleep - clew_trace_sleeps(it->trace, &count)];
}

void ctf_call_entry(struct ctf *it, const struct clew_run *run)
{
	const struct clew_sleep *sleep =
		run->ended == CLEW_RUN_SLEPT ? sched_sleep_behind(it->trace, run) : NULL;
	struct ctf_value values[CTF_FIELDS_MOST];
	const struct ctf_field *fields;

	if (!sleep || !(known_of(it, sleep) & CTF_CALL_BEGINS))
		return;
	fields = ctf_call_fields(sleep->call, false);
	for (unsigned i = 0; fields[i].type; i++) {
		bool known = !strcmp(fields[i].name, "fd") && sleep->object.descriptor >= 0;

		values[i] = (struct ctf_value){
			.number = known ? sleep->object.descriptor : NOT_RECORDED, .text = ""};
	}
	it->called[sleep->call] = true;
	ctf_put(it, CTF_FIRST_CALL + 2u * sleep->call, run->end, values);
}

void ctf_call_exit(struct ctf *it, const struct clew_run *run)
{
	const struct clew_sleep *sleep = sleep_before(it, run->task, run->start);
	int64_t result = 0;

	if (!sleep || !(known_of(it, sleep) & CTF_CALL_ENDS))
		return;
	for (unsigned i = 0; opening[i]; i++)
		if (!strcmp(opening[i], clew_call_name(sleep->call)))
			result = NOT_RECORDED;
	it->called[sleep->call] = true;
	CTF_PUT(it, CTF_FIRST_CALL + 2u * sleep->call + 1, run->start, CTF_NUMBER(result));
}
