/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where stores to mapped files fault. Only xfs, which tells that one of its pages
 * is stored to but not which, needs that, and it costs each page fault of the
 * machine a program: they are attached where an xfs is mounted, or else at the
 * next look after one has told of a store. What is stored until then is counted as
 * missed.
 */
#include <bpf/libbpf.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#include "clew.skel.h"
#include "record/internal.h"

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
	/* If not, stores go on being counted as missed. */
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
