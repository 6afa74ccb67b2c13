/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace for Perfetto: first the clocks, the system and the processes, then who ran where
 * as Linux's own tracer would have recorded it, then what only clew knows as track events.
 *
 * All times are of the boot clock, which Perfetto takes for granted in the kernel's events.
 */
#include "export/perfetto.h"

#include <errno.h>

#define RESUMED_NS 1000000u /* readings that differ by less are of the same stretch of time */

/* The boot clock gains on the monotonic one only while the machine is suspended. */
static int find_shifts(struct perfetto *it)
{
	const struct clew_capture_info *info = clew_trace_info(it->trace);

	for (size_t i = 0; info && i < info->clock_count; i++) {
		const struct clew_clock *clock = &info->clocks[i];
		struct perfetto_shift *shifts;
		uint64_t ahead =
			clock->boot > clock->monotonic ? clock->boot - clock->monotonic : 0;

		if (vector_reserve(&it->shifts, it->shifts.count + 1) < 0)
			return -ENOMEM;
		shifts = it->shifts.data;
		if (it->shifts.count && ahead < shifts[it->shifts.count - 1].ahead + RESUMED_NS)
			continue;
		shifts[it->shifts.count++] =
			(struct perfetto_shift){.since = clock->monotonic, .ahead = ahead};
	}
	return 0;
}

static void clock_reading(struct proto *proto, unsigned clock, uint64_t at)
{
	size_t opened = proto_open(proto, 1);

	proto_number(proto, 1, clock);
	proto_number(proto, 2, at);
	proto_close(proto, opened);
}

static void write_clocks(struct perfetto *it)
{
	const struct clew_capture_info *info = clew_trace_info(it->trace);

	for (size_t i = 0; info && i < info->clock_count; i++) {
		const struct clew_clock *clock = &info->clocks[i];
		size_t opened = proto_open(&it->packet, PACKET_CLOCKS);

		clock_reading(&it->packet, PERFETTO_CLOCK_BOOT,
			      perfetto_time(it, clock->monotonic));
		clock_reading(&it->packet, PERFETTO_CLOCK_MONOTONIC, clock->monotonic);
		clock_reading(&it->packet, PERFETTO_CLOCK_WALL, clock->wall);
		proto_close(&it->packet, opened);
		perfetto_send(it, PERFETTO_PLAIN);
	}
}

/* The release of the kernel says what the states of switches mean. */
static void write_system(struct perfetto *it)
{
	size_t system = proto_open(&it->packet, PACKET_SYSTEM), names = proto_open(&it->packet, 1);

	proto_string(&it->packet, 1, "Linux");
	proto_string(&it->packet, 3, clew_trace_meta(it->trace, "kernel") ?: "6.1.0");
	proto_string(&it->packet, 4, clew_trace_meta(it->trace, "machine") ?: "x86_64");
	proto_close(&it->packet, names);
	proto_close(&it->packet, system);
	perfetto_send(it, PERFETTO_PLAIN);
}

int clew_export_perfetto(const struct clew_export *export)
{
	struct perfetto it = {
		.export = export,
		.trace = export->trace,
		.shifts.item = sizeof(struct perfetto_shift),
		.next_track = TRACK_FIRST_FREE,
	};
	int r = find_shifts(&it);

	if (r >= 0) {
		write_clocks(&it);
		write_system(&it);
		r = perfetto_processes(&it);
	}
	if (r >= 0)
		r = perfetto_sched(&it);
	if (r >= 0)
		r = perfetto_events(&it);
	proto_done(&it.packet);
	proto_done(&it.strings);
	map_done(&it.ftrace_strings.numbers);
	map_done(&it.track_strings.numbers);
	map_done(&it.threads);
	vector_done(&it.shifts);
	return r < 0 ? r : it.error;
}
