/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that note where a store to a mapped file faults. Only xfs needs
 * them: it says that a page is stored to, but not which. Since they run at each
 * page fault of the machine, they are attached only if an xfs is mounted, or at
 * the first tick after an xfs has had such a store. Stores before that are
 * counted as missed.
 */
#include <bpf/libbpf.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include "clew.skel.h"
#include "record/stores.h"
#include "record/stream/recorder_state.h"

static bool is_mounted(const char *table, const char *kind)
{
	FILE *mounts = setmntent(table, "r");
	struct mntent *mount;
	bool found = false;

	if (!mounts)
		return false;
	while (!found && (mount = getmntent(mounts)))
		found = !strcmp(mount->mnt_type, kind);
	endmntent(mounts);
	return found;
}

static void attach(struct clew_recorder *recorder)
{
	struct bpf_program *const programs[] = {recorder->bpf->progs.clew_cache_store_user,
						recorder->bpf->progs.clew_cache_store_kernel};
	bool all = true;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!recorder->stores[i])
			recorder->stores[i] = bpf_program__attach(programs[i]);
		all &= recorder->stores[i] != NULL;
	}
	/* Without both programs, stores continue to be counted as missed. */
	recorder->bpf->bss->stores_noted = all;
}

void clew_stores_prepare(struct clew_bpf *bpf)
{
	bpf_program__set_autoattach(bpf->progs.clew_cache_store_user, false);
	bpf_program__set_autoattach(bpf->progs.clew_cache_store_kernel, false);
}

void clew_stores_tick(struct clew_recorder *recorder)
{
	if (recorder->bpf->bss->stores_wanted && !recorder->bpf->bss->stores_noted)
		attach(recorder);
}

void clew_stores_open(struct clew_recorder *recorder)
{
	if (bpf_program__fd(recorder->bpf->progs.clew_cache_store_user) >= 0 &&
	    (is_mounted("/proc/self/mounts", "xfs") || is_mounted("/proc/1/mounts", "xfs")))
		attach(recorder);
}

void clew_stores_close(struct clew_recorder *recorder)
{
	for (size_t i = 0; i < sizeof(recorder->stores) / sizeof(recorder->stores[0]); i++)
		bpf_link__destroy(recorder->stores[i]);
}
