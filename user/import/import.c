/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a trace of another tracer twice: first for what must be known before the first record is
 * written, then for the records.
 */
#include "import/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/source.h"
#include "import/state.h"

#define BINARIES 4

/* The beginnings of files that other tools have to turn into text first. */
static const struct {
	const char *begin;
	size_t size;
	const char *advice;
} binaries[BINARIES] = {
	{"PERFILE2", 8,
	 "it is perf.data: give the output of `perf script --ns -F "
	 "comm,pid,tid,cpu,time,event,trace`"},
	{"\x17\x08\x44tracing", 10, "it is trace.dat: give the output of `trace-cmd report -t`"},
	{"\x1f\x8b", 2, "it is packed: give what `zcat` prints"},
	{"\x28\xb5\x2f\xfd", 4, "it is packed: give what `zstd -dc` prints"},
};

static int check_begin(FILE *in, struct clew_message *message)
{
	char begin[16];
	size_t size;

	rewind(in);
	size = fread(begin, 1, sizeof(begin), in);
	for (unsigned i = 0; i < BINARIES; i++)
		if (size >= binaries[i].size && !memcmp(begin, binaries[i].begin, binaries[i].size))
			return clew_say(message, -EINVAL, "%s", binaries[i].advice);
	/* The first field of Perfetto's traces, a message of some length. */
	if (size > 2 && begin[0] == '\n' && (begin[1] & 0x80 || begin[2] == '\n' || begin[2] < ' '))
		return clew_say(message, -EINVAL,
				"it is Perfetto's own format: give the output of `traceconv "
				"systrace`");
	return 0;
}

/* ---- the first pass ---- */

static uint32_t has_of(const struct event *event)
{
	switch (event->kind) {
	case EVENT_SWITCH:
		return CLEW_IMPORT_SWITCHES;
	case EVENT_WAKING:
		return CLEW_IMPORT_WAKES | CLEW_IMPORT_WAKING;
	case EVENT_WAKEUP:
		return CLEW_IMPORT_WAKES;
	case EVENT_FORK:
	case EVENT_EXIT:
		return CLEW_IMPORT_LIVES;
	case EVENT_ISSUE:
		return CLEW_IMPORT_REQUESTS;
	case EVENT_ENTER:
		return CLEW_IMPORT_CALLS;
	case EVENT_TIMER_BEGIN:
		return CLEW_IMPORT_CONTEXTS;
	default:
		return 0;
	}
}

struct first_pass {
	uint64_t from, to;
	unsigned cpus;
};

static int note_line(struct import *import, const struct line *line, struct first_pass *pass)
{
	struct event event;
	uint32_t pid;

	event_read(line, &event);
	if (event.kind == EVENT_OTHER || event.kind == EVENT_BAD) {
		import->sums->others++;
		return 0;
	}
	import->sums->events++;
	import->sums->has |= has_of(&event);
	if (line->flags[0])
		import->sums->has |= CLEW_IMPORT_CONTEXTS;
	if (line->cpu >= pass->cpus)
		pass->cpus = line->cpu + 1u;
	if (line->time < pass->from)
		pass->from = line->time;
	if (line->time > pass->to)
		pass->to = line->time;
	pid = line->pid ?: event.pid;
	if (!pid || !line->tid)
		return 0;
	/* Marks alone do not show which process most threads belong to. */
	if (line->pid)
		import->sums->has |= CLEW_IMPORT_PROCESSES;
	else if (map_get(&import->processes, line->tid, 0))
		return 0;
	return map_set(&import->processes, line->tid, 0, pid);
}

/*
 * "CPU:1 [LOST 17 EVENTS]" of ftrace; "perf 1 [001] 6501.1: PERF_RECORD_LOST lost 17", which
 * `perf script --show-lost-events` prints. *ret_cpu: UINT64_MAX unknown.
 */
static uint64_t lost_in(const char *text, uint64_t *ret_cpu)
{
	const char *count = strstr(text, "[LOST "), *cpu = strstr(text, "CPU:");

	*ret_cpu = UINT64_MAX;
	if (count) {
		*ret_cpu = cpu ? strtoull(cpu + 4, NULL, 10) : UINT64_MAX;
		return strtoull(count + 6, NULL, 10);
	}
	count = strstr(text, "PERF_RECORD_LOST lost ");
	cpu = strchr(text, '[');
	if (count && cpu && cpu < count)
		*ret_cpu = strtoull(cpu + 1, NULL, 10);
	return count ? strtoull(count + 22, NULL, 10) : 0;
}

static int look_through(struct import *import, FILE *in, struct first_pass *pass,
			struct clew_message *message)
{
	struct source *source = malloc(sizeof(*source));
	struct line line;
	const char *text;
	uint64_t cpu;
	int r = source ? 0 : -ENOMEM;

	if (source && !source_begin(source, in))
		r = clew_say(
			message, -EINVAL,
			"it is JSON without systemTraceEvents: record the kernel's events, too");
	while (r >= 0 && (text = source_next(source))) {
		if (line_read(text, &line))
			r = note_line(import, &line, pass);
		else
			import->sums->lines += text[0] && text[0] != '#';
		import->sums->lost += lost_in(text, &cpu);
	}
	free(source);
	if (r >= 0 && !(import->sums->has & CLEW_IMPORT_SWITCHES))
		r = clew_say(message, -EINVAL,
			     "it has no sched_switch of perf script, trace-cmd report or ftrace: "
			     "record sched:sched_switch and sched:sched_waking");
	return r;
}

/* ---- the second pass ---- */

/* A loss of unknown place on a CPU: since its last record. */
static int put_gap(struct import *import, const char *text)
{
	uint64_t cpu;
	struct clew_gap gap = {.count = lost_in(text, &cpu)};

	if (!gap.count || cpu >= import->sums->cpus || !import->cpus[cpu].last)
		return 0;
	gap.from = import->cpus[cpu].last;
	import->cpus[cpu].known = false;
	import_slices_lost(import);
	return import_put(import, (unsigned)cpu, &gap.header, CLEW_KIND_GAP, sizeof(gap));
}

static int write_records(struct import *import, FILE *in)
{
	struct source *source = malloc(sizeof(*source));
	struct line line;
	struct event event;
	const char *text;
	int r = source && source_begin(source, in) ? 0 : -ENOMEM;

	while (r >= 0 && (text = source_next(source))) {
		if (!line_read(text, &line)) {
			r = put_gap(import, text);
			continue;
		}
		event_read(&line, &event);
		/* Times do not go back: in some texts CPUs are not quite in order. */
		line.time = CLEW_CLOCK(line.time);
		if (line.time > import->now)
			import->now = line.time;
		r = import_take(import, &line, &event);
	}
	free(source);
	return r;
}

static int put_number(struct clew_writer *writer, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return clew_writer_meta(writer, key, text);
}

/* Without a ledger: nothing is known of what the other tracer left out. */
static int write_meta(struct clew_writer *writer, const struct first_pass *pass)
{
	int r = put_number(writer, "cpus", pass->cpus);

	if (r >= 0)
		r = put_number(writer, "start", CLEW_CLOCK(pass->from));
	if (r >= 0)
		r = put_number(writer, "end", pass->to);
	return r < 0 ? r : clew_writer_meta(writer, "imported", "1");
}

static int write_capture(struct import *import, FILE *in, const char *path,
			 const struct first_pass *pass)
{
	struct clew_writer_options options = {.size = sizeof(options), .cpus = pass->cpus};
	int r = clew_writer_open(path, &options, &import->writer), closed;

	if (r < 0)
		return r;
	r = write_meta(import->writer, pass);
	if (r >= 0)
		r = write_records(import, in);
	closed = clew_writer_close(import->writer);
	return r < 0 ? r : closed;
}

int clew_import(FILE *in, const char *path, struct clew_imported *ret_imported,
		struct clew_message *message)
{
	struct first_pass pass = {.from = UINT64_MAX};
	struct import import = {.sums = ret_imported,
				.tasks.item = sizeof(struct import_task),
				.flying.item = sizeof(struct import_request)};
	int r = check_begin(in, message);

	*ret_imported = (struct clew_imported){};
	if (r >= 0)
		r = look_through(&import, in, &pass, message);
	if (r >= 0) {
		ret_imported->cpus = pass.cpus;
		import.now = import.user = CLEW_CLOCK(pass.from);
		import.cpus = calloc(pass.cpus, sizeof(*import.cpus));
		r = import.cpus ? write_capture(&import, in, path, &pass) : -ENOMEM;
	}
	import_slices_done(&import);
	map_done(&import.tids);
	map_done(&import.processes);
	map_done(&import.requests);
	vector_done(&import.tasks);
	vector_done(&import.flying);
	free(import.cpus);
	return r;
}
