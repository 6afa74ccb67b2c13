/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaches the programs of a loaded object, and starts the ticks. A program that the kernel does
 * not attach is refused as one that it does not load.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clew.skel.h"
#include "record/load.h"
#include "record/stacks/mappings.h"
#include "record/stream/program_table.h"
#include "record/stream/recorder_state.h"
#include "record/ticks.h"

/* Adds a refusal and returns 1, or -errno: it is not for the program that this cannot be done. */
static int refuse(struct clew_refusals *refusals, const char *name, const char *what, int error)
{
	/* Debian's kernels have the setting at 3, as others have not. */
	const char *why = error == -EACCES
				  ? "CAP_SYS_ADMIN or kernel.perf_event_paranoid 2 is needed"
				  : strerror(-error);
	char reason[160];

	if (error == -EMFILE || error == -ENOMEM)
		return error;
	snprintf(reason, sizeof(reason), "%s: %s: %s", name, what, why);
	return clew_refusals_add(refusals, clew_program_row(name), reason) ? 1 : error;
}

/* True if the section says what the program is attached to; others wait for a target. */
static bool has_target(const struct clew_program_row *row)
{
	return strchr(row->section, '/');
}

/*
 * Programs that others go on into by a tail call, without a link of their own. One that is not
 * loaded leaves its place empty: the call does nothing then.
 */
static int place_continued(struct clew_bpf *bpf, struct clew_refusals *refusals)
{
	const struct {
		struct bpf_program *program;
		const struct bpf_map *map;
	} places[] = {
		{bpf->progs.clew_waited, bpf->maps.clew_waited_program},
		{bpf->progs.clew_waker, bpf->maps.clew_waker_program},
	};
	const uint32_t zero = 0;
	int r = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && r >= 0; i++) {
		const int descriptor = bpf_program__fd(places[i].program);

		bpf_program__set_autoattach(places[i].program, false);
		if (descriptor >= 0 && bpf_map__update_elem(places[i].map, &zero, sizeof(zero),
							    &descriptor, sizeof(descriptor), 0))
			r = refuse(refusals, bpf_program__name(places[i].program),
				   "no program can go on into it", -errno);
	}
	return r;
}

int clew_attach(struct clew_bpf *bpf, struct clew_refusals *refusals)
{
	int r;

	clew_refuse_attach_for_test(bpf->obj);
	r = place_continued(bpf, refusals);
	if (r < 0)
		return r;
	for (int i = 0; i < bpf->skeleton->prog_cnt; i++) {
		const struct bpf_prog_skeleton *entry = &bpf->skeleton->progs[i];

		if (bpf_program__fd(*entry->prog) < 0 || !bpf_program__autoattach(*entry->prog) ||
		    !has_target(clew_program_row(entry->name)))
			continue;
		*entry->link = bpf_program__attach(*entry->prog);
		if (*entry->link)
			continue;
		r = refuse(refusals, entry->name, "it cannot be attached", -errno);
		if (r < 0)
			return r;
	}
	return r;
}

int clew_attach_mappings(struct clew_recorder *recorder)
{
	struct clew_mappings *mappings;
	int error;

	if (bpf_program__fd(recorder->bpf->progs.clew_announced) < 0)
		return 0;
	error = clew_mappings_open(1, &mappings);
	if (!error)
		clew_mappings_close(mappings);
	return error == -EACCES || error == -EPERM ? refuse(&recorder->refusals, "clew_announced",
							    "new programs are not seen", error)
						   : 0;
}

int clew_attach_ticks(struct clew_recorder *recorder)
{
	bool sampled = bpf_program__fd(recorder->bpf->progs.clew_sample) >= 0;
	int error = clew_ticks_open(recorder);

	return error ? refuse(&recorder->refusals, sampled ? "clew_sample" : "clew_tick",
			      "no CPU has ticks", error)
		     : 0;
}
