/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has the kernel verify the chosen programs, and finds those that it refuses.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/ending.h"
#include "clew.skel.h"
#include "record/interrupt.h"
#include "record/load_parts.h"
#include "record/room.h"
#include "record/stream/kernel.h"
#include "record/stream/programs.h"
#include "record/stream/recorder_state.h"
#include "record/stream/refusals.h"
#include "record/stream/steps.h"
#include "record/together.h"

/* True if a recording without the program is none, or not the one that was asked for. */
static bool is_needed(const struct clew_refusal *refusal,
		      const struct clew_recorder_options *options)
{
	unsigned flags = clew_program_feature(refusal->row)->flags;

	if (flags & CLEW_PROGRAM_STACKS)
		return !options->stacks_if_possible;
	return flags & (CLEW_PROGRAM_ESSENTIAL | CLEW_PROGRAM_ASKED);
}

/* Says that nothing is recorded without what the kernel refuses. */
static int say_needed(const struct clew_refusal *refusal, struct clew_message *message)
{
	const struct clew_program_row *feature = clew_program_feature(refusal->row);

	return clew_say(message, -ENOTSUP, "the kernel refuses what is needed for %s: %s: %s",
			feature->feature, refusal->reason,
			feature->flags & CLEW_PROGRAM_ASKED ? "record without it"
							    : "see `clew doctor`");
}

static int check_needed(const struct clew_recorder *recorder,
			const struct clew_recorder_options *options, struct clew_message *message)
{
	for (size_t i = 0; i < recorder->refusals.count; i++)
		if (is_needed(&recorder->refusals.of[i], options))
			return say_needed(&recorder->refusals.of[i], message);
	return 0;
}

/* True if the kernel may take the other programs. */
static bool is_of_program(int error)
{
	return error != -EMFILE && error != -ENOMEM && error != -EPERM && !clew_kernel_jit_off();
}

/* False if there are fewer descriptors than maps and programs. That is found out before the load:
 * libbpf makes a map to learn what the kernel can do, and takes the lack of a descriptor for a no.
 */
static bool has_descriptors(struct bpf_object *object)
{
	struct bpf_program *program;
	struct bpf_map *map;
	struct rlimit limit;
	rlim_t needed = 0;

	bpf_object__for_each_map (map, object)
		needed++;
	bpf_object__for_each_program (program, object)
		needed += bpf_program__autoload(program);
	return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed;
}

/* Opens the kernel side and prepares all chosen programs. 0 or -errno. */
static int open_all(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		    struct clew_message *message)
{
	int error = load_prepare(recorder, options, message);

	if (!error && !has_descriptors(recorder->bpf->obj))
		error = clew_say_refused(message, LOAD_REFUSED, -EMFILE);
	if (!error)
		error = check_needed(recorder, options, message);
	return error ?: clew_recorder_check_ending(message);
}

/*
 * Loads the chosen programs, several at once. Returns 1 if the kernel refuses one of them, and 0 or
 * -errno.
 */
static int try_together(struct clew_recorder *recorder, const struct clew_recorder_options *options,
			struct clew_message *message)
{
	struct clew_refusal ignored;
	int error = open_all(recorder, options, message), refused;

	if (error)
		return error;
	clew_verdict_begin();
	clew_together_find(recorder->bpf->obj);
	clew_interrupt_begin(recorder->interrupt);
	clew_together_begin(recorder->bpf->obj, recorder->interrupt);
	error = clew_bpf__load(recorder->bpf);
	refused = clew_together_end(error);
	clew_interrupt_end(recorder->interrupt);
	clew_verdict_end(&ignored);
	if (!error && !refused)
		return 0;
	/* It refuses nothing: it was broken off. */
	if (ending_since())
		return clew_recorder_check_ending(message);
	return 1;
}

/*
 * Loads the chosen programs one by one, but with `some` for those that the kernel is known to take;
 * `taken` has one for each program of the object. A program that the kernel refuses is added to the
 * refusals, and those before it are taken. Returns 1 then, or 0 or -errno.
 */
static int try(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	       bool *taken, bool some, struct clew_message *message)
{
	struct clew_refusal refusal;
	struct bpf_program *program;
	size_t count = 0;
	bool named;
	int error = open_all(recorder, options, message);

	if (error)
		return error;
	if (some)
		bpf_object__for_each_program (program, recorder->bpf->obj)
			if (taken[count++])
				bpf_program__set_autoload(program, false);
	clew_verdict_begin();
	clew_together_find(recorder->bpf->obj);
	clew_interrupt_begin(recorder->interrupt);
	error = clew_bpf__load(recorder->bpf);
	clew_interrupt_end(recorder->interrupt);
	named = clew_verdict_end(&refusal);
	if (!error)
		return 0;
	if (ending_since())
		return clew_recorder_check_ending(message);
	if (!named || !is_of_program(error) ||
	    !clew_refusals_add(&recorder->refusals, refusal.row, refusal.reason))
		return clew_say_refused(message, LOAD_REFUSED, error);
	count = 0;
	bpf_object__for_each_program (program, recorder->bpf->obj) {
		if (!strcmp(bpf_program__name(program), refusal.row->name))
			break;
		taken[count++] = true;
	}
	return 1;
}

void load_drop(struct clew_recorder *recorder)
{
	clew_bpf__destroy(recorder->bpf);
	recorder->bpf = NULL;
}

/*
 * Finds the programs that the kernel refuses, after it has refused one. libbpf ends at the first
 * of them, so each takes an object of its own, but no program is verified twice. The rings are
 * small meanwhile.
 */
static int find_refused(struct clew_recorder *recorder, const struct clew_recorder_options *options,
			bool *taken, struct clew_message *message)
{
	size_t ring_size = recorder->rings.size;
	int r;

	recorder->rings.size = clew_ring_size(1, recorder->cpu_count);
	do {
		load_drop(recorder);
		r = try(recorder, options, taken, true, message);
	} while (r > 0);
	recorder->rings.size = ring_size;
	load_drop(recorder);
	return r;
}

/* Loads what the kernel takes. 0 or -errno. */
int load_taken(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	       bool *taken, struct clew_message *message)
{
	int r = try_together(recorder, options, message);
	size_t known;

	while (r > 0) {
		known = recorder->refusals.count;
		r = find_refused(recorder, options, taken, message);
		/* It refuses none of them by itself. */
		if (!r && recorder->refusals.count == known)
			r = try(recorder, options, taken, false, message);
		else if (!r)
			r = try_together(recorder, options, message);
	}
	return r;
}
