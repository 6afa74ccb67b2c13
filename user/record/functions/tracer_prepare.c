/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prepares the kernel side for functions before it is loaded: the sizes of its maps, and which of
 * its filters are in use.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "clew.skel.h"
#include "record/functions/probe.h"
#include "record/functions/probe_event.h"
#include "record/functions/traced_kernel.h"
#include "record/functions/traced_limit.h"
#include "record/functions/tracer.h"
#include "record/functions/tracer_state.h"

#define PLACES (4 * CLEW_FUNCTION_SITES) /* of probes that are trace events, dropped ones too */

/* True if probes in programs are needed. */
static bool has_user_functions(const struct clew_recorder_options *options)
{
	return options->function_count || options->lock_object_count || options->point_count;
}

int tracer_possible(const struct clew_recorder_options *options, bool *ret_by_events,
		    struct clew_message *message)
{
	struct clew_message why;

	*ret_by_events = false;
	if (options->kernel_function_count && traced_kernel_possible(&why))
		return clew_say(message, -ENOTSUP, "-k: %s: leave it out", why.text);
	if (!has_user_functions(options))
		return 0;
	if (clew_probe_possible())
		return clew_say(message, -ENOTSUP,
				"this kernel takes no probes in programs: see `clew doctor`");
	*ret_by_events = options->trace_events || !clew_probe_multi();
	return *ret_by_events && clew_probe_events_prepare(message) ? -ENOTSUP : 0;
}

void clew_tracer_prepare(const struct clew_tracer *tracer, struct clew_bpf *bpf,
			 const struct clew_recorder_options *options, unsigned cpus)
{
	bool has_values;

	if (!tracer)
		return;
	if (options->kernel_function_count && !traced_kernel_multi())
		clew_probe_prepare_singly(bpf->progs.clew_kernel_function);
	bpf->rodata->function_events = tracer->by_events;
	if (tracer->by_events)
		bpf_map__set_max_entries(bpf->maps.clew_function_places, PLACES);
	else if (has_user_functions(options))
		clew_probe_prepare_multi(bpf->progs.clew_function);
	if (options->functions_percent)
		traced_limit_prepare(bpf, cpus);
	bpf_map__set_max_entries(bpf->maps.clew_function_sites, CLEW_FUNCTION_SITES);
	/* Any glob with parentheses may turn out to have values. */
	has_values = options->lock_object_count || options->point_count;
	for (size_t i = 0; i < options->function_count; i++)
		has_values |= strchr(options->functions[i], '(') != NULL;
	if (has_values) {
		bpf_map__set_max_entries(bpf->maps.clew_function_values, CLEW_FUNCTION_SITES);
		bpf_map__set_max_entries(bpf->maps.clew_function_unread_texts,
					 CLEW_FUNCTION_UNREAD_TEXTS);
	}
	for (size_t i = 0; i < tracer->count; i++)
		bpf->rodata->filter_functions |= tracer->chosen[i].pid != 0;
}
