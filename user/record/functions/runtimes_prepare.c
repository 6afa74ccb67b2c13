/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prepares the kernel side for runtimes before it is loaded. */
#include <bpf/libbpf.h>
#include <errno.h>

#include "clew.skel.h"
#include "record/functions/announce.h"
#include "record/functions/probe.h"
#include "record/functions/runtimes.h"

int clew_runtimes_prepare(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			  struct clew_message *message)
{
	if (!clew_records_runtimes(options))
		return 0;
	if (clew_probe_possible())
		return clew_say(message, -ENOTSUP,
				"this kernel takes no probes in programs: see `clew doctor`");
	if (clew_probe_multi())
		clew_probe_prepare_multi(bpf->progs.clew_moment);
	bpf_map__set_max_entries(bpf->maps.clew_moment_sites, CLEW_MOMENT_SITES);
	bpf_map__set_max_entries(bpf->maps.clew_moment_keeps, CLEW_MOMENT_KEEPS);
	return 0;
}
