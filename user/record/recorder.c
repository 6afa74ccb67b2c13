/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recording from load to close; recorder.h has the order of the steps.
 *
 * Invariant: programs are attached before the word `enabled` is set and
 * detached after it is cleared. It alone decides whether they record, so that a
 * recording starts and stops on all CPUs at once.
 */
#include "record/recorder.h"
#include "arch/machine.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/thread.h"
#include "clew.skel.h"
#include "opener/opener.h"
#include "record/disks.h"
#include "record/file.h"
#include "record/functions/announce.h"
#include "record/functions/runtimes.h"
#include "record/functions/tracer.h"
#include "record/group_names.h"
#include "record/interrupt.h"
#include "record/load.h"
#include "record/meta.h"
#include "record/modules.h"
#include "record/passes.h"
#include "record/room.h"
#include "record/stacks/addresses.h"
#include "record/stacks/direct_map.h"
#include "record/stacks/stacks.h"
#include "record/stores.h"
#include "record/stream/clock.h"
#include "record/stream/cost.h"
#include "record/stream/drain.h"
#include "record/stream/kernel.h"
#include "record/stream/ledger.h"
#include "record/stream/outlet.h"
#include "record/stream/recorder_state.h"
#include "record/stream/steps.h"
#include "record/stream/takers.h"
#include "record/stream/user_stream.h"
#include "record/ticks.h"
#include "store/target.h"
#include "symbol/elf/kernel.h"

/* Flags of a task, as in sleeping_flags. */
#define RESUME_NEW (1UL << 0)
#define RESUME_OLD (1UL << CLEW_FLAG_RESUME)
#define RSEQ_APART (1UL << 11)

#define QUICK_MOST (128u << 20) /* bytes of quick chunks */
/* ns: a recording has ended 2 s after the first signal, also on a busy machine. */
#define QUICK_TIME 1000000000u

/*
 * Opens the capture file, connects the takers, and writes the file's metadata.
 */
static int open_capture(struct clew_recorder *recorder, const struct clew_recorder_options *options,
			struct clew_message *message)
{
	struct clew_writer_options writer_options = {.size = sizeof(writer_options),
						     .sync = options->sync,
						     .waits = true,
						     .cpus = recorder->cpu_count,
						     .quick = options->goes_on ? 0 : QUICK_MOST,
						     .quick_time = QUICK_TIME};
	int error = clew_writer_open(options->output, &writer_options, &recorder->files.writer);

	if (error)
		return clew_say_unwritable(recorder, message, options->output, error);
	recorder->user.outlets.now = (struct outlet){.writer = recorder->files.writer, .names = 1};
	clew_takers_add_writer(recorder);
	if (clew_takers_add(recorder, options->takers, options->taker_count))
		return clew_say(message, -EINVAL, "records go to %d takers at most: give fewer",
				TAKERS_MOST - 3);
	error = clew_addresses_open(recorder, &recorder->addresses);
	if (error)
		return clew_say(message, error, "names of addresses cannot be found: %s: try again",
				strerror(-error));
	error = clew_group_names_open(recorder, &recorder->group_names);
	if (error)
		return clew_say(message, error,
				"names of containers cannot be found: %s: try again",
				strerror(-error));
	error = options->goes_on ? clew_file_name_recording(recorder) : 0;
	if (!error)
		error = clew_meta_write(recorder, recorder->files.writer);
	if (!error)
		error = clew_meta_clock(recorder, recorder->files.writer);
	return error ? clew_say_unwritable(recorder, message, options->output, error) : 0;
}

/* Attaches what depends on the options and on what runs here. */
static int attach_more(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_message *message)
{
	int error;

	/* The rings are there, so that nothing is lost. */
	recorder->bpf->bss->identifying = 1;
	clew_direct_map_find(recorder->bpf);
	if (options->found_only)
		return 0;
	error = clew_tracer_open(recorder->tracer, options, message);
	if (!error)
		error = clew_recorder_check_ending(message);
	if (!error)
		error = clew_runtimes_open(recorder, options, &recorder->runtimes, message);
	if (!error)
		error = clew_stacks_open(recorder, &recorder->stacks, message);
	if (!error)
		error = clew_announce_open(recorder, options->program, &recorder->announcer,
					   message);
	if (error)
		return error;
	clew_stores_open(recorder);
	error = clew_recorder_check_ending(message);
	if (error)
		return error;
	clew_modules_open(recorder, !strcmp(recorder->features.page_cache, "on"));
	clew_cost_add(recorder, recorder->bpf->obj);
	return 0;
}

static int load_and_attach(struct clew_recorder *recorder,
			   const struct clew_recorder_options *options,
			   struct clew_message *message)
{
	int error = clew_load(recorder, options, message);

	if (!error)
		error = open_capture(recorder, options, message);
	if (!error)
		error = clew_drain_open(recorder, message);
	if (!error)
		error = clew_recorder_check_ending(message);
	return error ?: attach_more(recorder, options, message);
}

int clew_recorder_open(const struct clew_recorder_options *options,
		       struct clew_recorder **ret_recorder, struct clew_message *message)
{
	struct clew_recorder *recorder;
	struct clew_recorder_summary summary;
	struct clew_message ignored;
	int error, interrupted, cpus = clew_kernel_cpus();

	if (cpus <= 0)
		return clew_say(message, -ENOTSUP,
				"the number of CPUs is not known: %s: mount /sys", strerror(-cpus));
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return clew_say(message, -ENOMEM, "no memory for the recorder: free some");
	store_lock_init(&recorder->user.lock);
	recorder->cpu_count = cpus;
	recorder->rings.size = clew_ring_size(options->ring_size, recorder->cpu_count);
	recorder->options = *options;
	recorder->files.states_again = options->goes_on || options->keyframe;
	recorder->files.names = 1;
	recorder->files.summary.balanced = true;
	recorder->interrupt = clew_interrupt_new();

	error = load_and_attach(recorder, options, message);
	if (error) {
		/* A step that was broken off may have failed for that. */
		interrupted = clew_recorder_check_ending(message);
		clew_recorder_stop(recorder, &summary, &ignored);
		return interrupted ?: error;
	}
	*ret_recorder = recorder;
	return 0;
}

/*
 * The first pass has found the flags that all sleeping threads with rseq share.
 * TIF_NOTIFY_RESUME is CLEW_FLAG_RESUME in older kernels, and bit 0 since all architectures
 * number these flags alike; TIF_SIGPENDING is the next one. Since 6.19 rseq
 * has a flag of its own, TIF_RSEQ.
 */
static void find_flags(struct clew_bpf *bpf)
{
	uint64_t common = bpf->data->sleeping_flags, first = common & (RESUME_NEW | RESUME_OLD);

	if (first == RESUME_NEW || first == RESUME_OLD) {
		bpf->bss->return_flag = first;
		bpf->bss->signal_flag = first == RESUME_NEW ? first << 1 : 1UL << CLEW_FLAG_SIGNAL;
	} else if (!first && common & RSEQ_APART) {
		bpf->bss->return_flag = RSEQ_APART;
		bpf->bss->signal_flag = RESUME_NEW << 1;
	}
}

int clew_recorder_start(struct clew_recorder *recorder, struct clew_message *message)
{
	int error;

	recorder->cost.start_cpu_time = clew_cpu_time();
	error = clew_drain_start(recorder, message);
	if (!error)
		error = clew_iterate_tasks(recorder, CLEW_PASS_IDENTIFY, message);
	if (!error)
		error = clew_recorder_check_ending(message);
	if (error)
		return error;
	find_flags(recorder->bpf);
	clew_missed_runs(recorder, recorder->ledger.missed_before);
	recorder->start = clew_now();
	recorder->started = true;
	recorder->bpf->bss->enabled = 1;
	error = clew_iterate_tasks(recorder, CLEW_PASS_START, message);
	if (!error)
		error = clew_ends_find(recorder, false, message);
	if (!error && clew_meta_number(recorder->files.writer, "start", recorder->start))
		error = clew_say_unwritable(recorder, message, "the capture",
					    clew_writer_error(recorder->files.writer));
	recorder->files.next_keyframe = recorder->start + recorder->options.keyframe;
	clew_takers_begin(recorder, recorder->start);
	clew_user_round(recorder, clew_now(), true);
	atomic_store(&recorder->user.current, true);
	if (!error)
		error = clew_recorder_check_ending(message);
	clew_interrupt_free(recorder->interrupt);
	recorder->interrupt = NULL;
	return error;
}

int clew_recorder_keep(struct clew_recorder *recorder, struct clew_message *message)
{
	int error = clew_writer_begin(recorder->files.writer);

	return error ? clew_say_unwritable(recorder, message, "the capture", error) : 0;
}

int clew_recorder_tick(struct clew_recorder *recorder)
{
	uint64_t now = clew_now();

	if (now >= recorder->files.next_clock)
		clew_meta_clock(recorder, recorder->files.writer);
	clew_cost_tick(recorder, now);
	clew_modules_tick(recorder);
	clew_stores_tick(recorder);
	clew_ticks_vary(recorder);
	clew_ends_look(recorder, now);
	clew_tracer_tick(recorder->tracer, now);
	return clew_writer_error(recorder->files.writer);
}

static int finish(struct clew_recorder *recorder, uint64_t end,
		  struct clew_recorder_summary *ret_summary, struct clew_message *message)
{
	int error = clew_iterate_tasks(recorder, CLEW_PASS_STOP, message), result;

	if (!error)
		error = clew_ends_find(recorder, true, message);
	clew_disks_read(recorder, end);
	clew_user_round(recorder, clew_now(), true);
	clew_takers_end(recorder, end);
	recorder->files.summary.left_alone = ret_summary->left_alone;
	recorder->files.summary.runtimes = ret_summary->runtimes;
	recorder->files.summary.late_files = clew_opener_late();
	recorder->files.summary.duration = end - recorder->start;
	if (ret_summary->left_alone)
		clew_writer_meta(recorder->files.writer, "left_alone", ret_summary->left_alone);
	if (ret_summary->runtimes)
		clew_writer_meta(recorder->files.writer, "runtimes", ret_summary->runtimes);
	if (recorder->files.summary.late_files)
		clew_meta_number(recorder->files.writer, "late_files",
				 recorder->files.summary.late_files);
	result = clew_file_end_last(recorder, end);
	*ret_summary = recorder->files.summary;
	if (recorder->options.verify)
		ret_summary->verified_switches = recorder->bpf->bss->verify_switches;
	if (!error && result)
		error = clew_say_unwritable(recorder, message, "the capture", result);
	return error;
}

void clew_recorder_summary_done(struct clew_recorder_summary *summary)
{
	for (size_t i = 0; i < summary->dropped_count; i++)
		free(summary->dropped[i].name);
	free(summary->dropped);
	free(summary->left_alone);
	free(summary->runtimes);
}

int clew_recorder_stop(struct clew_recorder *recorder, struct clew_recorder_summary *ret_summary,
		       struct clew_message *message)
{
	uint64_t end = 0;
	int error = 0, result, before;

	memset(ret_summary, 0, sizeof(*ret_summary));
	clew_interrupt_free(recorder->interrupt);
	before = getpriority(PRIO_PROCESS, 0);
	ending_set(true);
	store_thread_hurry();
	atomic_store(&recorder->user.current, false);
	if (recorder->bpf && recorder->bpf->bss) {
		recorder->bpf->bss->enabled = 0;
		recorder->bpf->bss->identifying = 0;
		end = clew_now();
		clew_wait_for_programs();
		clew_stacks_of_sleepers(recorder->stacks);
	}
	ret_summary->left_alone = clew_announce_close(recorder->announcer);
	clew_tracer_close(recorder->tracer);
	ret_summary->runtimes = clew_runtimes_close(recorder->runtimes);
	clew_drain_stop(recorder);
	clew_stacks_stop(recorder->stacks);
	clew_addresses_stop(recorder->addresses);
	clew_group_names_stop(recorder->group_names);
	if (recorder->started)
		error = finish(recorder, end, ret_summary, message);
	if (recorder->files.writer) {
		result = clew_writer_close(recorder->files.writer);
		if (!error && result)
			error = clew_say_unwritable(recorder, message, "the capture", result);
	}
	clew_modules_close(recorder);
	clew_stores_close(recorder);
	clew_ticks_close(recorder);
	clew_stacks_close(recorder->stacks);
	clew_addresses_close(recorder->addresses);
	clew_group_names_close(recorder->group_names);
	if (recorder->bpf)
		clew_bpf__detach(recorder->bpf);
	clew_drain_close(recorder);
	if (recorder->rings.cpus)
		munmap(recorder->rings.cpus, recorder->rings.cpus_size);
	if (recorder->rings.slots)
		munmap(recorder->rings.slots, recorder->rings.slots_size);
	clew_bpf__destroy(recorder->bpf);
	clew_kernel_symbols_free(recorder->symbols);
	clew_opener_close();
	ending_set(false);
	setpriority(PRIO_PROCESS, 0, before);
	pthread_mutex_destroy(&recorder->user.lock);
	vector_done(&recorder->user.kept);
	vector_done(&recorder->hidden);
	free(recorder->ledger.counted);
	free(recorder->features.without);
	free(recorder);
	return error;
}
