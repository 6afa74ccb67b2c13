/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs for file systems whose kernel modules are loaded during the
 * recording.
 *
 * A second instance of the kernel side loads only the programs that the first
 * could not load. It shares all maps with the first but the constants, some of
 * which depend on the new module.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "clew.skel.h"
#include "record/load.h"
#include "record/modules.h"
#include "record/stream/cost.h"
#include "record/stream/kernel.h"
#include "record/stream/programs.h"
#include "record/stream/recorder_state.h"
#include "record/together.h"

static bool share_maps(struct clew_bpf *bpf, const struct clew_bpf *first)
{
	struct bpf_map *map, *of;

	bpf_object__for_each_map (map, bpf->obj) {
		of = bpf_object__find_map_by_name(first->obj, bpf_map__name(map));
		if (map == bpf->maps.rodata || !of)
			continue;
		if (bpf_map__reuse_fd(map, bpf_map__fd(of)))
			return false;
	}
	return true;
}

/* The programs that the kernel could not take at the start and can take now. NULL: there are none.
 */
static struct clew_bpf *open_more(struct clew_recorder *recorder)
{
	const struct clew_program_choice choice = {.page_cache = true,
						   .refusals = &recorder->refusals};
	struct clew_kernel_symbols *symbols = NULL;
	struct clew_bpf *bpf = clew_load_open();
	struct bpf_program *program, *first;
	struct clew_message ignored;
	unsigned more = 0;
	struct btf *btf;
	int error;

	btf = bpf ? clew_kernel_btf(&ignored) : NULL;
	if (!btf)
		goto fail;
	memcpy(bpf->rodata, recorder->bpf->rodata, sizeof(*bpf->rodata));
	error = clew_programs_choose(bpf, btf, &choice);
	btf__free(btf);
	if (error)
		goto fail;
	clew_kernel_symbols_load(&symbols);
	clew_programs_addresses(bpf, symbols);
	clew_kernel_symbols_free(symbols);
	bpf_object__for_each_program (program, bpf->obj) {
		first = bpf_object__find_program_by_name(recorder->bpf->obj,
							 bpf_program__name(program));
		if (first && bpf_program__fd(first) >= 0)
			bpf_program__set_autoload(program, false);
		more += bpf_program__autoload(program);
	}
	clew_refuse_load_for_test(bpf->obj);
	if (more && share_maps(bpf, recorder->bpf))
		return bpf;
fail:
	clew_bpf__destroy(bpf);
	return NULL;
}

/* Loads and attaches them, without those that the kernel refuses. NULL: none is left. */
static struct clew_bpf *load_more(struct clew_recorder *recorder)
{
	struct clew_refusal refusal;
	struct clew_bpf *bpf;
	bool refused;
	int error;

	while ((bpf = open_more(recorder))) {
		clew_verdict_begin();
		clew_together_find(bpf->obj);
		error = clew_bpf__load(bpf);
		refused = clew_verdict_end(&refusal) && error;
		if (!error)
			error = clew_attach(bpf, &recorder->refusals);
		if (!error) {
			if (bpf_program__fd(bpf->progs.clew_cache_store_user) >= 0)
				recorder->bpf->bss->stores_noted = 1;
			break;
		}
		clew_bpf__destroy(bpf);
		if (error < 0 && (!refused || !clew_refusals_add(&recorder->refusals, refusal.row,
								 refusal.reason)))
			return NULL;
	}
	return bpf;
}

void clew_modules_open(struct clew_recorder *recorder, bool page_cache)
{
	recorder->modules.seen = page_cache ? clew_programs_modules() : ~0u;
}

void clew_modules_tick(struct clew_recorder *recorder)
{
	size_t refused = recorder->refusals.count;
	struct clew_bpf *bpf;
	unsigned now;

	if (recorder->modules.seen == ~0u ||
	    recorder->modules.count ==
		    sizeof(recorder->modules.objects) / sizeof(recorder->modules.objects[0]))
		return;
	now = clew_programs_modules() | recorder->modules.seen;
	if (now == recorder->modules.seen)
		return;
	recorder->modules.seen = now;
	bpf = load_more(recorder);
	if (recorder->refusals.count > refused && !clew_say_without(recorder))
		clew_writer_meta(recorder->files.writer, "without", recorder->features.without);
	if (!bpf)
		return;
	recorder->modules.objects[recorder->modules.count++] = bpf;
	clew_cost_add(recorder, bpf->obj);
}

void clew_modules_close(struct clew_recorder *recorder)
{
	for (unsigned i = 0; i < recorder->modules.count; i++)
		clew_bpf__destroy(recorder->modules.objects[i]);
	recorder->modules.count = 0;
}
