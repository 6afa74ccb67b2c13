/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A taker of records asks for the names of each control group of a container when its record comes;
 * a thread finds them and puts them as texts. The record comes once in each file of a recording,
 * and so do the texts. The runtime's files are read once.
 *
 * Invariant: the taker neither waits nor takes memory. If there is no room it asks for nothing, and
 * the group has its id alone in that file.
 */
#include "record/group_names.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/map.h"
#include "base/thread.h"
#include "containers/names.h"
#include "record/stream/clock.h"
#include "record/stream/recorder_state.h"
#include "record/stream/takers.h"
#include "record/stream/user_stream.h"

#define REQUESTS   4096u /* a machine has a thousand pods of two or three containers */
#define PATH_ASKED 264	 /* bytes of a path, its last ones: they have the pod and the container */
#define KNOWN_MOST 16384 /* groups whose names are kept; then all are read again */

struct request {
	uint64_t group;
	atomic_bool ready;
	char path[PATH_ASKED];
};

struct clew_group_names {
	struct clew_recorder *recorder;
	struct clew_containers runtime;
	pthread_t thread;
	bool running;
	atomic_bool stopping;
	sem_t asked;
	struct map known; /* id of a group -> its names, each with its NUL */
	atomic_uint head, tail;
	struct request requests[REQUESTS];
};

/* ---- the taker ---- */

static bool may_have_names(const char *path)
{
	char id[CLEW_CONTAINER_SIZE], uid[CLEW_POD_UID_SIZE];

	return (clew_container_of(path, id) && clew_container_is_id(id)) ||
	       clew_pod_uid_in(path, uid);
}

static void ask(struct clew_group_names *names, uint64_t group, const char *path, size_t size)
{
	unsigned head = atomic_load(&names->head);
	struct request *request;

	do {
		if (head - atomic_load(&names->tail) >= REQUESTS)
			return;
	} while (!atomic_compare_exchange_weak(&names->head, &head, head + 1));
	request = &names->requests[head % REQUESTS];
	request->group = group;
	memcpy(request->path, path, size);
	request->path[size] = '\0';
	atomic_store_explicit(&request->ready, true, memory_order_release);
	sem_post(&names->asked);
}

static int take(void *context, unsigned stream, const struct clew_header *header, size_t size)
{
	const struct clew_cgroup_record *record = (const struct clew_cgroup_record *)header;
	char path[PATH_ASKED];
	size_t length, from;

	(void)stream;
	if (header->kind != CLEW_KIND_CGROUP || size < sizeof(*record) ||
	    size < sizeof(*record) + record->path_size)
		return 0;
	length = record->path_size;
	from = length < sizeof(path) ? 0 : length - (sizeof(path) - 1);
	memcpy(path, (const char *)(record + 1) + from, length - from);
	path[length - from] = '\0';
	if (clew_group_text(record->id, 0) && may_have_names(path))
		ask(context, record->id, path, length - from);
	return 0;
}

/* ---- the thread ---- */

static void forget(struct clew_group_names *names)
{
	for (size_t i = 0; i < names->known.capacity; i++)
		if (names->known.slots[i].used)
			free((void *)(uintptr_t)names->known.slots[i].value);
	map_done(&names->known);
	names->known = (struct map){};
}

/* Keeps the names of a group that is not known yet. NULL: there are none. */
static const char *find(struct clew_group_names *names, const struct request *request)
{
	struct clew_container_names found;
	size_t size = 0;
	char *kept, *at;

	if (clew_containers_names(&names->runtime, request->path, &found) < 0)
		return NULL;
	if (names->known.count >= KNOWN_MOST)
		forget(names);
	for (unsigned i = 0; i < CLEW_GROUP_NAMES; i++)
		size += strlen(found.of[i]) + 1;
	kept = at = malloc(size);
	for (unsigned i = 0; kept && i < CLEW_GROUP_NAMES; i++)
		at = stpcpy(at, found.of[i]) + 1;
	if (kept && map_set(&names->known, request->group, 0, (uintptr_t)kept) < 0) {
		free(kept);
		kept = NULL;
	}
	return kept;
}

static void answer(struct clew_group_names *names, const struct request *request)
{
	const uint64_t *known = map_get(&names->known, request->group, 0);
	const char *name = known ? (const char *)(uintptr_t)*known : find(names, request);

	for (unsigned i = 0; name && i < CLEW_GROUP_NAMES; i++, name += strlen(name) + 1) {
		struct {
			struct clew_text_record text;
			char bytes[CLEW_TEXT_SIZE];
		} record = {.text = {.header.kind = CLEW_KIND_TEXT,
				     .hash = clew_group_text(request->group, i)}};

		if (!*name)
			continue;
		record.text.text_size = (uint16_t)strlen(name);
		memcpy(record.bytes, name, record.text.text_size);
		clew_put_user_now(names->recorder, &record.text.header,
				  sizeof(record.text) + record.text.text_size);
	}
}

static void answer_all(struct clew_group_names *names)
{
	for (unsigned tail = atomic_load(&names->tail); tail != atomic_load(&names->head); tail++) {
		struct request *request = &names->requests[tail % REQUESTS];

		if (!atomic_load_explicit(&request->ready, memory_order_acquire))
			break;
		answer(names, request);
		atomic_store(&request->ready, false);
		atomic_store(&names->tail, tail + 1);
	}
}

static void *run(void *context)
{
	struct clew_group_names *names = context;

	pthread_setname_np(pthread_self(), "clew-names");
	while (!atomic_load(&names->stopping)) {
		sem_wait(&names->asked);
		answer_all(names);
	}
	answer_all(names);
	return NULL;
}

int clew_group_names_open(struct clew_recorder *recorder, struct clew_group_names **ret)
{
	struct clew_group_names *names = malloc(sizeof(*names));
	struct clew_record_taker taker = {.context = names, .take = take};
	int r;

	if (!names)
		return -ENOMEM;
	/* All pages are there before a drain thread writes to them. */
	memset(names, 0, sizeof(*names));
	names->recorder = recorder;
	sem_init(&names->asked, 0, 0);
	clew_containers_open(&names->runtime);
	*ret = names;
	r = clew_takers_add(recorder, &taker, 1);
	if (r >= 0)
		r = store_thread_start(&names->thread, run, names);
	names->running = r >= 0;
	return r;
}

void clew_group_names_stop(struct clew_group_names *names)
{
	if (!names || !names->running)
		return;
	atomic_store(&names->stopping, true);
	sem_post(&names->asked);
	store_thread_join(names->thread);
	names->running = false;
}

void clew_group_names_close(struct clew_group_names *names)
{
	if (!names)
		return;
	forget(names);
	clew_containers_close(&names->runtime);
	sem_destroy(&names->asked);
	free(names);
}
