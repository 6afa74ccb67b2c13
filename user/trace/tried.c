/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sleeps between attempts in vain. A sleep belongs to an attempt if the thread slept at once after
 * it failed: no other sleep lies between them. The sleeps of a series are in one call, and each
 * follows an attempt of the same thing; other waits may lie between them, as what is tried may take
 * time. Stacks are no help: an interpreter's differ from one time to the next.
 *
 * A sleep between attempts to lock a file is a wait for that file, and has the holder of the lock;
 * one between attempts to connect is a wait at the socket of the last attempt.
 */
#include "trace/tried.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "trace/internal.h"

#define LEAST_SLEEPS 2

struct search {
	struct clew_trace *trace;
	const struct trace_task *task;
	const struct clew_failed *failed; /* the task's */
	size_t failed_count;
	size_t seen;	      /* of these */
	struct vector sleeps; /* struct slice, of the series so far */
};

struct slice {
	uint32_t sleep;
	uint32_t attempt; /* its place in the trace */
};

static const struct slice *slice_at(const struct search *search, size_t i)
{
	return (const struct slice *)search->sleeps.data + i;
}

static const struct clew_failed *attempt_at(const struct clew_trace *trace, uint64_t place)
{
	return (const struct clew_failed *)trace->failed.data + (uint32_t)place;
}

/* ---- what is tried ---- */

static bool same_peer(const struct clew_trace *trace, uint64_t a, uint64_t b)
{
	const struct clew_socket_record *x = clew_trace_socket(trace, a),
					*y = clew_trace_socket(trace, b);

	if (!x || !y || x->family != y->family)
		return false;
	if (x->family == AF_UNIX)
		return x->peer_path[0] &&
		       !strncmp(x->peer_path, y->peer_path, sizeof(x->peer_path));
	return x->peer_port && x->peer_port == y->peer_port &&
	       !memcmp(x->remote, y->remote, sizeof(x->remote));
}

static bool same_thing(const struct clew_trace *trace, const struct clew_failed *a,
		       const struct clew_failed *b)
{
	if (a->header.flags != b->header.flags)
		return false;
	if (a->header.flags == CLEW_FAILED_LOCK)
		return a->object == b->object && a->device == b->device && a->call == b->call;
	/* Each attempt to connect has a socket of its own. */
	return a->object == b->object || same_peer(trace, a->object, b->object);
}

/* The last attempt between two moments that failed at once; NULL: none. Moments only go on. */
static const struct clew_failed *attempt_between(struct search *search, uint64_t from, uint64_t to)
{
	const struct clew_failed *found = NULL, *failed;

	for (; search->seen < search->failed_count; search->seen++) {
		failed = &search->failed[search->seen];
		if (failed->header.time >= to)
			break;
		if (failed->header.time >= from && (failed->header.flags == CLEW_FAILED_LOCK ||
						    failed->header.flags == CLEW_FAILED_CONNECT))
			found = failed;
	}
	return found;
}

/* ---- series ---- */

/* The holder of the lock at more than half of the attempts, if there is one. */
static uint32_t usual_holder(const struct search *search)
{
	uint32_t best = CLEW_NO_TASK;
	size_t lead = 0;

	for (size_t i = 0; i < search->sleeps.count; i++) {
		uint32_t holder = attempt_at(search->trace, slice_at(search, i)->attempt)->holder;

		if (!lead)
			best = holder;
		lead = holder == best ? lead + 1 : lead - 1;
	}
	return best == search->task->task.serial ? CLEW_NO_TASK : best;
}

/* The one who had the lock at an attempt, with what is known of how long. */
static uint32_t holder_at(const struct clew_trace *trace, const struct clew_failed *attempt,
			  uint8_t *ret_evidence)
{
	const struct clew_failed *next = attempt + 1;
	bool again = next < attempt_at(trace, trace->failed.count) && next->task == attempt->task &&
		     same_thing(trace, attempt, next) && next->holder == attempt->holder;

	*ret_evidence = again ? CLEW_EVIDENCE_OBSERVED : CLEW_EVIDENCE_CANDIDATE;
	return attempt->holder == attempt->task ? CLEW_NO_TASK : attempt->holder;
}

/* Makes a sleep between attempts a wait for what is tried. 0 or -ENOMEM. */
static int make_wait(struct clew_trace *trace, const struct slice *slice)
{
	const struct clew_failed *attempt = attempt_at(trace, slice->attempt);
	struct clew_sleep *sleep = (struct clew_sleep *)trace->sleeps.data + slice->sleep;
	struct clew_holder holder = {.from = sleep->start, .to = sleep->end};

	bool lock = attempt->header.flags == CLEW_FAILED_LOCK;

	sleep->object = (struct clew_object){.kind = lock ? CLEW_OBJECT_FILE : CLEW_OBJECT_SOCKET,
					     .number = attempt->object,
					     .device = attempt->device,
					     .descriptor = -1};
	holder.task = lock ? holder_at(trace, attempt, &holder.evidence) : CLEW_NO_TASK;
	if (holder.task == CLEW_NO_TASK)
		return 0;
	sleep->holders = arena_copy(&trace->arena, &holder, sizeof(holder));
	sleep->holder_count = sleep->holders ? 1 : 0;
	return sleep->holders ? 0 : -ENOMEM;
}

/* Counts the attempts of the same thing that failed in the series. */
static uint32_t count_attempts(const struct search *search, const struct clew_tried *tried)
{
	const struct clew_failed *end = search->failed + search->failed_count;
	uint32_t times = 0;

	for (const struct clew_failed *at = tried->one; at < end && at->header.time < tried->to;
	     at++)
		times += same_thing(search->trace, tried->one, at);
	return times;
}

/* Keeps the series that was gathered, if it is long enough, and begins the next one. */
static int keep(struct search *search)
{
	struct clew_trace *trace = search->trace;
	struct clew_tried tried = {.task = search->task->task.serial};
	size_t count = search->sleeps.count;
	int r = 0;

	if (count >= LEAST_SLEEPS) {
		tried.one = attempt_at(trace, slice_at(search, 0)->attempt);
		tried.what = tried.one->header.flags == CLEW_FAILED_LOCK ? CLEW_TRIED_LOCK
									 : CLEW_TRIED_CONNECT;
		tried.from = tried.one->header.time;
		tried.to = trace_sleep_at(trace, slice_at(search, count - 1)->sleep)->end;
		tried.times = count_attempts(search, &tried);
		tried.sleeps = (uint32_t)count;
		if (tried.what == CLEW_TRIED_LOCK)
			tried.other = usual_holder(search);
		r = vector_reserve(&trace->tried, trace->tried.count + 1);
	}
	for (size_t i = 0; count >= LEAST_SLEEPS && i < count && r == 0; i++) {
		r = map_set(&trace->tried_of, slice_at(search, i)->sleep, 0,
			    (uint64_t)(trace->tried.count + 1) << 32 |
				    slice_at(search, i)->attempt);
		if (r == 0)
			r = make_wait(trace, slice_at(search, i));
	}
	if (count >= LEAST_SLEEPS && r == 0)
		((struct clew_tried *)trace->tried.data)[trace->tried.count++] = tried;
	search->sleeps.count = 0;
	return r;
}

/* Takes a sleep by choice. `from`: the end of the task's sleep before. */
static int take(struct search *search, uint32_t index, uint64_t from)
{
	const struct clew_sleep *sleep = trace_sleep_at(search->trace, index), *before;
	const struct clew_failed *attempt = attempt_between(search, from, sleep->start);
	size_t count = search->sleeps.count;
	int r = 0;

	if (count) {
		before = trace_sleep_at(search->trace, slice_at(search, count - 1)->sleep);
		if (!attempt || before->call != sleep->call ||
		    !same_thing(search->trace,
				attempt_at(search->trace, slice_at(search, count - 1)->attempt),
				attempt))
			r = keep(search);
	}
	if (!attempt || r < 0)
		return r;
	if (vector_reserve(&search->sleeps, search->sleeps.count + 1) < 0)
		return -ENOMEM;
	((struct slice *)search->sleeps.data)[search->sleeps.count++] = (struct slice){
		.sleep = index, .attempt = (uint32_t)(attempt - attempt_at(search->trace, 0))};
	return 0;
}

static int find_of_task(struct search *search)
{
	const struct trace_task *task = search->task;
	uint64_t from = 0;
	int r = 0;

	for (uint32_t i = 0; i < task->pieces.count && r == 0; i++) {
		uint32_t piece = task->pieces.data[i], index = piece & PIECE_INDEX;
		const struct clew_sleep *sleep;

		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		sleep = trace_sleep_at(search->trace, index);
		if (sleep->kind == CLEW_WAIT_SLEEP && sleep->end != CLEW_TIME_OPEN)
			r = take(search, index, from);
		from = sleep->end;
	}
	return r < 0 ? r : keep(search);
}

/* ---- who listens ---- */

/* The last component of a Unix socket's path: a program may name it from its own directory. */
static size_t last_component(const char *path, const char **ret_name)
{
	size_t size = strnlen(path, CLEW_UNIX_PATH_SIZE);
	const char *slash = memrchr(path, '/', size);

	*ret_name = slash ? slash + 1 : path;
	return size - (size_t)(*ret_name - path);
}

/* A number that sockets share of which one listens where the other one connects. */
static uint64_t place_key(const struct clew_socket_record *socket, bool connects)
{
	uint64_t key = socket->family;
	const char *name;
	size_t size;

	if (socket->family != AF_UNIX)
		return key << 16 | (connects ? socket->peer_port : socket->local_port);
	size = last_component(connects ? socket->peer_path : socket->local_path, &name);
	for (size_t i = 0; i < size; i++)
		key = key * 31 + (uint8_t)name[i];
	return key;
}

static bool listens_for(const struct clew_socket_record *at, const struct clew_socket_record *own)
{
	const char *there = at->local_path, *wanted = own->peer_path, *name, *other;
	size_t size;

	if (at->family != own->family)
		return false;
	if (at->family != AF_UNIX)
		return at->local_port == own->peer_port;
	if (there[0] == wanted[0] && (there[0] == '/' || there[0] == '@'))
		return !strncmp(there, wanted, CLEW_UNIX_PATH_SIZE);
	size = last_component(there, &name);
	return size && size == last_component(wanted, &other) && !memcmp(name, other, size);
}

/* The own socket of a series of attempts to connect; NULL: it is another series, or unknown. */
static const struct clew_socket_record *own_socket(const struct clew_trace *trace,
						   const struct clew_tried *tried)
{
	return tried->what == CLEW_TRIED_CONNECT ? clew_trace_socket(trace, tried->one->object)
						 : NULL;
}

/* Notes a task that waits at a socket for all who connected to its place in vain. */
static void take_listener(struct clew_trace *trace, const struct map *places,
			  const struct clew_sleep *sleep)
{
	const struct clew_socket_record *at = clew_trace_socket(trace, sleep->object.number), *own;
	struct clew_tried *all = trace->tried.data;

	if (!at || (!at->local_port && !at->local_path[0]) ||
	    !map_get(places, place_key(at, false), 0))
		return;
	for (size_t i = 0; i < trace->tried.count; i++) {
		struct clew_tried *tried = &all[i];

		own = own_socket(trace, tried);
		if (own && tried->other == CLEW_NO_TASK && sleep->start >= tried->from &&
		    sleep->task != tried->task && listens_for(at, own))
			tried->other = sleep->task;
	}
}

/* The first task that waits at a socket of the place that another one connected to in vain. */
static int find_listeners(struct clew_trace *trace)
{
	const struct clew_tried *all = trace->tried.data;
	struct map places = {};
	int r = 0;

	for (size_t i = 0; i < trace->tried.count && r == 0; i++) {
		const struct clew_socket_record *own = own_socket(trace, &all[i]);

		if (own)
			r = map_set(&places, place_key(own, true), 0, 1);
	}
	for (size_t i = trace->first_sleep; places.count && i < trace->sleeps.count; i++) {
		const struct clew_sleep *sleep = trace_sleep_at(trace, (uint32_t)i);

		if (sleep->object.kind == CLEW_OBJECT_SOCKET)
			take_listener(trace, &places, sleep);
	}
	map_done(&places);
	return r;
}

int trace_find_tried(struct clew_trace *trace)
{
	const struct clew_failed *all = trace->failed.data;
	struct search search = {.trace = trace, .sleeps = {.item = sizeof(struct slice)}};
	int r = 0;

	for (size_t i = 0, n; i < trace->failed.count && r == 0; i += n) {
		for (n = 1; i + n < trace->failed.count && all[i + n].task == all[i].task; n++)
			;
		search.task = trace_task_find(trace, all[i].task);
		search.failed = all + i;
		search.failed_count = n;
		search.seen = 0;
		if (search.task)
			r = find_of_task(&search);
	}
	vector_done(&search.sleeps);
	return r < 0 ? r : find_listeners(trace);
}

/* ---- for readers ---- */

static uint64_t known_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const uint64_t *known =
		trace->tried_of.count
			? map_get(&trace->tried_of, (uint64_t)(sleep - trace_sleep_at(trace, 0)), 0)
			: NULL;

	return known ? *known : 0;
}

const struct clew_tried *clew_trace_tried(const struct clew_trace *trace,
					  const struct clew_sleep *sleep)
{
	uint64_t known = known_of(trace, sleep);

	return known ? (const struct clew_tried *)trace->tried.data + (known >> 32) - 1 : NULL;
}

uint32_t clew_trace_tried_other(const struct clew_trace *trace, const struct clew_sleep *sleep,
				uint8_t *ret_evidence)
{
	const struct clew_tried *tried = clew_trace_tried(trace, sleep);

	*ret_evidence = tried && tried->what == CLEW_TRIED_SAFEPOINT ? CLEW_EVIDENCE_CANDIDATE
								     : CLEW_EVIDENCE_OBSERVED;
	if (!tried || tried->what != CLEW_TRIED_LOCK)
		return tried ? tried->other : CLEW_NO_TASK;
	return holder_at(trace, attempt_at(trace, known_of(trace, sleep)), ret_evidence);
}
