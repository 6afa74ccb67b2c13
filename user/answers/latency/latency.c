/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names the things whose time is shown, and puts them into groups. */
#include "answers/latency/latency.h"

#include <clew/tokens.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/latency/latency_internal.h"
#include "base/hash.h"
#include "format/text.h"
#include "trace/name.h"
#include "words/class.h"
#include "words/object.h"
#include "words/remote.h"
#include "words/task.h"

const char *clew_latency_by_name(enum clew_latency_by by)
{
	static const char *const names[CLEW_LATENCY_BY_COUNT] = {
		[CLEW_LATENCY_PATH] = "path",	  [CLEW_LATENCY_FUNCTION] = "function",
		[CLEW_LATENCY_KIND] = "kind",	  [CLEW_LATENCY_CALL] = "call",
		[CLEW_LATENCY_DEVICE] = "device", [CLEW_LATENCY_LOCK] = "lock",
		[CLEW_LATENCY_PEER] = "peer",	  [CLEW_LATENCY_OPERATION] = "operation",
	};

	return names[by];
}

const char *clew_latency_level_name(enum clew_latency_level level)
{
	static const char *const names[CLEW_LATENCY_LEVEL_COUNT] = {
		[CLEW_LATENCY_THREAD] = "thread", [CLEW_LATENCY_PROCESS] = "process",
		[CLEW_LATENCY_CGROUP] = "cgroup", [CLEW_LATENCY_COMM] = "comm",
		[CLEW_LATENCY_ARGUMENT] = "arg",
	};

	return names[level];
}

/* ---- locks ---- */

static void print_lock(FILE *out, const struct clew_trace *trace, const struct clew_contended *lock)
{
	const struct clew_lock_wait *wait = &lock->waits[lock->longest];
	const struct clew_trace_task *task = clew_trace_task(trace, wait->task);
	const char *call = wait->sleep ? clew_call_name(wait->sleep->call) : NULL;

	if (wait->spin) {
		clew_print_spin_object(out, trace, wait->spin);
		return;
	}
	if (wait->sleep->object.kind == CLEW_OBJECT_FILE && call)
		fprintf(out, "%s of ", call);
	if (!clew_print_object(out, trace, &wait->sleep->object, wait->sleep))
		fputs("a lock", out);
	if (wait->sleep->object.kind != CLEW_OBJECT_FUTEX || !task)
		return;
	fputs(" of ", out);
	clew_print_safe(out, clew_process_name(trace, task, wait->from));
}

/* The name of a lock; the second one of a name has " #2" behind it. */
static char *make_lock_name(struct clew_latency_names *names, const struct clew_contended *lock)
{
	char *text = NULL, *numbered = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	uint64_t hash, *known, number = 1;

	if (!stream)
		return NULL;
	print_lock(stream, names->trace, lock);
	if (fclose(stream) != 0) {
		free(text);
		return NULL;
	}
	hash = hash_text(HASH_SEED, text);
	known = map_get(&names->same_names, hash, 0);
	if (known)
		number = *known + 1;
	if (map_set(&names->same_names, hash, 0, number) < 0 ||
	    (number > 1 && asprintf(&numbered, "%s #%" PRIu64, text, number) < 0)) {
		free(text);
		return NULL;
	}
	if (!numbered)
		return text;
	free(text);
	return numbered;
}

static const char *lock_name(struct clew_latency_names *names, const struct clew_contended *lock)
{
	struct vector *texts = &names->texts;
	uint64_t *known = map_get(&names->lock_names, (uintptr_t)lock, 0);
	char *text;

	if (known)
		return ((char **)texts->data)[*known];
	text = make_lock_name(names, lock);
	if (!text || vector_reserve(texts, texts->count + 1) < 0 ||
	    map_set(&names->lock_names, (uintptr_t)lock, 0, texts->count) < 0) {
		free(text);
		return NULL;
	}
	((char **)texts->data)[texts->count++] = text;
	return text;
}

/* ---- operations ---- */

/* The name of an operation's class. */
static const char *class_name(struct clew_latency_names *names,
			      const struct clew_kind_operation *operation)
{
	const struct clew_trace *trace = names->options->tasks ?: names->trace;
	struct vector *texts = &names->texts;
	uint64_t key = clew_operation_class_key(trace, operation);
	const uint64_t *known = map_get(&names->class_names, key, 0);
	char *text = NULL;
	size_t size;
	FILE *stream;

	if (known)
		return ((char **)texts->data)[*known];
	stream = open_memstream(&text, &size);
	if (!stream)
		return NULL;
	clew_print_class_of(stream, trace, operation, false);
	if (fclose(stream) != 0 || vector_reserve(texts, texts->count + 1) < 0 ||
	    map_set(&names->class_names, key, 0, texts->count) < 0) {
		free(text);
		return NULL;
	}
	((char **)texts->data)[texts->count++] = text;
	return text;
}

/* ---- all else ---- */

/* The request that ended a wait; NULL: none did. */
static const struct clew_link *request_of(const struct clew_sleep *sleep)
{
	for (unsigned i = 0; i < (unsigned)sleep->link_count + sleep->and_count; i++)
		if (sleep->links[i].kind == CLEW_LINK_REQUEST)
			return &sleep->links[i];
	return NULL;
}

static const char *call_of(const struct clew_sleep *sleep)
{
	if (sleep->kind == CLEW_WAIT_FAULT)
		return "page fault";
	return clew_call_name(sleep->call) ?: "in no system call";
}

/* Sets what an item is called; the name stays NULL if it is in no group. 0 or -ENOMEM. */
static int name_item(struct clew_latency_names *names, const struct clew_latency_item *item,
		     struct latency_name *name)
{
	const struct clew_link *link;

	switch (names->options->by) {
	case CLEW_LATENCY_KIND:
		name->name.name = clew_wait_kind_name(item->sleep->kind);
		return 0;
	case CLEW_LATENCY_CALL:
		name->name.name = call_of(item->sleep);
		return 0;
	case CLEW_LATENCY_DEVICE:
		link = request_of(item->sleep);
		if (link)
			name->name.name = clew_disk_name(names->trace, link->device, name->disk,
							 sizeof(name->disk));
		return 0;
	case CLEW_LATENCY_PEER:
		name->name.name =
			clew_remote_name(names->trace, item->sleep, name->peer, sizeof(name->peer));
		return 0;
	case CLEW_LATENCY_LOCK:
		name->name.name = lock_name(names, item->lock);
		return name->name.name ? 0 : -ENOMEM;
	default:
		name->name.name = class_name(names, item->operation);
		return name->name.name ? 0 : -ENOMEM;
	}
}

/* 1: it is in no group. */
static int group_of_item(struct clew_latency_names *names, const struct clew_latency_item *item,
			 uint32_t *ret_group)
{
	struct latency_name name = {.name.place = ""};
	int r = name_item(names, item, &name);

	if (r < 0 || !name.name.name)
		return r < 0 ? r : 1;
	latency_take_properties(names, item->task, item->from, &name);
	return clew_latency_place(names->latency, CLEW_NO_NUMBER, &name.name, ret_group);
}

int clew_latency_take(void *context, const struct clew_latency_item *item)
{
	struct clew_latency_names *names = context;
	struct clew_latency_group *group;
	uint32_t index;
	int r = item->frame ? latency_place_frame(names, item->task, item->frame, &index)
			    : group_of_item(names, item, &index);

	if (r > 0)
		names->left_out->elsewhere++;
	if (r != 0)
		return r < 0 ? r : 0;
	if (index == CLEW_NO_NUMBER) {
		names->latency->unplaced++;
		return 0;
	}
	group = clew_latency_at(names->latency, index);
	if (item->frame && item->frame->flags & CLEW_FRAME_INHERITED) {
		group->inherited++;
		return 0;
	}
	if (item->open) {
		group->open++;
		return 0;
	}
	return clew_latency_add(names->latency, index, item->to - item->from,
				item->frame ? item->frame->probe : 0, item->split);
}

static enum clew_latency_of of_what(enum clew_latency_by by)
{
	switch (by) {
	case CLEW_LATENCY_PATH:
	case CLEW_LATENCY_FUNCTION:
		return CLEW_LATENCY_OF_FRAMES;
	case CLEW_LATENCY_LOCK:
		return CLEW_LATENCY_OF_LOCKS;
	case CLEW_LATENCY_OPERATION:
		return CLEW_LATENCY_OF_OPERATIONS;
	default:
		return CLEW_LATENCY_OF_WAITS;
	}
}

int clew_latency_names_new(const struct clew_trace *trace,
			   const struct clew_latency_options *options, struct clew_latency *latency,
			   struct clew_latency_left_out *left_out,
			   struct clew_latency_names **ret_names)
{
	*ret_names = malloc(sizeof(**ret_names));
	if (!*ret_names)
		return -ENOMEM;
	**ret_names = (struct clew_latency_names){.trace = trace,
						  .options = options,
						  .latency = latency,
						  .left_out = left_out,
						  .texts.item = sizeof(char *)};
	return 0;
}

void clew_latency_names_free(struct clew_latency_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->texts.count; i++)
		free(((char **)names->texts.data)[i]);
	vector_done(&names->texts);
	map_done(&names->calls);
	map_done(&names->lock_names);
	map_done(&names->same_names);
	map_done(&names->class_names);
	latency_jobs_done(names);
	free(names->group_of);
	free(names);
}

int clew_latency_gather(const struct clew_trace *trace, const struct clew_latency_options *options,
			struct clew_latency *latency, struct clew_latency_left_out *left_out)
{
	struct clew_latency_asked asked = {.of = of_what(options->by),
					   .chosen = options->chosen,
					   .from = options->from,
					   .to = options->to,
					   .idle = options->idle,
					   .window = options->window,
					   .operations = options->operations,
					   .operation_count = options->operation_count,
					   .locks = options->locks,
					   .longs = options->longs,
					   .tasks = options->tasks};
	struct clew_latency_names *names;
	int r = clew_latency_names_new(trace, options, latency, left_out, &names);

	if (r < 0)
		return r;
	if (asked.of == CLEW_LATENCY_OF_FRAMES)
		r = latency_jobs_gather(names);
	if (r >= 0)
		r = clew_latency_find(trace, &asked, clew_latency_take, names);
	left_out->idle += asked.idle_left_out;
	clew_latency_names_free(names);
	return r;
}
