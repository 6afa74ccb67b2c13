/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other ends of waits, at the start and the stop: what tasks sleep on, and who
 * has the other ends of it open. The records go to the user stream.
 *
 * A program that hangs is mostly killed before the recording stops. So while it goes on, a pass
 * looks at tasks that have slept since the pass before. It leaves no record unless one of them was
 * not seen so before: what hangs changes no more. All of it takes 0.2 % of a CPU at most.
 *
 * Invariant: a pass leaves the map of ends empty, so that the next one finds
 * only its own. Ends that do not fit are counted in the ledger as lost.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clew.skel.h"
#include "record/passes.h"
#include "record/stream/clock.h"
#include "record/stream/iterator.h"
#include "record/stream/recorder_state.h"
#include "record/stream/steps.h"
#include "record/stream/user_stream.h"
#include "symbol/elf/kernel.h"

/* Records of holders that a pass stores, at most: 16 MiB of them. */
#define HOLDERS_MOST (1u << 18)

/* ns from one pass over long sleepers to the next at least, and where the recording goes on for
 * ever; and how many times the CPU time of the last pass. */
#define LOOK_EVERY	 1000000000ULL
#define LOOK_EVERY_LATER 10000000000ULL
#define LOOK_SHARE	 500

/* Adds a key unless it is there. True: it was added. */
static bool want(struct clew_recorder *recorder, const struct clew_end *end, uint64_t number,
		 uint8_t flags)
{
	const uint8_t value = 1;
	struct clew_end_key key = {.end = number,
				   .device = end->device,
				   .object_kind = end->object_kind,
				   .flags = flags};
	int map = bpf_map__fd(recorder->bpf->maps.clew_ends);

	if (!number)
		return false;
	if (!bpf_map_update_elem(map, &key, &value, BPF_NOEXIST))
		return true;
	/* The ends that it would have found are not known. */
	recorder->user.lost[CLEW_KIND_END] += errno != EEXIST;
	return false;
}

static void want_none(struct clew_recorder *recorder)
{
	int map = bpf_map__fd(recorder->bpf->maps.clew_ends);
	struct clew_end_key key;

	while (!bpf_map_get_next_key(map, NULL, &key))
		if (bpf_map_delete_elem(map, &key))
			break;
}

/* Puts the name of a function, once: many tasks sleep in few functions. */
static int put_function(struct clew_recorder *recorder, const struct clew_end *end,
			uint64_t *ret_names, size_t *ret_count, size_t room)
{
	const char *name;

	for (size_t i = 0; i < *ret_count; i++)
		if (ret_names[i] == end->function)
			return 0;
	name = recorder->symbols && end->function
		       ? clew_kernel_symbol_at(recorder->symbols, end->function)
		       : NULL;
	if (!name)
		return 0;
	if (*ret_count < room)
		ret_names[(*ret_count)++] = end->function;
	return clew_put_text(recorder, end->function, name, end->header.time);
}

/*
 * True if a task sleeps for the answer to a request to a FUSE daemon. The compiler may have put
 * some of these functions into others.
 */
static bool awaits_answer(const struct clew_recorder *recorder, const struct clew_end *end)
{
	static const char *const functions[] = {"request_wait_answer", "__fuse_request_send",
						"fuse_simple_request", "__fuse_simple_request"};
	const char *name = recorder->symbols && end->function
				   ? clew_kernel_symbol_at(recorder->symbols, end->function)
				   : NULL;

	for (size_t i = 0; name && i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(name, functions[i]))
			return true;
	return false;
}

/*
 * Drops what nobody needs of the records of one task. Returns how many are left,
 * from the first on.
 */
static size_t leave_out(const struct clew_recorder *recorder, bool functions, struct clew_end *ends,
			size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (ends[i].object_kind == CLEW_OBJECT_FILE && !ends[i].device &&
		    !awaits_answer(recorder, &ends[i])) {
			ends[i].object_kind = CLEW_OBJECT_NONE;
			ends[i].end = 0;
		}
		any |= ends[i].end || ends[i].listener;
	}
	if (any)
		return count;
	/* The function alone, of a wait that the capture does not see the end of. */
	if (!(ends->header.flags & CLEW_END_ENDLESS) || ends->descriptor >= 0)
		ends->object = 0;
	ends->descriptor = -1;
	ends->object_kind = CLEW_OBJECT_NONE;
	return functions && ends->function ? 1 : 0;
}

/* The records of one task, one after the other. */
static size_t same_task(const struct clew_end *ends, size_t count)
{
	size_t same = 1;

	while (same < count && ends[same].task == ends->task)
		same++;
	return same;
}

/* Puts what tasks sleep on. `functions`: also those that sleep on nothing that has another end.
 * *ret_wanted: how many ends are to be looked for; *ret_listed: as put_holders() has it. */
static int put_sleepers(struct clew_recorder *recorder, bool functions, size_t *ret_wanted,
			bool *ret_listed)
{
	const struct clew_bpf__bss *variables = recorder->bpf->bss;
	struct clew_end *ends;
	uint64_t names[256];
	size_t size = 0, named = 0, count, kept;
	char *data = NULL;
	int r = clew_iterate_read(recorder->bpf->progs.clew_end_waits, &data, &size);

	*ret_wanted = 0;
	*ret_listed = r >= 0;
	ends = (struct clew_end *)data;
	if (variables->ends_long_only && !variables->ends_new)
		size = 0;
	for (size_t left = size / sizeof(*ends); left && r >= 0; left -= count, ends += count) {
		count = same_task(ends, left);
		kept = leave_out(recorder, functions, ends, count);
		if (kept)
			r = put_function(recorder, ends, names, &named,
					 sizeof(names) / sizeof(names[0]));
		for (size_t i = 0; i < kept && r >= 0; i++) {
			r = clew_put_user(recorder, &ends[i], sizeof(ends[i]));
			*ret_wanted +=
				want(recorder, &ends[i], ends[i].end,
				     ends[i].header.flags & (CLEW_END_READS | CLEW_END_WRITES));
			*ret_wanted += want(recorder, &ends[i], ends[i].listener, CLEW_END_LISTENS);
		}
	}
	free(data);
	return r;
}

/* Puts who has the ends that are looked for. *ret_listed: they were listed, so that an error is
 * that of putting them. */
static int put_holders(struct clew_recorder *recorder, bool *ret_listed)
{
	const struct clew_end *ends;
	size_t size = 0, count;
	char *data = NULL;
	int r = clew_iterate_read(recorder->bpf->progs.clew_end_holders, &data, &size);

	*ret_listed = r >= 0;
	ends = (const struct clew_end *)data;
	count = size / sizeof(*ends);
	if (count > HOLDERS_MOST) {
		recorder->user.lost[CLEW_KIND_END] += count - HOLDERS_MOST;
		count = HOLDERS_MOST;
	}
	for (size_t i = 0; i < count && r >= 0; i++)
		r = clew_put_user(recorder, &ends[i], sizeof(ends[i]));
	free(data);
	return r;
}

/* ns of a CPU that this thread has used. */
static uint64_t thread_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

/* One pass. *ret_listed: as put_holders() has it. */
static int pass(struct clew_recorder *recorder, bool stop, bool long_only, bool *ret_listed)
{
	struct clew_bpf__bss *variables = recorder->bpf->bss;
	const uint64_t begin = thread_time(),
		       every = recorder->options.goes_on ? LOOK_EVERY_LATER : LOOK_EVERY;
	uint64_t pause;
	size_t wanted;
	int r;

	variables->ends_stop = stop;
	variables->ends_long_only = long_only;
	variables->ends_new = 0;
	variables->ends_pass++;
	r = put_sleepers(recorder, stop || long_only, &wanted, ret_listed);
	if (r >= 0 && wanted)
		r = put_holders(recorder, ret_listed);
	want_none(recorder);
	pause = (thread_time() - begin) * LOOK_SHARE;
	recorder->next_look = clew_now() + (pause > every ? pause : every);
	return r;
}

void clew_ends_look(struct clew_recorder *recorder, uint64_t now)
{
	bool listed;

	if (now < recorder->next_look || bpf_program__fd(recorder->bpf->progs.clew_end_waits) < 0)
		return;
	/* Its records are older than the moment at which they are put. */
	atomic_store(&recorder->user.current, false);
	pass(recorder, false, true, &listed);
	clew_user_round(recorder, clew_now(), true);
	atomic_store(&recorder->user.current, true);
}

int clew_ends_find(struct clew_recorder *recorder, bool stop, struct clew_message *message)
{
	bool listed;
	int r;

	if (bpf_program__fd(recorder->bpf->progs.clew_end_waits) < 0)
		return 0;
	r = pass(recorder, stop, false, &listed);
	if (r < 0 && listed)
		return clew_say_unwritable(recorder, message, "the capture", r);
	if (r < 0)
		return clew_say(message, r, "other ends of waits cannot be listed: %s: try again",
				strerror(-r));
	return 0;
}
