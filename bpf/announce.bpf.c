/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program at probes in user space. */
#include "announce.h"
#include "arch.h"
#include "kernel.h"
#include "record.h"
#include "state.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>

SEC("uprobe")
int clew_announced(struct pt_regs *registers)
{
	__u32 number = bpf_get_attach_cookie(registers), size = 0;
	struct task_struct *task = bpf_get_current_task_btf();
	struct clew_task_state *state;
	struct announce_record *record;
	struct clew_point *point;
	struct clew_site *site;
	struct where where;
	__u64 token, address, wanted;

	if (!enabled || !where_here(&where) || bpf_get_current_pid_tgid() >> 32 == self_pid)
		return 0;
	site = bpf_map_lookup_elem(&clew_sites, &number);
	if (!site)
		return 0;
	/* No open extent continues past an announcement: what is written after
	 * it belongs to other descriptors. */
	for (int event = 0; event < CLEW_EXTENT_EVENTS; event++)
		where.cpu_state->extents[event].generation--;
	state = task_state(task);
	record = record_reserve(where.cpu_state, where.cpu, CLEW_KIND_ANNOUNCE, where.time,
				sizeof(*record));
	if (!record)
		return 0;
	record->announce.token = 0;
	record->announce.task = state ? state->serial : 0;
	record->announce.event = site->point == CLEW_POINT_END;
	record->announce.point = 0;
	if (site->point >= CLEW_POINT_FIRST) {
		number = site->point - CLEW_POINT_FIRST;
		point = bpf_map_lookup_elem(&clew_points, &number);
		if (point) {
			size = point_emit(registers, site, point, record);
			record->announce.point = number + 1;
		}
	} else {
		if (read_argument(registers, site, 0, &token))
			record->announce.token = token;
		if (site->point == CLEW_POINT_BEGIN &&
		    read_argument(registers, site, 1, &address) &&
		    read_argument(registers, site, 2, &wanted)) {
			size = wanted < CLEW_ANNOUNCE_TEXT ? wanted : CLEW_ANNOUNCE_TEXT - 1;
			if (bpf_probe_read_user(record->text, size & (CLEW_ANNOUNCE_TEXT - 1),
						(void *)address))
				size = 0;
		}
	}
	record->announce.size = size;
	record_submit(record);
	return 0;
}
