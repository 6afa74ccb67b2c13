/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts operations into classes, and ranks these. */
#include "explain/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/interval.h"
#include "base/map.h"
#include "base/sort.h"
#include "explain/kinds.h"
#include "explain/span_kinds.h"

/* With so many, the median is what is usual; with fewer, the shortest one is. */
#define LEAST_COMPARED 5
/* The parts of a command that have classes of their own are what is asked about, unless they are
 * less than one part in so many of the time in which it did not wait for work. */
#define LEAST_PART 10

static const char *const kind_names[CLEW_OPERATION_KINDS] = {
	[CLEW_OPERATION_REQUEST] = "request",	[CLEW_OPERATION_SERVED] = "served",
	[CLEW_OPERATION_PIPELINE] = "pipeline", [CLEW_OPERATION_CONNECT] = "connect",
	[CLEW_OPERATION_WORK] = "work",		[CLEW_OPERATION_START] = "start",
	[CLEW_OPERATION_COMMAND] = "command",	[CLEW_OPERATION_SPAN] = "span",
};

const char *clew_operation_kind_name(enum clew_operation_kind kind)
{
	return kind_names[kind];
}

enum clew_operation_kind clew_operation_kind_of(const char *name)
{
	int kind = 0;

	while (kind < CLEW_OPERATION_KINDS && strcmp(kind_names[kind], name))
		kind++;
	return (enum clew_operation_kind)kind;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ull;
	return hash;
}

static uint64_t hash_name(const struct clew_trace *trace, uint32_t task, uint64_t at)
{
	const char *name = clew_trace_comm_at(trace, clew_trace_process(trace, task), at);

	return hash_bytes(0xcbf29ce484222325ull, name, strlen(name));
}

/* A number for the server's address; 0: it has none. */
static uint64_t address_of(const struct clew_socket_record *socket, bool served)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	if (socket && socket->family == AF_UNIX) {
		const char *path = served ? socket->local_path : socket->peer_path;

		return path[0] ? hash_bytes(hash, path, strnlen(path, CLEW_UNIX_PATH_SIZE)) : 0;
	}
	if (socket && (socket->family == AF_INET || socket->family == AF_INET6)) {
		const uint8_t *address = served ? socket->local : socket->remote;
		uint16_t port = served ? socket->local_port : socket->peer_port;

		hash = hash_bytes(hash, address, sizeof(socket->local));
		return hash_bytes(hash, &port, sizeof(port));
	}
	return 0;
}

struct clew_object clew_operation_object(const struct clew_kind_operation *operation)
{
	if (operation->exchange)
		return (struct clew_object){.kind = CLEW_OBJECT_SOCKET,
					    .number = operation->exchange->socket};
	return operation->by ? operation->by->object : (struct clew_object){};
}

uint32_t clew_operation_other(const struct clew_kind_operation *operation)
{
	return operation->exchange ? operation->exchange->other
	       : operation->by	   ? operation->by->ended_by
				   : CLEW_NO_TASK;
}

/* A number for what a logical span runs. */
static uint64_t span_name(const struct clew_jobs *jobs, uint32_t number)
{
	const struct clew_job *job = clew_job_at(jobs, number);
	const char *name = clew_job_name(jobs, job);
	uint64_t hash = 0xcbf29ce484222325ull;

	hash = hash_bytes(hash, job->runtime->name, strlen(job->runtime->name));
	hash = hash_bytes(hash, job->kind->name, strlen(job->kind->name));
	return hash_bytes(hash, name, strlen(name));
}

/* A number for the server's address, or for who has the other end if it has none. */
static uint64_t endpoint_of(const struct clew_trace *trace,
			    const struct clew_kind_operation *operation)
{
	const struct clew_object object = clew_operation_object(operation);
	const uint64_t none = 0xcbf29ce484222325ull;
	uint32_t other = clew_operation_other(operation);
	uint64_t address;

	if (operation->kind == CLEW_OPERATION_SPAN)
		return span_name(clew_trace_jobs(trace), operation->operation.job - 1);
	if (!operation->by && !operation->exchange)
		return 0;
	if (operation->kind == CLEW_OPERATION_WORK)
		return hash_bytes(none, &operation->by->call, sizeof(operation->by->call));
	address = object.kind == CLEW_OBJECT_SOCKET
			  ? address_of(clew_trace_socket(trace, object.number),
				       clew_operation_serves(operation))
			  : 0;
	if (address)
		return address;
	return other != CLEW_NO_TASK
		       ? hash_name(trace, other,
				   operation->by ? operation->by->end : operation->operation.to)
		       : none;
}

static uint64_t program_of(const struct clew_trace *trace, uint32_t task)
{
	const struct clew_trace_task *process =
		clew_trace_task(trace, clew_trace_process(trace, task));
	const char *name = process ? process->comm : "";

	return hash_bytes(0xcbf29ce484222325ull, name, strlen(name));
}

uint64_t clew_operation_class_key(const struct clew_trace *trace,
				  const struct clew_kind_operation *operation)
{
	return (program_of(trace, operation->operation.task) * 31 + endpoint_of(trace, operation)) *
		       CLEW_OPERATION_KINDS +
	       operation->kind;
}

static uint64_t length_of(const struct clew_kind_operation *operation)
{
	return operation->operation.to - operation->operation.from;
}

/* The length of an operation that counts. One that consists of sleeps like those between operations
 * is no slow one: the thread does not suffer from them. */
static uint64_t awake_in(const struct clew_kind_operation *operation)
{
	uint64_t length = length_of(operation);

	return operation->slept_ns > length / 2 ? length - operation->slept_ns : length;
}

/* The keys by which operations are sorted, the first one counts least. */
static uint64_t key_of(const struct clew_kind_operation *operation, unsigned step)
{
	switch (step) {
	case 0:
		return operation->operation.task;
	case 1:
		return operation->operation.from;
	case 2:
		return ~awake_in(operation);
	default:
		return operation->class;
	}
}

/* Moves operations to the places that sorted keys give them. The keys' indices are used up. */
static void move_all(struct clew_kind_operation *operations, struct sort_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct clew_kind_operation first = operations[i];
		size_t at = i, from;

		while ((from = keys[at].index) != i) {
			operations[at] = operations[from];
			keys[at].index = (uint32_t)at;
			at = from;
		}
		operations[at] = first;
		keys[at].index = (uint32_t)at;
	}
}

/* By class, the longest first. 0 or -ENOMEM. */
static int sort_operations(struct clew_kind_operation *operations, size_t count)
{
	enum { STEPS = 4 };
	struct sort_key *keys = malloc((count + 1) * sizeof(*keys)),
			*spare = malloc((count + 1) * sizeof(*spare));
	bool made = keys && spare;

	for (size_t i = 0; made && i < count; i++)
		keys[i].index = (uint32_t)i;
	for (unsigned step = 0; made && step < STEPS; step++) {
		for (size_t i = 0; i < count; i++)
			keys[i].key = key_of(&operations[keys[i].index], step);
		sort_keys(keys, spare, count);
	}
	free(spare);
	if (made)
		move_all(operations, keys, count);
	free(keys);
	return made ? 0 : -ENOMEM;
}

/* Numbers the classes in the order in which they come. */
static int number_classes(const struct clew_trace *trace, struct clew_operation_classes *found)
{
	struct map numbers = {};
	int r = 0;

	for (size_t i = 0; i < found->operation_count && r == 0; i++) {
		struct clew_kind_operation *operation = &found->operations[i];
		uint64_t key = clew_operation_class_key(trace, operation);
		const uint64_t *known = map_get(&numbers, key, 0);

		operation->class = known ? (uint32_t)*known : (uint32_t)found->class_count;
		if (!known)
			r = map_set(&numbers, key, 0, found->class_count++);
	}
	map_done(&numbers);
	return r;
}

/* The time of an operation that counts. Requests within it are operations of their own: it counts
 * if it is more than one of them, and what lies between several if that is the larger part. */
static uint64_t counted(const struct clew_kind_operation *operation)
{
	uint64_t length = awake_in(operation);

	if (operation->inner < 2)
		return operation->inner_ns > length / 4 * 3 ? 0 : length;
	return operation->inner_ns < length / 2 ? length - operation->inner_ns : 0;
}

static void sum_class(const struct clew_trace *trace, const struct clew_kind_operation *operations,
		      struct clew_operation_class *class)
{
	size_t n = class->count, within = 0;

	class->kind = operations[0].kind;
	class->messages = operations[0].exchange != NULL;
	class->throughout = operations[0].begun_before && operations[0].goes_on;
	class->program = clew_trace_process(trace, operations[0].operation.task);
	class->longest = awake_in(&operations[0]);
	class->p50 = awake_in(&operations[n / 2]);
	class->p99 = awake_in(&operations[n / 100]);
	if (n >= LEAST_COMPARED)
		class->usual = class->p50;
	else if (n > 1)
		class->usual = awake_in(&operations[n - 1]);
	for (size_t i = 0; i < n; i++) {
		uint64_t ns = counted(&operations[i]);

		class->messages &= operations[i].exchange != NULL;
		class->sum += awake_in(&operations[i]);
		class->own += ns;
		class->hurts += ns > class->usual ? ns - class->usual : 0;
		within += operations[i].inner > 0;
	}
	/* Spans that answer requests: one that has not yet is nothing else. */
	if (class->kind == CLEW_OPERATION_SPAN && within > n / 2)
		class->own = class->hurts = 0;
}

/* True if operations are what a whole program did: they are asked about if there are no others. A
 * logical span that is the only one of its kind is a part of the program that goes on beside it. */
static bool comes_last(const struct clew_operation_class *class)
{
	return class->kind == CLEW_OPERATION_START || class->kind == CLEW_OPERATION_COMMAND ||
	       (class->kind == CLEW_OPERATION_SPAN && class->count == 1) || class->throughout;
}

static int most_hurt_first(const void *left, const void *right)
{
	const struct clew_operation_class *a = left, *b = right;

	if (comes_last(a) != comes_last(b))
		return comes_last(a) ? 1 : -1;
	if (a->hurts != b->hurts)
		return a->hurts > b->hurts ? -1 : 1;
	if (a->sum != b->sum)
		return a->sum > b->sum ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static int make_classes(const struct clew_trace *trace, struct clew_operation_classes *found)
{
	size_t at = 0;

	found->classes = calloc(found->class_count + 1, sizeof(*found->classes));
	if (!found->classes)
		return -ENOMEM;
	for (size_t i = 0; i < found->class_count; i++) {
		struct clew_operation_class *class = &found->classes[i];

		class->first = at;
		while (at < found->operation_count && found->operations[at].class == i)
			at++;
		class->count = at - class->first;
		sum_class(trace, &found->operations[class->first], class);
	}
	return 0;
}

/* Puts what lasts longest of starts and commands first where the rest is next to nothing of it. */
static void prefer_whole(struct clew_operation_classes *found, uint64_t busy)
{
	struct clew_operation_class whole;
	size_t best = SIZE_MAX;
	uint64_t most = 0;

	for (size_t i = 0; i < found->class_count; i++) {
		const struct clew_operation_class *class = &found->classes[i];

		if (!comes_last(class))
			most = class->own > most ? class->own : most;
		else if (best == SIZE_MAX || class->longest > found->classes[best].longest)
			best = i;
	}
	if (best == SIZE_MAX || most >= busy / LEAST_PART)
		return;
	whole = found->classes[best];
	memmove(&found->classes[1], &found->classes[0], best * sizeof(whole));
	found->classes[0] = whole;
}

int clew_classes_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		      uint64_t from, uint64_t to, struct clew_operation_classes *ret_found)
{
	struct vector operations = {.item = sizeof(struct clew_kind_operation)};
	uint64_t busy = 0;
	int r = kinds_find(trace, chosen, from, to, &operations, &busy);

	*ret_found = (struct clew_operation_classes){};
	if (r == 0)
		r = span_kinds_find(trace, chosen, from, to, &operations);
	ret_found->all = operations;
	ret_found->operations = operations.data;
	ret_found->operation_count = operations.count;
	if (r == 0)
		r = number_classes(trace, ret_found);
	if (r == 0)
		r = sort_operations(operations.data, operations.count);
	if (r == 0)
		r = make_classes(trace, ret_found);
	if (r < 0) {
		clew_classes_done(ret_found);
		return r;
	}
	qsort(ret_found->classes, ret_found->class_count, sizeof(*ret_found->classes),
	      most_hurt_first);
	prefer_whole(ret_found, busy);
	for (uint32_t i = 0; i < ret_found->class_count; i++)
		for (size_t k = 0; k < ret_found->classes[i].count; k++)
			ret_found->operations[ret_found->classes[i].first + k].class = i;
	return 0;
}

struct clew_operation *clew_class_longest(const struct clew_operation_classes *found, size_t class,
					  size_t limit, size_t *ret_count)
{
	const struct clew_operation_class *it = &found->classes[class];
	size_t count = it->count < limit ? it->count : limit;
	struct clew_operation *operations = calloc(count + 1, sizeof(*operations));

	for (size_t i = 0; operations && i < count; i++) {
		const struct clew_kind_operation *one = &found->operations[it->first + i];

		operations[i] = one->operation;
		operations[i].served = clew_operation_serves(one);
		if (one->exchange || one->kind == CLEW_OPERATION_REQUEST || operations[i].served) {
			operations[i].by = one->by;
			operations[i].connection = clew_operation_object(one);
		}
	}
	*ret_count = operations ? count : 0;
	return operations;
}

int clew_classes_slowest(const struct clew_trace *trace, const struct clew_chosen *chosen,
			 uint64_t from, uint64_t to, size_t limit,
			 struct clew_operation **ret_operations, size_t *ret_count)
{
	struct clew_operation_classes found;
	int r = clew_classes_find(trace, chosen, from, to, &found);

	*ret_operations = NULL;
	*ret_count = 0;
	if (r < 0)
		return r;
	if (found.class_count) {
		*ret_operations = clew_class_longest(&found, 0, limit, ret_count);
		r = *ret_operations ? 0 : -ENOMEM;
	}
	clew_classes_done(&found);
	return r;
}

const struct clew_kind_operation *clew_classes_at(const struct clew_operation_classes *found,
						  uint64_t from, uint64_t to)
{
	const struct clew_kind_operation *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < found->operation_count; i++) {
		const struct clew_kind_operation *operation = &found->operations[i];
		uint64_t ns = interval_overlap(operation->operation.from, operation->operation.to,
					       from, to);

		if (!ns || ns < most ||
		    (best && ns == most && length_of(operation) >= length_of(best)))
			continue;
		most = ns;
		best = operation;
	}
	return best;
}

void clew_classes_done(struct clew_operation_classes *found)
{
	vector_done(&found->all);
	free(found->classes);
	*found = (struct clew_operation_classes){};
}
