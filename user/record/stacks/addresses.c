/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A taker of records asks for the place of each futex when it meets the first wait for it, and of
 * each lock when it meets the first function that takes it; a thread answers with an ADDRESS
 * record. In each file of a recording, and from each keyframe on, it is asked for again.
 *
 * Invariant: a place is right for the program that waited. The mappings are read a little after
 * the wait, and the process may have begun another program by then. So the thread keeps a place
 * until the drain has had the time to bring the TASK record of that, and drops it if there is one.
 */
#include "record/stacks/addresses.h"

#include <errno.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/thread.h"
#include "base/vector.h"
#include "clew.skel.h"
#include "record/stacks/memory_map.h"
#include "record/stream/clock.h"
#include "record/stream/pid_namespace.h"
#include "record/stream/recorder_state.h"
#include "record/stream/takers.h"
#include "record/stream/user_stream.h"
#include "symbol/code/lock_function.h"

#define TASKS	      (1u << 16)
#define SEEN	      (1u << 14)
#define REQUESTS      1024u
#define NAMES_PART    4			   /* of what all names may take */
#define DRAINED_AFTER UINT64_C(60000000)   /* ns: older records have been taken from the rings */
#define FORGET_AFTER  UINT64_C(2000000000) /* ns without a request: the caches are emptied */

/*
 * The process and memory of a task, in one word: 10 bits of the serial that its place in the table
 * does not tell, the pid, and the number of the memory as the kernel side gives it.
 */
#define OWNER(task, pid, memory)                                                                   \
	((uint64_t)((task) >> 16) << 54 | (uint64_t)((pid)&0x3fffff) << 32 | (memory))
#define OWNER_TAG(owner)    ((owner) >> 54)
#define OWNER_PID(owner)    ((pid_t)((owner) >> 32 & 0x3fffff))
#define OWNER_MEMORY(owner) ((uint32_t)(owner))

struct request {
	uint64_t address;
	uint64_t owner;
	uint32_t task;
	bool code; /* of a function, else of a variable */
	atomic_bool ready;
};

/* A spot that was found and is not yet named and put. */
struct found {
	struct clew_memory_spot spot;
	uint64_t owner;
	uint64_t time; /* ns, when it was found */
	uint32_t task;
	bool code;
};

struct clew_addresses {
	struct clew_recorder *recorder;
	struct clew_memory_maps *maps;
	pthread_t thread;
	bool running;
	atomic_bool stopping;
	sem_t asked;
	struct vector found; /* struct found *, by time */
	atomic_size_t names_bytes;
	atomic_uint head, tail;
	struct request requests[REQUESTS];
	_Atomic bool takes_lock[UINT16_MAX + 1]; /* by site: its first value is a lock's address */
	_Atomic uint64_t tasks[TASKS]; /* OWNER by the low bits of the serial, 0 unknown */
	_Atomic uint64_t seen[SEEN];   /* hashes of what was asked for */
};

static uint64_t owner_of(struct clew_addresses *addresses, uint32_t task)
{
	uint64_t owner =
		atomic_load_explicit(&addresses->tasks[task % TASKS], memory_order_relaxed);

	return OWNER_TAG(owner) == ((task >> 16) & 0x3ff) ? owner : 0;
}

/* ---- the taker ---- */

/* False: there is no room. */
static bool push(struct clew_addresses *addresses, uint32_t task, uint64_t owner, uint64_t address,
		 bool code)
{
	unsigned head = atomic_load(&addresses->head);
	struct request *request;

	do {
		if (head - atomic_load(&addresses->tail) >= REQUESTS)
			return false;
	} while (!atomic_compare_exchange_weak(&addresses->head, &head, head + 1));
	request = &addresses->requests[head % REQUESTS];
	request->address = address;
	request->owner = owner;
	request->task = task;
	request->code = code;
	atomic_store_explicit(&request->ready, true, memory_order_release);
	sem_post(&addresses->asked);
	return true;
}

static void ask(struct clew_addresses *addresses, uint32_t task, uint64_t address, bool code)
{
	uint64_t owner = owner_of(addresses, task), key;
	_Atomic uint64_t *seen;

	if (!OWNER_MEMORY(owner) || OWNER_PID(owner) == addresses->recorder->bpf->rodata->self_pid)
		return;
	key = hash_mix(__atomic_load_n(&addresses->recorder->files.names, __ATOMIC_RELAXED),
		       owner << 10);
	key = hash_mix(key, address) | 1;
	seen = &addresses->seen[key >> 40 & (SEEN - 1)];
	if (atomic_load_explicit(seen, memory_order_relaxed) != key &&
	    push(addresses, task, owner, address, code))
		atomic_store_explicit(seen, key, memory_order_relaxed);
}

static void note_site(struct clew_addresses *addresses, const struct clew_site_record *site,
		      size_t size)
{
	const char *path = (const char *)(site + 1), *end = path + site->size, *name, *arguments;

	if (size < sizeof(*site) + site->size || !site->size || end[-1] ||
	    !(site->roles & CLEW_SITE_ENTER))
		return;
	name = path + strlen(path) + 1;
	arguments = name < end ? name + strlen(name) + 1 : end;
	if (arguments < end && strstr(arguments, CLEW_LOCK_VALUE) && clew_lock_function_named(name))
		atomic_store_explicit(&addresses->takes_lock[site->site], true,
				      memory_order_relaxed);
}

/* True: *ret_lock is the address of a lock that a task takes. */
static bool is_lock(struct clew_addresses *addresses, const struct clew_function *function,
		    size_t size, uint64_t *ret_lock)
{
	if (size < sizeof(*function) + sizeof(*ret_lock) ||
	    function->header.flags & (CLEW_FUNCTION_RETURNED | CLEW_FUNCTION_UNREAD) ||
	    !atomic_load_explicit(&addresses->takes_lock[function->site], memory_order_relaxed))
		return false;
	memcpy(ret_lock, function + 1, sizeof(*ret_lock));
	return true;
}

/* Asks for the functions that a runtime's moment names by their addresses. */
static void ask_code(struct clew_addresses *addresses, const struct clew_moment *moment)
{
	const struct clew_layers *layers = addresses->recorder->options.layers;
	const struct clew_runtime_point *point =
		layers ? clew_runtime_point(layers, moment->point, NULL) : NULL;

	for (unsigned i = 0; point && i < point->value_count; i++) {
		const char *text;
		uint64_t address;

		if (point->values[i].is_code &&
		    clew_moment_value(moment, point, i, &address, &text))
			ask(addresses, moment->task, address, true);
	}
}

static int take(void *context, unsigned stream, const struct clew_header *record, size_t size)
{
	const struct clew_task_record *task = (const struct clew_task_record *)record;
	const struct clew_switch *change = (const struct clew_switch *)record;
	const struct clew_wait *wait = (const struct clew_wait *)(change + 1);
	const struct clew_function *function = (const struct clew_function *)record;
	uint64_t lock;

	(void)stream;
	if (record->kind == CLEW_KIND_TASK && size >= sizeof(*task)) {
		struct clew_addresses *addresses = context;

		atomic_store_explicit(&addresses->tasks[task->task % TASKS],
				      OWNER(task->task, task->pid, task->memory),
				      memory_order_relaxed);
	} else if ((record->kind == CLEW_KIND_SWITCH || record->kind == CLEW_KIND_STATE) &&
		   (record->flags & CLEW_SWITCH_WAIT) && size >= sizeof(*change) + sizeof(*wait) &&
		   wait->object_kind == CLEW_OBJECT_FUTEX &&
		   (wait->futex_operation & FUTEX_PRIVATE_FLAG)) {
		ask(context, change->prev, wait->object, false);
	} else if (record->kind == CLEW_KIND_FUNCTION && is_lock(context, function, size, &lock)) {
		ask(context, function->task, lock, false);
	} else if (record->kind == CLEW_KIND_MOMENT && size >= sizeof(struct clew_moment)) {
		ask_code(context, (const struct clew_moment *)record);
	} else if (record->kind == CLEW_KIND_SITE) {
		note_site(context, (const struct clew_site_record *)record, size);
	}
	return 0;
}

/* ---- the thread ---- */

static void find_spot(struct clew_addresses *addresses, const struct request *request)
{
	struct found found = {.owner = request->owner,
			      .task = request->task,
			      .time = clew_now(),
			      .code = request->code},
		     *copy;

	if (owner_of(addresses, request->task) != request->owner ||
	    !clew_memory_maps_find(addresses->maps, OWNER_PID(request->owner),
				   OWNER_MEMORY(request->owner), found.time, request->address,
				   &found.spot) ||
	    vector_reserve(&addresses->found, addresses->found.count + 1) < 0)
		return;
	copy = malloc(sizeof(found));
	if (!copy)
		return;
	*copy = found;
	((struct found **)addresses->found.data)[addresses->found.count++] = copy;
}

static void answer_requests(struct clew_addresses *addresses)
{
	unsigned tail = atomic_load(&addresses->tail);

	for (;; tail++) {
		struct request *request = &addresses->requests[tail % REQUESTS];

		if (tail == atomic_load(&addresses->head) ||
		    !atomic_load_explicit(&request->ready, memory_order_acquire))
			break;
		find_spot(addresses, request);
		atomic_store(&request->ready, false);
		atomic_store(&addresses->tail, tail + 1);
	}
}

static void put_place(struct clew_addresses *addresses, const struct found *found)
{
	struct {
		struct clew_address address;
		char words[2 * CLEW_PATH_SIZE];
	} record;
	struct clew_memory_place place;
	size_t name, path;

	if (owner_of(addresses, found->task) != found->owner ||
	    !(found->code ? clew_memory_maps_name_code(addresses->maps, &found->spot, &place)
			  : clew_memory_maps_name(addresses->maps, &found->spot, &place)))
		return;
	atomic_store(&addresses->names_bytes, clew_memory_maps_names(addresses->maps));
	name = strnlen(place.name, CLEW_PATH_SIZE - 1);
	path = strnlen(place.path, CLEW_PATH_SIZE - 1);
	record.address = (struct clew_address){
		.header = {.kind = CLEW_KIND_ADDRESS, .flags = (uint8_t)place.place},
		.address = found->spot.address,
		.offset = place.offset,
		.task = found->task,
		.size = (uint16_t)(name + 1 + path),
	};
	memcpy(record.words, place.name, name);
	record.words[name] = '\0';
	memcpy(record.words + name + 1, place.path, path);
	clew_put_user_now(addresses->recorder, &record.address.header,
			  sizeof(record.address) + name + 1 + path);
}

/* Names and puts what was found before `until`, ns. New requests are answered in between: their
 * processes may end soon. */
static void put_found(struct clew_addresses *addresses, uint64_t until)
{
	size_t count = 0;

	for (; count < addresses->found.count; count++) {
		struct found *found = ((struct found **)addresses->found.data)[count];

		if (found->time >= until)
			break;
		put_place(addresses, found);
		free(found);
		answer_requests(addresses);
	}
	if (!count)
		return;
	addresses->found.count -= count;
	memmove(addresses->found.data, (struct found **)addresses->found.data + count,
		addresses->found.count * sizeof(struct found *));
}

/* Until somebody asks, or something is to be put or forgotten. False: the time is over. */
static bool await_request(struct clew_addresses *addresses)
{
	struct found **all = addresses->found.data;
	uint64_t until =
		addresses->found.count ? all[0]->time + DRAINED_AFTER : clew_now() + FORGET_AFTER;
	const struct timespec time = {.tv_sec = (time_t)(until / 1000000000),
				      .tv_nsec = (long)(until % 1000000000)};

	return !sem_clockwait(&addresses->asked, CLOCK_MONOTONIC, &time) || errno == EINTR;
}

static void *run(void *context)
{
	struct clew_addresses *addresses = context;
	bool idle = false;

	pthread_setname_np(pthread_self(), "clew-addresses");
	while (!atomic_load(&addresses->stopping)) {
		if (!idle && !await_request(addresses) && !addresses->found.count) {
			clew_memory_maps_forget(addresses->maps);
			atomic_store(&addresses->names_bytes, 0);
			idle = true;
		} else if (idle) {
			sem_wait(&addresses->asked);
			idle = false;
		}
		answer_requests(addresses);
		put_found(addresses, clew_now() - DRAINED_AFTER);
	}
	answer_requests(addresses);
	put_found(addresses, UINT64_MAX);
	return NULL;
}

int clew_addresses_open(struct clew_recorder *recorder, struct clew_addresses **ret)
{
	struct clew_addresses *addresses;
	struct clew_record_taker taker = {.take = take};
	int r;

	if (clew_pid_namespace())
		return 0;
	addresses = malloc(sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	/* All pages are there before a drain thread writes to them. */
	memset(addresses, 0, sizeof(*addresses));
	addresses->recorder = recorder;
	addresses->found.item = sizeof(struct found *);
	sem_init(&addresses->asked, 0, 0);
	addresses->maps = clew_memory_maps_new(clew_names_most(recorder) / NAMES_PART);
	taker.context = addresses;
	r = addresses->maps ? clew_takers_add(recorder, &taker, 1) : -ENOMEM;
	*ret = addresses;
	if (r >= 0)
		r = store_thread_start(&addresses->thread, run, addresses);
	addresses->running = r >= 0;
	return r;
}

size_t clew_addresses_memory(const struct clew_addresses *addresses)
{
	return addresses ? atomic_load(&addresses->names_bytes) : 0;
}

void clew_addresses_stop(struct clew_addresses *addresses)
{
	if (!addresses || !addresses->running)
		return;
	atomic_store(&addresses->stopping, true);
	sem_post(&addresses->asked);
	store_thread_join(addresses->thread);
	addresses->running = false;
}

void clew_addresses_close(struct clew_addresses *addresses)
{
	if (!addresses)
		return;
	for (size_t i = 0; i < addresses->found.count; i++)
		free(((struct found **)addresses->found.data)[i]);
	vector_done(&addresses->found);
	clew_memory_maps_free(addresses->maps);
	sem_destroy(&addresses->asked);
	free(addresses);
}
