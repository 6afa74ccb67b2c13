/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loading the kernel side: the kernel verifies the programs, and they are attached.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clew.skel.h"
#include "record/filter.h"
#include "record/functions/tracer.h"
#include "record/load.h"
#include "record/load_parts.h"
#include "record/stores.h"
#include "record/stream/kernel.h"
#include "record/stream/programs.h"
#include "record/stream/recorder_state.h"
#include "record/stream/refusals.h"
#include "record/stream/steps.h"
#include "record/ticks.h"
#include "symbol/elf/kernel.h"

static void *map_memory(struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int map_rings(struct clew_recorder *recorder, struct clew_message *message)
{
	struct clew_bpf *bpf = recorder->bpf;

	recorder->rings.cpus_size = sizeof(struct clew_cpu_state) * recorder->cpu_count;
	recorder->rings.cpus = map_memory(bpf->maps.clew_cpus, recorder->rings.cpus_size);
	recorder->rings.slots = map_memory(bpf->maps.clew_switches, recorder->rings.slots_size);
	if (!recorder->rings.cpus || !recorder->rings.slots)
		return clew_say(message, -errno,
				"the rings cannot be mapped: %s: free some memory, or give a "
				"smaller --ring-size",
				strerror(errno));
	return 0;
}

/*
 * Attaches what is loaded, but for programs that wait for something to be attached to. If the
 * kernel refuses some, they are added to the refusals, and all have to be loaded again, as the
 * programs' constants say what is not seen. Returns 1 then, or 0 or -errno.
 */
static int attach(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		  struct clew_message *message)
{
	int r = clew_filter_fill(recorder->bpf, options, message);

	if (r)
		return r;
	clew_stores_prepare(recorder->bpf);
	r = clew_attach(recorder->bpf, &recorder->refusals);
	if (!r)
		r = clew_attach_ticks(recorder);
	if (!r)
		r = clew_attach_mappings(recorder);
	return r < 0 ? clew_say_refused(message, "the programs cannot be attached", r) : r;
}

static int check_permitted(struct clew_message *message)
{
	if (!clew_kernel_privileged())
		return clew_say(message, -EPERM,
				"recording is not permitted: run as root (CAP_BPF and "
				"CAP_PERFMON)");
	/* The kernel would refuse one program after the other. */
	if (clew_kernel_is_confidential())
		return clew_say(message, -EPERM,
				"the kernel is locked down for confidentiality, and shows programs "
				"nothing: boot it without lockdown=confidentiality");
	/* libbpf looks for a function that came with 6.2 in the modules, too, and gives up there.
	 */
	if (!clew_kernel_is(6, 2) && clew_kernel_hides_modules())
		return clew_say(message, -EPERM,
				"before Linux 6.2 recording needs CAP_SYS_ADMIN, too: run as root");
	return 0;
}

int clew_load_programs(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_message *message)
{
	bool taken[LOAD_PROGRAMS_MOST] = {};
	int r = check_permitted(message);

	if (r)
		return r;
	recorder->refusals.count = 0;
	do {
		clew_ticks_close(recorder);
		load_drop(recorder);
		r = load_taken(recorder, options, taken, message);
		if (!r)
			r = attach(recorder, options, message);
	} while (r > 0);
	return r;
}

int clew_say_without(struct clew_recorder *recorder)
{
	char *words = clew_refusals_text(&recorder->refusals, "; "), *line = NULL;

	free(recorder->features.without);
	recorder->features.without = clew_refusals_text(&recorder->refusals, "\n");
	if (!recorder->features.without || !words ||
	    asprintf(&line, "recording: yes, without %s", words) < 0) {
		free(words);
		return -ENOMEM;
	}
	if (recorder->options.say)
		recorder->options.say(line);
	free(words);
	free(line);
	return 0;
}

/* Says that messages were asked for, if this kernel has no tracepoint at them. */
static const char *choose_messages_kept(const struct clew_recorder *recorder,
					const struct clew_recorder_options *options)
{
	if (!options->messages)
		return "off";
	if (bpf_program__autoload(recorder->bpf->progs.clew_sock_send_length))
		return "on";
	if (options->messages_asked && options->say &&
	    !clew_refusals_lost_feature(&recorder->refusals, "messages"))
		options->say(
			"this kernel does not show what is sent and received (Linux 6.3 does): "
			"requests are those that a thread waits for");
	return "refused";
}

static const char *network_kept(const struct clew_recorder *recorder,
				const struct clew_recorder_options *options)
{
	if (options->network == CLEW_NETWORK_OFF)
		return "off";
	if (!bpf_program__autoload(recorder->bpf->progs.clew_sock_recv_length))
		return "refused";
	return options->network == CLEW_NETWORK_ALL ? "all" : "outside";
}

int clew_load(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	      struct clew_message *message)
{
	struct clew_refusals *refusals = &recorder->refusals;
	int error = check_permitted(message);

	if (!error && options->kernel_function_count)
		clew_kernel_symbols_load(&recorder->symbols);
	/* A wrong name is said at once: loading takes a second. */
	if (!error)
		error = clew_tracer_choose(recorder, options, &recorder->tracer, message);
	if (!error)
		error = clew_recorder_check_ending(message);
	if (!error)
		error = clew_load_programs(recorder, options, message);
	if (error)
		return error;
	recorder->features.page_cache = options->no_page_cache		     ? "off"
					: clew_refusals_page_cache(refusals) ? "refused"
									     : "on";
	recorder->features.stacks = !options->stack_threshold ? "off"
				    : clew_refusals_lost_feature(refusals, "stacks of waits")
					    ? "refused"
					    : "on";
	recorder->features.messages = choose_messages_kept(recorder, options);
	recorder->features.network = network_kept(recorder, options);
	if (refusals->count && clew_say_without(recorder))
		return clew_say(message, -ENOMEM, "no memory for the recorder: free some");
	return map_rings(recorder, message);
}
