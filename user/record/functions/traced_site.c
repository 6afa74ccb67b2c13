/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers sites, and writes them to the BPF maps and to the capture. Sites that are found before
 * both exist are written together later.
 */
#include "record/functions/traced_site.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clew.skel.h"
#include "record/stream/recorder_state.h"
#include "record/stream/user_stream.h"
#include "store/capture.h"

int traced_site_fill(const struct traced *traced, uint32_t number)
{
	int map;

	if (!traced->begun)
		return 0;
	map = bpf_map__fd(traced->recorder->bpf->maps.clew_function_sites);
	return bpf_map_update_elem(map, &number, traced_site_at(traced, number), BPF_ANY) ? -errno
											  : 0;
}

static int write_values(const struct traced *traced, uint32_t number,
			const struct clew_function_values *values)
{
	int map = bpf_map__fd(traced->recorder->bpf->maps.clew_function_values);

	return bpf_map_update_elem(map, &number, values, BPF_ANY) ? -errno : 0;
}

int traced_site_values(struct traced *traced, uint32_t number,
		       const struct clew_function_values *values)
{
	struct traced_site_values *all;

	if (traced->begun)
		return write_values(traced, number, values);
	traced->values.item = sizeof(*all);
	if (vector_reserve(&traced->values, traced->values.count + 1) < 0)
		return -ENOMEM;
	all = traced->values.data;
	all[traced->values.count++] =
		(struct traced_site_values){.number = number, .values = *values};
	return 0;
}

int traced_sites_begin(struct traced *traced)
{
	const struct traced_site_values *values = traced->values.data;
	int r = 0;

	traced->begun = true;
	for (size_t i = 0; r >= 0 && i < traced->values.count; i++)
		r = write_values(traced, values[i].number, &values[i].values);
	for (size_t i = 0; r >= 0 && i < traced->sites.count; i++)
		r = traced_site_fill(traced, (uint32_t)i);
	vector_done(&traced->values);
	return r < 0 ? r : clew_put_user_first(traced->recorder);
}

int traced_site_put(const struct traced *traced, const struct traced_owner *owner, uint32_t number,
		    uint64_t offset, unsigned class, unsigned below)
{
	struct {
		struct clew_site_record site;
		char words[8192 + CLEW_WANTED_TEXT];
	} record = {.site = {
			    .header = {.cpu = CLEW_STREAM_USER, .kind = CLEW_KIND_SITE},
			    .offset = offset,
			    .start = owner->symbol->offset,
			    .length = owner->symbol->size,
			    .function = owner->number,
			    .site = (uint16_t)number,
			    .roles = traced_site_at(traced, number)->roles,
			    .below = (uint16_t)below,
			    .class = (uint8_t) class,
			    .way = owner->way,
			    .build_id_size = (uint8_t)owner->build_id_size,
		    }};
	int path = snprintf(record.words, 4096, "%s", owner->path) + 1, name;
	char *arguments;

	path = path > 4096 ? 4096 : path;
	name = snprintf(record.words + path, 4000, "%s", owner->symbol->name) + 1;
	name = name > 4000 ? 4000 : name;
	arguments = record.words + path + name;
	if (owner->wanted)
		clew_wanted_write(owner->wanted, arguments);
	record.site.size = (uint16_t)((size_t)(path + name) + strlen(arguments) + 1);
	if (owner->build_id_size)
		memcpy(record.site.build_id, owner->build_id, owner->build_id_size);
	return clew_put_user_kept(traced->recorder, &record.site.header,
				  sizeof(record.site) + record.site.size);
}

int traced_site_new(struct traced *traced, const struct clew_function_site *site,
		    uint32_t *ret_number)
{
	int r = vector_reserve(&traced->sites, traced->sites.count + 1);

	if (r < 0)
		return r;
	if (traced->sites.count >= CLEW_FUNCTION_SITES)
		return -ENOSPC;
	traced->shares.item = sizeof(struct traced_share);
	r = vector_reserve(&traced->shares, traced->shares.count + 1);
	if (r < 0)
		return r;
	*traced_share_of(traced, traced->shares.count++) =
		(struct traced_share){.function = TRACED_NOBODY};
	*ret_number = (uint32_t)traced->sites.count++;
	*traced_site_at(traced, *ret_number) = *site;
	return 0;
}

int traced_site_place(struct vector *places, const struct clew_probe_place *place)
{
	int r;

	places->item = sizeof(*place);
	r = vector_reserve(places, places->count + 1);
	if (r >= 0)
		((struct clew_probe_place *)places->data)[places->count++] = *place;
	return r;
}

void traced_site_share(struct traced *traced, const struct traced_owner *owner,
		       const struct clew_function_site *site, unsigned class, uint32_t number)
{
	const uint16_t own = CLEW_SITE_ENTER | CLEW_SITE_RET | CLEW_SITE_TAIL;
	struct traced_share *share = traced_share_of(traced, number);
	bool first = !share->ns;

	share->ns = clew_probe_cost_of(&traced->cost, class);
	share->entry |= (site->roles & CLEW_SITE_ENTER) != 0;
	share->returns |= share->entry && owner->way == CLEW_SITE_WAY_TRAMPOLINE;
	if (site->roles & ~own || (!first && share->function != owner->number))
		share->function = TRACED_NOBODY;
	else
		share->function = owner->number;
}
