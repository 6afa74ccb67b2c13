/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names the causes of a thread's time.
 *
 * A wait's cause is what it was for and who had or ended that. Time without a CPU is divided among
 * those who ran there meanwhile. The names of waits are kept by a key of all that they are made of,
 * as making one takes longer than all else.
 */
#include "compare/cause.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/interval.h"
#include "compare/normal.h"
#include "explain/summary.h"
#include "explain/wait_groups.h"
#include "explain/went.h"
#include "trace/frames.h"
#include "trace/internal.h"
#include "trace/name.h"
#include "words/functions.h"
#include "words/hops.h"
#include "words/stack.h"

#define DEEPEST_PATH 6 /* functions */

/* A wait, and all that its name is made of. */
struct wait {
	const struct clew_sleep *sleep;
	enum clew_spent spent;
	uint32_t party;	   /* the task that had or ended what was waited for; CLEW_NO_TASK: none */
	uint32_t disk;	   /* that a request went to; 0: it was for none */
	uint32_t function; /* a recorded one; CLEW_NO_NUMBER: none */
	bool held;	   /* the party had it; else it ended the wait */
};

static void find_party(const struct cause_finder *finder, struct wait *wait)
{
	const struct clew_sleep *sleep = wait->sleep;
	const struct clew_holder *holder = clew_wait_main_holder(sleep);
	uint8_t link = sleep->link_count ? sleep->links[0].kind : CLEW_LINK_NONE;

	wait->function = clew_function_at(finder->trace, sleep->task, sleep->start);
	if (link == CLEW_LINK_REQUEST)
		wait->disk = sleep->links[0].device;
	if (holder) {
		wait->party = holder->task;
		wait->held = true;
	} else if (link != CLEW_LINK_REQUEST && link != CLEW_LINK_TIMER &&
		   sleep->edge_type != CLEW_EDGE_TIMER && sleep->from != sleep->task) {
		wait->party = sleep->from;
	}
}

static uint64_t key_of(const struct cause_finder *finder, const struct wait *wait)
{
	const struct clew_sleep *sleep = wait->sleep;
	const struct clew_trace *trace = finder->trace;
	uint64_t key = hash_mix(wait->spent, sleep->kind);

	key = hash_mix(key, (uint64_t)sleep->object.kind << 32 | sleep->object.device);
	key = hash_mix(key, sleep->object.number);
	key = hash_mix(key, sleep->call);
	key = hash_mix(key, wait->party ? clew_trace_process(trace, wait->party) : 0);
	key = hash_mix(key, (uint64_t)wait->disk << 1 | wait->held);
	key = hash_mix(key, wait->function);
	return hash_mix(key, clew_stack_key(trace, sleep));
}

/* Finishes a name that was written to a stream, and adds it. */
static uint32_t add_name(struct cause_finder *finder, struct compare_name *name, FILE *out,
			 char **text, bool numbered)
{
	uint32_t number = UINT32_MAX;

	if (fclose(out) == 0) {
		normal_text(*text, numbered);
		name->text = *text;
		number = compare_name_add(finder->compare, &finder->compare->causes, finder->side,
					  name);
	}
	free(*text);
	return number;
}

/* The name of a program, or of its control group where causes are by these. */
static void name_party(const struct cause_finder *finder, uint32_t task, char *name, size_t size)
{
	const struct clew_trace_task *known = clew_trace_task(finder->trace, task);
	char program[CLEW_COMM_SIZE + 1];
	const char *group;

	name[0] = '\0';
	if (!known || task == CLEW_NO_TASK)
		return;
	group = finder->compare->options->by == COMPARE_BY_CGROUP && known->cgroup
			? clew_trace_cgroup(finder->trace, known->cgroup)
			: NULL;
	clew_program_name(finder->trace, known, program);
	snprintf(name, size, "%s", group ?: program);
	normal_text(name, false);
}

static void print_function(FILE *out, const struct cause_finder *finder, const struct wait *wait)
{
	enum compare_by by = finder->compare->options->by;

	if (by == COMPARE_BY_PATH) {
		fputs(" in ", out);
		if (!clew_print_stack(out, finder->trace, wait->sleep, DEEPEST_PATH))
			fputs(wait->function == CLEW_NO_NUMBER
				      ? "code that is not known"
				      : clew_function_name(finder->trace, wait->function),
			      out);
	} else if (wait->function != CLEW_NO_NUMBER) {
		fprintf(out, " in %s", clew_function_name(finder->trace, wait->function));
	} else if (clew_has_stack(finder->trace, wait->sleep)) {
		fputs(" in ", out);
		clew_print_stack(out, finder->trace, wait->sleep, 1);
	}
}

/* True if a futex is known by more than an address, so that it has that name in each run. */
static bool has_name(const struct cause_finder *finder, const struct clew_object *futex)
{
	char buffer[CLEW_PATH_SIZE + 64];
	const char *name = clew_address_name(finder->trace, futex, buffer, sizeof(buffer));

	return name && !strstr(name, "+0x");
}

/* Writes what a wait was for. `named` false: a futex without its name. */
static void print_wait(FILE *out, const struct cause_finder *finder, const struct wait *wait,
		       const char *party, bool named)
{
	enum compare_by by = finder->compare->options->by;

	if (by == COMPARE_BY_FUNCTION) {
		fputs("waited", out);
		print_function(out, finder, wait);
		return;
	}
	fputs("waited for ", out);
	if (named)
		clew_print_hop_wait(out, finder->trace, wait->sleep);
	else
		fputs("futex *", out);
	if (by == COMPARE_BY_PATH ||
	    (by == COMPARE_BY_CAUSE && (!named || wait->sleep->object.kind == CLEW_OBJECT_LOCK)))
		print_function(out, finder, wait);
	if (by != COMPARE_BY_OBJECT && wait->disk)
		fprintf(out, ", on %s", CLEW_DISK(finder->trace, wait->disk));
	if (party[0])
		fprintf(out, ", %s by %s", wait->held ? "held" : "ended", party);
}

static uint32_t add_wait(struct cause_finder *finder, const struct wait *wait, const char *party,
			 bool named, uint32_t unnamed)
{
	uint8_t kind = wait->sleep->object.kind;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return UINT32_MAX;
	print_wait(out, finder, wait, party, named);
	return add_name(finder,
			&(struct compare_name){.party = party,
					       .spent = (uint8_t)wait->spent,
					       .wait_kind = wait->sleep->kind,
					       .edge_type = wait->sleep->edge_type,
					       .unnamed = unnamed},
			out, &text, kind == CLEW_OBJECT_LOCK || kind == CLEW_OBJECT_CHILD);
}

static uint32_t name_wait(struct cause_finder *finder, const struct wait *wait)
{
	enum compare_by by = finder->compare->options->by;
	bool futex = wait->sleep->object.kind == CLEW_OBJECT_FUTEX && by == COMPARE_BY_CAUSE,
	     named = !futex || has_name(finder, &wait->sleep->object);
	char party[CLEW_TEXT_SIZE] = "";
	uint32_t unnamed = UINT32_MAX;

	if (by != COMPARE_BY_FUNCTION && by != COMPARE_BY_OBJECT)
		name_party(finder, wait->party, party, sizeof(party));
	if (futex && named) {
		unnamed = add_wait(finder, wait, party, false, UINT32_MAX);
		if (unnamed == UINT32_MAX)
			return UINT32_MAX;
	}
	return add_wait(finder, wait, party, named, unnamed);
}

/* The number of the cause `key`, which `make` names if it is not known yet. */
static int
known_cause(struct cause_finder *finder, uint64_t key, uint32_t part, const struct wait *wait,
	    uint32_t (*make)(struct cause_finder *finder, uint32_t part, const struct wait *wait),
	    uint32_t *ret_cause)
{
	const uint64_t *known = map_get(&finder->known, key, part);

	*ret_cause = known ? (uint32_t)*known : make(finder, part, wait);
	if (*ret_cause == UINT32_MAX)
		return -ENOMEM;
	return known ? 0 : map_set(&finder->known, key, part, *ret_cause);
}

enum { PART_WAIT, PART_RUNNING, PART_UNKNOWN, PART_FUNCTION, PART_READY };

static uint32_t make_wait(struct cause_finder *finder, uint32_t part, const struct wait *wait)
{
	(void)part;
	return name_wait(finder, wait);
}

static uint32_t make_plain(struct cause_finder *finder, uint32_t part, const struct wait *wait)
{
	bool ran = part == PART_RUNNING;
	const struct compare_name name = {
		.text = ran ? "ran" : "did what is not known",
		.party = "",
		.spent = ran ? CLEW_SPENT_RUNNING : CLEW_SPENT_OTHER,
		.wait_kind = ran ? CLEW_SEGMENT_RUNNING : CLEW_WAIT_UNKNOWN,
		.edge_type = -1,
		.unnamed = UINT32_MAX,
	};

	(void)wait;
	return compare_name_add(finder->compare, &finder->compare->causes, finder->side, &name);
}

static uint32_t make_function(struct cause_finder *finder, uint32_t part, const struct wait *wait)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)part;
	if (!out)
		return UINT32_MAX;
	fprintf(out, "ran in %s", clew_function_name(finder->trace, wait->function));
	return add_name(finder,
			&(struct compare_name){.party = "",
					       .spent = CLEW_SPENT_RUNNING,
					       .wait_kind = CLEW_SEGMENT_RUNNING,
					       .edge_type = -1,
					       .unnamed = UINT32_MAX},
			out, &text, false);
}

static uint32_t make_ready(struct cause_finder *finder, uint32_t part, const struct wait *wait)
{
	char party[CLEW_TEXT_SIZE], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)part;
	if (!out)
		return UINT32_MAX;
	name_party(finder, wait->party, party, sizeof(party));
	fputs("was ready for a CPU", out);
	if (party[0])
		fprintf(out, " that %s had", party);
	else if (wait->held)
		fputs(" that was idle", out);
	return add_name(finder,
			&(struct compare_name){.party = party,
					       .spent = CLEW_SPENT_READY,
					       .wait_kind = CLEW_SEGMENT_RUNQUEUE,
					       .edge_type = -1,
					       .unnamed = UINT32_MAX},
			out, &text, false);
}

/* Time without a CPU, by who had it. */
static int each_ready(struct cause_finder *finder, const struct clew_piece *piece, uint64_t from,
		      uint64_t to, int (*take)(void *context, uint32_t cause, uint64_t ns),
		      void *context)
{
	int r = 0;

	for (uint64_t at = from, until; at < to && r == 0; at = until) {
		struct wait wait = {};
		uint32_t task, cause;

		wait.held = trace_ran_at(finder->trace, piece->cpu, at, to, &task, &until);
		if (wait.held)
			wait.party = task;
		r = known_cause(finder,
				wait.held ? clew_trace_process(finder->trace, wait.party)
					  : UINT64_MAX,
				PART_READY, &wait, make_ready, &cause);
		if (r == 0)
			r = take(context, cause, until - at);
	}
	return r;
}

/* Running time, by the recorded function that it was in. */
static int each_function(struct cause_finder *finder, uint32_t task, uint64_t from, uint64_t to,
			 int (*take)(void *context, uint32_t cause, uint64_t ns), void *context)
{
	struct clew_function_sums sums;
	int r = clew_function_sums_begin(finder->trace, &sums);

	if (r == 0)
		r = clew_function_sums_add(&sums, finder->trace, task, from, to);
	for (uint32_t i = 0; i < sums.count && r == 0; i++) {
		const struct wait wait = {.function = sums.times[i].function};
		bool none = wait.function == CLEW_NO_NUMBER;
		uint32_t cause;

		if (!sums.times[i].ns)
			continue;
		r = known_cause(finder, wait.function, none ? PART_RUNNING : PART_FUNCTION, &wait,
				none ? make_plain : make_function, &cause);
		if (r == 0)
			r = take(context, cause, sums.times[i].ns);
	}
	clew_function_sums_done(&sums);
	return r;
}

static bool divides_running(const struct cause_finder *finder)
{
	enum compare_by by = finder->compare->options->by;

	return (by == COMPARE_BY_FUNCTION || by == COMPARE_BY_PATH) &&
	       clew_trace_has_frames(finder->trace);
}

int cause_each(struct cause_finder *finder, const struct clew_kind_operation *operation,
	       const struct clew_piece *piece, uint64_t from, uint64_t to,
	       int (*take)(void *context, uint32_t cause, uint64_t ns), void *context)
{
	struct wait wait = {.sleep = piece->sleep};
	uint32_t cause;
	int r;

	if (piece->kind == CLEW_PIECE_RUNQUEUE)
		return each_ready(finder, piece, from, to, take, context);
	if (piece->kind == CLEW_PIECE_RUNNING && divides_running(finder))
		return each_function(finder, operation->operation.task, from, to, take, context);
	if (piece->kind == CLEW_PIECE_SLEEP) {
		wait.spent = clew_went_class(finder->trace, piece,
					     (enum clew_operation_kind)operation->kind);
		find_party(finder, &wait);
		r = known_cause(finder, key_of(finder, &wait), PART_WAIT, &wait, make_wait, &cause);
	} else {
		r = known_cause(finder, 0,
				piece->kind == CLEW_PIECE_RUNNING ? PART_RUNNING : PART_UNKNOWN,
				&wait, make_plain, &cause);
	}
	return r < 0 ? r : take(context, cause, to - from);
}

void cause_finder_done(struct cause_finder *finder)
{
	map_done(&finder->known);
}
